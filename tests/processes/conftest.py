"""Real processes below a real shepherd, in a directory of the test's own."""

import asyncio
import os
import select
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetqueue.base.clock import SystemClock
from fleetqueue.runtime.processes import Command, Exit
from fleetqueue.runtime.shepherded import ShepherdedProcess, ShepherdedProcesses

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SECONDS_MAX = 20.0


@dataclass
class Shell:
    """Starts shell scripts as containers, and reads what they say."""

    processes: ShepherdedProcesses
    directory: Path

    async def start(self, script: str, id: str = "c", **more: object) -> ShepherdedProcess:
        options = {"argv": ("sh", "-c", script), "env": ENV, "cwd": self.directory / "cwd", **more}
        command = Command(**options)  # type: ignore[arg-type]
        return await self.processes.start(id, command, self.log(id))

    async def run(self, script: str, id: str = "c", **more: object) -> Exit:
        process = await self.start(script, id, **more)
        return await asyncio.wait_for(process.wait(), SECONDS_MAX)

    def command(self, script: str, **more: object) -> Command:
        options = {"argv": ("sh", "-c", script), "env": ENV, "cwd": self.directory, **more}
        return Command(**options)  # type: ignore[arg-type]

    def log(self, id: str = "c") -> Path:
        return self.directory / "logs" / f"{id}.log"

    def lines(self, id: str = "c") -> list[str]:
        """What the container wrote, without times: `stdout F text`."""
        return [line.partition(" ")[2] for line in self.log(id).read_text().splitlines()]

    def text(self, id: str = "c") -> list[str]:
        return [line.split(" ", 2)[2] for line in self.lines(id)]

    def pipe(self, name: str) -> Path:
        """Where a script says something that the test waits for."""
        path = self.directory / name
        os.mkfifo(path)
        return path


Open = Callable[..., Awaitable[Shell]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    shells: list[Shell] = []

    async def open(**settings: bool) -> Shell:
        processes = await ShepherdedProcesses.open(tmp_path, SystemClock(), **settings)
        shells.append(Shell(processes, tmp_path))
        return shells[-1]

    yield open
    for shell in shells:
        await shell.processes.close()
    # The server would get over a shepherd that fell, and so would most tests.
    log = tmp_path / "shepherd" / "log"
    assert not shells or log.read_text() == ""


@pytest.fixture
async def shell(opened: Open) -> Shell:
    return await opened()


async def said(pipe: Path) -> str:
    """What is written to a named pipe, once it is."""
    return (await asyncio.wait_for(asyncio.to_thread(pipe.read_text), SECONDS_MAX)).strip()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def gone(pid: int, seconds: float = SECONDS_MAX) -> bool:
    """Waits until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(await asyncio.to_thread(poll.poll, seconds * 1000))
    finally:
        os.close(handle)


def exists(path: str) -> bool:
    return os.path.exists(path)
