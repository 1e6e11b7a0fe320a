"""The seam to the machine: containers as processes. Whoever runs pods sees this and no more.

The real ones are children of a shepherd; simulated ones have a run time and an exit code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Mount:
    """A host path that a container sees at another place."""

    source: Path
    target: str
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What a container may use; None: as much as there is."""

    memory_bytes: int | None = None
    cpu_millis: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """How one process is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    hostname: str = ""
    mounts: tuple[Mount, ...] = ()
    """Honoured where the machine allows namespaces; see `Processes.has_namespaces`."""
    limits: Limits = field(default_factory=Limits)
    user: int | None = None
    group: int | None = None
    tty: bool = False
    stdin: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended."""

    code: int
    """128 + n where signal n ended it."""
    signal: int = 0
    is_out_of_memory: bool = False
    message: str = ""
    """Why it could not be started, or that it was lost."""
    finished_at: datetime | None = None


class CannotStart(Exception):
    """The command cannot be run at all; the text says why, as runc would."""


class Streams(Protocol):
    """The standard streams of a process somebody is connected to (exec, attach)."""

    async def read_output(self) -> tuple[int, bytes] | None:
        """1 or 2 and what came there; None at the end of both."""

    async def write_input(self, data: bytes) -> None: ...

    async def close_input(self) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def close(self) -> None: ...


class Process(Protocol):
    """One running process with all its descendants."""

    @property
    def id(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def started_at(self) -> datetime: ...

    async def wait(self) -> Exit:
        """Its end; may be awaited by many, and again."""

    def signal(self, number: int) -> None:
        """To the process alone; of one that was executed, to its group too: it may be a shell."""

    def kill(self) -> None:
        """The whole tree, at once."""

    async def attach(self) -> Streams:
        """Output from now on, and input where the process has one."""

    def close_input(self) -> None:
        """Its standard input ends, once nobody attached holds it any more."""

    async def execute(self, command: Command) -> "tuple[Process, Streams]":
        """Another process with the same view of the machine (namespaces, mounts, limits)."""


class Processes(Protocol):
    """Starts and finds processes."""

    @property
    def has_namespaces(self) -> bool:
        """Whether mounts and host names of a command are honoured."""

    async def start(self, id: str, command: Command, log: Path) -> Process:
        """`id` names the process among all of this machine's; output goes to `log`, line by line as
        `<time> <stdout|stderr> <F|P> <text>`. Raises CannotStart.
        """

    async def find(self, id: str) -> Process | None:
        """A process that was started before and still runs."""

    async def ended(self, id: str) -> Exit | None:
        """How a process ended that was started before, also by an earlier runtime; None: it never
        ran, still runs, or nobody saw its end.
        """

    async def close(self) -> None:
        """Ends every process that still runs."""
