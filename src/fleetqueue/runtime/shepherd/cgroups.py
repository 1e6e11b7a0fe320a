"""Control groups, version 2, where this user may make them: limits, and an end without escape."""

import contextlib
import os
import re
import select

_WANTED = ("memory", "cpu", "pids")
_PERIOD_MICROSECONDS = 100_000
_REMOVALS_MAX = 100
_EVENT_MILLISECONDS = 5


class Groups:
    """The groups of one cluster, below the group that the server itself is in."""

    def __init__(self, directory: str, controllers: frozenset[str]) -> None:
        self.directory = directory
        self.controllers = controllers

    def create(self, name: str, memory_bytes: int | None, cpu_millis: int | None) -> str:
        path = os.path.join(self.directory, re.sub(r"[^A-Za-z0-9._-]", "_", name))
        os.makedirs(path, exist_ok=True)
        if memory_bytes is not None and "memory" in self.controllers:
            _write(path, "memory.max", str(memory_bytes))
            # As the kubelet has it: one process out of memory ends its whole container.
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with contextlib.suppress(OSError):
                    _write(path, name, value)
        if cpu_millis is not None and "cpu" in self.controllers:
            quota = max(1000, cpu_millis * _PERIOD_MICROSECONDS // 1000)
            _write(path, "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}")
        return path

    def close(self) -> None:
        for path in (*_subgroups(self.directory), self.directory):
            kill(path)
            remove(path)


def find(name: str, above: str = "") -> Groups | None:
    """A place for groups below `above`, or below the group of this process; None where there is
    none or it may not be used.
    """
    try:
        above = above or _own_group() or ""
        if not above:
            return None
        directory = os.path.join(above, name)
        os.makedirs(directory, exist_ok=True)
        for left in _subgroups(directory):
            kill(left)
            remove(left)
        _hand_down(above)
        controllers = _hand_down(directory)
        if not os.access(os.path.join(directory, "cgroup.procs"), os.W_OK):
            return None
        return Groups(directory, controllers)
    except OSError:
        return None


def enter(path: str) -> None:
    """Moves this process; its children follow."""
    _write(path, "cgroup.procs", "0")


def kill(path: str) -> None:
    with contextlib.suppress(OSError):
        _write(path, "cgroup.kill", "1")


def remove(path: str) -> None:
    """A process that was waited for may still be leaving its group: that is waited for, too."""
    for _ in range(_REMOVALS_MAX):
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return
        except OSError:
            _await_event(path)


def _await_event(path: str) -> None:
    with contextlib.suppress(OSError), open(os.path.join(path, "cgroup.events")) as events:
        events.read()
        poll = select.poll()
        poll.register(events, select.POLLPRI)
        poll.poll(_EVENT_MILLISECONDS)


def ran_out_of_memory(path: str) -> bool:
    try:
        events = dict(line.split() for line in _read(path, "memory.events").splitlines())
    except (OSError, ValueError):
        return False
    return int(events.get("oom_kill", 0)) > 0


def _own_group() -> str | None:
    with open("/proc/self/cgroup") as file:
        own = next((line[3:].strip() for line in file if line.startswith("0::")), None)
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields, _, kind = line.partition(" - ")
            if own is not None and kind.split()[0] == "cgroup2":
                root, place = fields.split()[3:5]
                inside = os.path.relpath(own, root)
                return os.path.normpath(os.path.join(place, inside))
    return None


def _hand_down(directory: str) -> frozenset[str]:
    """Lets the groups below have limits; which they can have then. The kernel refuses while
    processes are in this one, so where these are ours they are moved.
    """
    offered = _read(directory, "cgroup.controllers").split()
    wanted = [name for name in _WANTED if name in offered]
    handed = _hand_each(directory, wanted)
    if len(handed) == len(wanted):
        return handed
    ours = {os.getpid(), os.getppid()}
    if {int(pid) for pid in _read(directory, "cgroup.procs").split()} - ours:
        return handed
    with contextlib.suppress(OSError):
        _move(ours, os.path.join(directory, "fleetqueue-server"))
    return _hand_each(directory, wanted)


def _hand_each(directory: str, wanted: list[str]) -> frozenset[str]:
    """One after the other: one that is refused takes no other with it."""
    handed = set(_read(directory, "cgroup.subtree_control").split()) & set(wanted)
    for name in wanted:
        if name not in handed:
            with contextlib.suppress(OSError):
                _write(directory, "cgroup.subtree_control", f"+{name}")
                handed.add(name)
    return frozenset(handed)


def _move(pids: set[int], directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    for pid in pids:
        _write(directory, "cgroup.procs", str(pid))


def _subgroups(directory: str) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        return [entry.path for entry in entries if entry.is_dir()]
    return []


def _read(directory: str, name: str) -> str:
    with open(os.path.join(directory, name)) as file:
        return file.read()


def _write(directory: str, name: str, text: str) -> None:
    with open(os.path.join(directory, name), "w") as file:
        file.write(text)
