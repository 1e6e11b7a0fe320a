"""Processes that exist on paper only: a command says how long it runs and how it ends.

`run 5` ends after five seconds with code 0, `fail 3` at once with code 3, `run 5 fail 3` later;
`deaf` before it ignores SIGTERM; `missing` cannot be started; anything else runs until it is ended.
`say TEXT` and `warn TEXT` write to stdout and stderr of an executed one; `cat` repeats its input
until that is closed.
"""

import asyncio
import signal
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from fleetqueue.base.clock import Clock
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.preparation import Image, NotReady, Sandbox
from fleetqueue.runtime.processes import CannotStart, Command, Exit


class PaperProcess:
    """One of them."""

    def __init__(self, id: str, command: Command, clock: Clock, on_end: "PaperProcesses") -> None:
        self.id = id
        self.pid = len(on_end.started) + 1000
        self.command = command
        self.started_at: datetime = clock.now()
        self._clock = clock
        self._owner = on_end
        self.streams: PaperStreams | None = None
        self.executed: list[PaperProcess] = []
        self.has_input_ended = False
        self._end: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        words = list(command.argv)
        self._is_deaf = "deaf" in words
        code = int(words[words.index("fail") + 1]) if "fail" in words else 0
        if "run" in words or "fail" in words:
            seconds = float(words[words.index("run") + 1]) if "run" in words else 0.0
            asyncio.get_running_loop().call_later(seconds, self._finish, Exit(code))

    async def wait(self) -> Exit:
        return await asyncio.shield(self._end)

    def signal(self, number: int) -> None:
        self._owner.signals.append((self.id, number))
        if number == signal.SIGKILL or not self._is_deaf:
            self._finish(Exit(128 + number, int(number)))

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    async def attach(self) -> "PaperStreams":
        self.streams = PaperStreams(self)
        return self.streams

    async def execute(self, command: Command) -> "tuple[PaperProcess, PaperStreams]":
        if "missing" in command.argv:
            raise CannotStart(f'exec: "{command.argv[0]}": executable file not found in $PATH')
        self._owner.executed.append(command.argv)
        other = PaperProcess(f"{self.id}+", command, self._clock, self._owner)
        other.streams = PaperStreams(other)
        self.executed.append(other)
        return other, other.streams

    def close_input(self) -> None:
        self.has_input_ended = True

    def input_closed(self) -> None:
        if "cat" in self.command.argv:
            self._finish(Exit(0))

    def _finish(self, exit: Exit) -> None:
        if not self._end.done():
            ended = Exit(exit.code, exit.signal, finished_at=self._clock.now())
            self._owner.exits[self.id] = ended
            self._owner.running.discard(self.id)
            self._end.set_result(ended)
            if self.streams is not None:
                self.streams.end()


class PaperStreams:
    """Says what the command has it say, and ends with its process."""

    def __init__(self, process: PaperProcess) -> None:
        self._process = process
        self._output: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self.written = b""
        self.sizes: list[tuple[int, int]] = []
        self.is_closed = False
        words = process.command.argv
        for word, text in pairwise(words):
            if word in ("say", "warn"):
                self.say(text.encode(), 1 if word == "say" else 2)

    def say(self, data: bytes, stream: int = 1) -> None:
        self._output.put_nowait((stream, data))

    def end(self) -> None:
        self._output.put_nowait(None)

    async def read_output(self) -> tuple[int, bytes] | None:
        piece = await self._output.get()
        if piece is None:
            self.end()
        return piece

    async def write_input(self, data: bytes) -> None:
        self.written += data
        if "cat" in self._process.command.argv:
            self.say(data)

    async def close_input(self) -> None:
        self._process.input_closed()

    def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))

    def close(self) -> None:
        self.is_closed = True


class PaperProcesses:
    """Starts them, and keeps what happened."""

    has_namespaces = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.started: list[tuple[str, Command]] = []
        self.running: set[str] = set()
        self.exits: dict[str, Exit] = {}
        self.signals: list[tuple[str, int]] = []
        self.executed: list[tuple[str, ...]] = []
        self._processes: dict[str, PaperProcess] = {}

    async def start(self, id: str, command: Command, log: Path) -> PaperProcess:
        if "missing" in command.argv:
            raise CannotStart(f'exec: "{command.argv[0]}": executable file not found in $PATH')
        self.running.add(id)
        process = PaperProcess(id, command, self._clock, self)
        self.started.append((id, command))
        self._processes[id] = process
        return process

    async def find(self, id: str) -> PaperProcess | None:
        return self._processes.get(id) if id in self.running else None

    async def ended(self, id: str) -> Exit | None:
        return self.exits.get(id)

    def end_all(self, *, is_known: bool = True) -> None:
        """As when their server dies; `is_known`: how they ended is on record."""
        for process in self._processes.values():
            process.signal(signal.SIGTERM if is_known else signal.SIGKILL)
        if not is_known:
            self.exits.clear()

    async def close(self) -> None:
        for process in self._processes.values():
            process.kill()


class PaperPreparation:
    """Every image and volume is there, unless a test takes it away in `missing`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.missing: dict[str, tuple[str, str]] = {}
        """By "sandbox", or a container's name and "image" or "command": reason and message."""
        self.released: list[str] = []
        self.retired: list[str] = []

    async def sandbox(self, pod: Object) -> Sandbox:
        self._check("sandbox")
        return Sandbox(self._directory / pod["metadata"]["uid"], "127.9.0.5", "127.0.0.1")

    async def image(self, pod: Object, container: Object) -> Image:
        self._check(f"{container['name']} image")
        return Image(container.get("image") or "", "paper")

    async def command(self, pod: Object, container: Object, sandbox: Sandbox) -> Command:
        self._check(f"{container['name']} command")
        return Command(tuple(container.get("command") or ()), {}, sandbox.directory)

    async def hook(
        self, pod: Object, container: Object, argv: list[str], sandbox: Sandbox
    ) -> Command:
        return Command(tuple(argv), {}, sandbox.directory)

    def retire(self, pod: Object) -> None:
        self.retired.append(pod["metadata"]["name"])

    async def release(self, pod: Object) -> None:
        self.released.append(pod["metadata"]["name"])

    def _check(self, what: str) -> None:
        if what in self.missing:
            raise NotReady(*self.missing[what])
