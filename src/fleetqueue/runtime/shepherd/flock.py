"""Which processes belong to which container, also those that left their parents and sessions.

The shepherd is the reaper of all its descendants, so whatever loses its parent becomes its child.
Only children that were not waited for are ever signalled: their pids cannot name anybody else.
"""

import contextlib
import os
import signal

from fleetqueue.runtime.shepherd.cgroups import kill as kill_group
from fleetqueue.runtime.shepherd.fields import Fields, made
from fleetqueue.runtime.shepherd.logs import Log
from fleetqueue.runtime.shepherd.outlets import Outlet
from fleetqueue.runtime.shepherd.records import Record
from fleetqueue.runtime.shepherd.spawning import MARKER


class Member(Fields):
    """A process that was started on request: the main one of a container, or one beside it."""

    id: str
    pid: int
    container: str
    """The id of the main one; its own for that itself."""
    problem: int = -1
    """The pipe that tells of a failed start; -1 once that is settled."""
    record: Record = made(default_factory=Record)
    record_path: str = ""
    log_path: str = ""
    log: Log | None = None
    outputs: dict[int, str] = made(default_factory=dict)
    """Where its output is read, and which stream that is."""
    outlets: list[Outlet] = made(default_factory=list)
    cgroup: str = ""
    memory_bytes: int | None = None
    """What it may use, where nobody but the shepherd sees to that."""
    is_over_memory: bool = False
    processors: tuple[int, ...] = ()
    mount_namespace: str = ""
    status: int | None = None
    """As `waitpid` has it, once it ended."""
    ended_monotonic: float = 0.0
    is_abandoned: bool = False
    """Killed because the server is gone, which is no end of its own."""

    @property
    def is_main(self) -> bool:
        return self.id == self.container


class Flock:
    """All members, and the orphans among their descendants."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.members: dict[str, Member] = {}
        self._by_pid: dict[int, Member] = {}
        self._orphans: dict[int, str] = {}

    def add(self, member: Member) -> None:
        self.members[member.id] = member
        self._by_pid[member.pid] = member

    def remove(self, member: Member) -> None:
        self.members.pop(member.id, None)

    def buried(self, pid: int) -> Member | None:
        """To be told when a child was waited for; the member it was."""
        self._orphans.pop(pid, None)
        return self._by_pid.pop(pid, None)

    def is_main(self, pid: int) -> bool:
        member = self._by_pid.get(pid)
        return member is not None and member.is_main

    def beside(self, member: Member) -> list[int]:
        """What still lives of a container besides its main process."""
        self._look_for_orphans()
        orphans = [pid for pid, owner in self._orphans.items() if owner == member.id]
        return orphans + [
            pid
            for pid, other in self._by_pid.items()
            if other.container == member.id and other is not member
        ]

    def strays(self) -> list[int]:
        """Orphans of no living container; those of unknown origin only where none is left."""
        self._look_for_orphans()
        return [
            pid
            for pid, owner in self._orphans.items()
            if (owner not in self.members if owner else not self.members)
        ]

    def is_empty(self) -> bool:
        return not self.members and not self._by_pid and not self.strays()

    def signal(self, member: Member, number: int) -> None:
        """To a main process alone; to the group of one beside it, which may be a shell."""
        if member.status is None:
            with contextlib.suppress(OSError):
                (os.kill if member.is_main else os.killpg)(member.pid, number)

    def kill(self, member: Member) -> None:
        """The whole tree of a process. Of one beside a main process, what left its tree stays."""
        if member.is_main:
            if member.cgroup:
                kill_group(member.cgroup)
            for pid in self.beside(member):
                kill_child(pid)
        if member.status is None:
            below = [] if member.is_main else descendants(member.pid)
            kill_child(member.pid)
            for pid in below:
                kill_child(pid)

    def _look_for_orphans(self) -> None:
        for pid in own_children():
            if pid not in self._by_pid and not self._orphans.get(pid):
                self._orphans[pid] = self._owner_of(pid)

    def _owner_of(self, pid: int) -> str:
        marked = container_mark(pid)
        if marked.startswith(f"{self._cluster}/"):
            return marked.removeprefix(f"{self._cluster}/")
        # A process about to be gone has lost its environment and namespaces, and has its session.
        session, namespace = session_of(pid), mount_namespace(pid)
        for member in self.members.values():
            if member.pid == session or (namespace and member.mount_namespace == namespace):
                return member.container
        return ""


def kill_child(pid: int) -> None:
    """A child of ours that was not waited for yet, with its group where it leads one."""
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """What is below a process, at any depth."""
    try:
        children = [
            int(child)
            for thread in os.listdir(f"/proc/{pid}/task")
            for child in read_text(f"/proc/{pid}/task/{thread}/children").split()
        ]
    except OSError:
        return []
    return children + [each for child in children for each in descendants(child)]


def own_children() -> list[int]:
    me = os.getpid()
    try:
        return [int(pid) for pid in read_text(f"/proc/{me}/task/{me}/children").split()]
    except OSError:
        import subprocess

        listed = subprocess.run(
            ["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False
        )
        pairs = [line.split() for line in listed.stdout.splitlines()]
        return [int(pid) for pid, parent in pairs if int(parent) == me]


def container_mark(pid: int) -> str:
    """`<cluster>/<id>` of the container whose environment a process has; "" without one."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return ""
    start = f"{MARKER}=".encode()
    found = next((v for v in variables if v.startswith(start)), b"")
    return found[len(start) :].decode("utf-8", "surrogateescape")


def read_text(path: str) -> str:
    with open(path) as file:
        return file.read()


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def mount_namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return ""
