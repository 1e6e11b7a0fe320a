"""Containers as real processes: the server's side of the shepherd, which is started from here.

A shepherd that dies is replaced; the processes it had are gone then, and are reported as lost. One
that has had nothing to do for a while is let go until there is something again.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.base.clock import Clock
from fleetqueue.errors import UserError
from fleetqueue.runtime import shepherd
from fleetqueue.runtime.directory_lock import lock_directory
from fleetqueue.runtime.leftovers import reap_leftovers
from fleetqueue.runtime.orders import connect, start_order
from fleetqueue.runtime.processes import CannotStart, Command, Exit
from fleetqueue.runtime.shepherd import records
from fleetqueue.runtime.shepherd.channel import Channel, Message
from fleetqueue.runtime.shepherded_process import LOST, ShepherdedProcess, moment
from fleetqueue.runtime.streams import DescriptorStreams

_LOST_CODE = 137
_STOP_SECONDS_MAX = 15.0
REST_SECONDS = 30.0
"""An idle shepherd takes memory, a new one takes less than a tenth of a second."""
_STARTS_PER_PRUNING = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Isolation:
    """What this machine allows to set containers apart."""

    namespaces: bool = False
    why_not: str = ""
    """What stands against namespaces."""
    cgroup: str = ""
    """Where the groups of containers are made; "" where they cannot be."""
    controllers: tuple[str, ...] = ()
    """What the groups can limit."""


class ShepherdedProcesses:
    """Processes below one shepherd. `open` makes it; what an earlier server left is ended first."""

    def __init__(self, directory: Path, clock: Clock, settings: Message, lock: int) -> None:
        self.directory = directory
        self.isolation = Isolation()
        self._records = directory / "run"
        self._starts = 0
        self._clock = clock
        self._settings = settings
        self._lock = lock
        self._running: dict[str, ShepherdedProcess] = {}
        self._channel: Channel | None = None
        self._program: subprocess.Popen[bytes] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._recovery: asyncio.Task[None] | None = None
        self._rest_at: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """Whoever lets the shepherd go or brings it back."""
        self._is_let_go = False
        self._is_closing = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        clock: Clock,
        *,
        namespaces: bool = True,
        cgroups: bool = True,
        group: str = "",
    ) -> "ShepherdedProcesses":
        """`group` is the control group to make groups in; "" for the one that we are in."""
        directory, stage = await asyncio.to_thread(_prepare, directory)
        lock = await lock_directory(directory / "shepherd" / "lock")
        settings: Message = {
            "cluster": cluster_id(directory),
            "stage": str(stage),
            "namespaces": namespaces,
            "cgroups": cgroups,
            "group": group,
            "server": os.getpid(),
            "lock": lock,
        }
        made = cls(directory, clock, settings, lock)
        await asyncio.to_thread(reap_leftovers, settings["cluster"])
        await made._launch()
        made._rest_later()
        return made

    @property
    def has_namespaces(self) -> bool:
        return self.isolation.namespaces

    async def start(self, id: str, command: Command, log: Path) -> ShepherdedProcess:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        if self._starts % _STARTS_PER_PRUNING == 0:
            await asyncio.to_thread(records.prune, str(self._records))
        process = ShepherdedProcess(self, id, command)
        given: dict[str, int] = {}
        if command.tty:
            process.input, given["tty"] = os.openpty()
            given["master"] = os.dup(process.input)
        elif command.stdin:
            given["stdin"], process.input = os.pipe()
        record = self._record_path(id)
        try:
            await self._start(process, start_order(id, command, log=str(log), record=record), given)
        except BaseException:
            process.close_input()
            raise
        return process

    async def execute(
        self, container: str, id: str, command: Command
    ) -> tuple[ShepherdedProcess, DescriptorStreams]:
        process = ShepherdedProcess(self, id, command)
        given, streams = connect(command)
        process.streams = streams
        try:
            await self._start(process, start_order(id, command, container=container), given)
        except BaseException:
            streams.close()
            raise
        return process, streams

    async def find(self, id: str) -> ShepherdedProcess | None:
        return self._running.get(id)

    async def ended(self, id: str) -> Exit | None:
        """One that was started and whose end nobody saw was lost."""
        record = records.read(self._record_path(id))
        if id in self._running or record is None:
            return None
        if record.code is None:
            return self._lost()
        finished = None if record.finished_at is None else moment(record.finished_at)
        return Exit(record.code, record.signal, record.is_out_of_memory, finished_at=finished)

    async def close(self) -> None:
        self._stay()
        tasks = [task for task in (self._recovery, self._resting) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._is_closing = True
        await self._end_shepherd()
        for process in list(self._running.values()):
            process.has_ended(self._lost())
        self._running.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _record_path(self, id: str) -> str:
        return str(self._records / f"{id.replace('/', '.')}.json")

    def order(self, order: Message, given: dict[str, int] | None = None) -> None:
        """Tells the shepherd; one that is gone needs not be told anything."""
        if self._channel is None:
            return
        channel = self._channel
        with contextlib.suppress(ConnectionError):
            if not channel.send(order, list((given or {}).values())):
                asyncio.get_running_loop().add_writer(channel.fileno(), self._flush)

    async def _start(
        self, process: ShepherdedProcess, order: Message, given: dict[str, int]
    ) -> None:
        try:
            await self._awake()
            if process.id in self._running:
                raise CannotStart(f'"{process.id}" runs already')
            self._running[process.id] = process
            self.order({**order, "roles": list(given)}, given)
        finally:
            for descriptor in given.values():
                os.close(descriptor)
        try:
            await process.started
        except asyncio.CancelledError:
            process.kill()
            raise

    def _flush(self) -> None:
        if self._channel is not None:
            with contextlib.suppress(ConnectionError):
                if not self._channel.flush():
                    return
            asyncio.get_running_loop().remove_writer(self._channel.fileno())

    async def _launch(self) -> None:
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        with theirs, (self.directory / "shepherd" / "log").open("ab") as errors:
            self._program = await asyncio.to_thread(
                _run_program, theirs.fileno(), self._settings, errors.fileno()
            )
        asyncio.get_running_loop().add_reader(ours.fileno(), self._hear)
        await asyncio.shield(self._ready)

    def _hear(self) -> None:
        while self._channel is not None:
            heard = self._channel.receive()
            if heard is None:
                self._disconnect()
                if not self._is_closing and not self._is_let_go:
                    self._shepherd_is_gone()
                return
            if not heard:
                return
            for event, _ in heard:
                self._take(event)

    def _take(self, event: Message) -> None:
        if event["event"] == "ready":
            found = event["namespaces"], event["why"], event["cgroup"], tuple(event["controllers"])
            self.isolation = Isolation(*found)
            if not self._ready.done():
                self._ready.set_result(None)
            return
        process = self._running.get(event["id"])
        if process is None:
            return
        if event["event"] == "started":
            process.has_started(event)
            return
        if event["event"] == "attached":
            process.was_attached()
            return
        del self._running[process.id]
        if not self._running:
            self._rest_later()
        if event["event"] == "failed":
            process.has_failed(event["message"])
        else:
            at = moment(event["at"])
            end = Exit(event["code"], event["signal"], event["memory"], finished_at=at)
            process.has_ended(end)

    # Rest

    def _rest_later(self) -> None:
        self._stay()
        self._rest_at = asyncio.get_running_loop().call_later(REST_SECONDS, self._begin_rest)

    def _stay(self) -> None:
        if self._rest_at is not None:
            self._rest_at.cancel()

    def _begin_rest(self) -> None:
        self._resting = asyncio.get_running_loop().create_task(self._rest())

    async def _rest(self) -> None:
        async with self._turn:
            if self._running or not self._ready.done():
                return
            self._is_let_go = True
            await self._end_shepherd()

    async def _awake(self) -> None:
        """Returns when there is a shepherd; whoever then starts something does so at once, and
        keeps it.
        """
        self._stay()
        async with self._turn:
            if self._is_let_go:
                self._is_let_go = False
                self._ready = asyncio.get_running_loop().create_future()
                await self._launch()
        await asyncio.shield(self._ready)

    async def _end_shepherd(self) -> None:
        if self._program is None or self._channel is None:
            return
        self.order({"do": "stop"})
        try:
            await asyncio.to_thread(self._program.wait, _STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._program.kill()
            await asyncio.to_thread(self._program.wait)
            await asyncio.to_thread(reap_leftovers, self._settings["cluster"])
        self._hear()
        self._disconnect()

    def _shepherd_is_gone(self) -> None:
        loop = asyncio.get_running_loop()
        was_ready = self._ready.done()
        if was_ready:
            # Whoever starts something from now on waits for the next one.
            self._ready = loop.create_future()
        self._recovery = loop.create_task(self._recover(was_ready))

    async def _recover(self, was_ready: bool) -> None:
        """Ends what the shepherd left behind, says so, and starts another one."""
        assert self._program is not None
        code = await asyncio.to_thread(self._program.wait)
        if not was_ready:
            tail = (self.directory / "shepherd" / "log").read_text(errors="replace")[-2000:]
            problem = f"the program that starts containers ended with {code}: {tail.strip()}"
            self._ready.set_exception(UserError(problem))
            return
        log.error("the shepherd was lost", extra={"code": code})
        await asyncio.to_thread(reap_leftovers, self._settings["cluster"])
        lost, self._running = self._running, {}
        for process in lost.values():
            process.has_ended(self._lost())
        await self._launch()
        if not self._running:
            self._rest_later()

    def _disconnect(self) -> None:
        if self._channel is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._channel.fileno())
            loop.remove_writer(self._channel.fileno())
            self._channel.close()
            self._channel = None

    def _lost(self) -> Exit:
        return Exit(_LOST_CODE, message=LOST, finished_at=self._clock.now())


def cluster_id(directory: Path) -> str:
    """What sets the processes of one cluster apart from those of all others on a machine."""
    return hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:12]


def _run_program(descriptor: int, settings: Message, errors: int) -> "subprocess.Popen[bytes]":
    path = Path(shepherd.__file__).parent / "__main__.py"
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(path), str(descriptor), json.dumps(settings)],
        pass_fds=(descriptor, settings["lock"]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        cwd="/",
        env={"PATH": os.defpath},
        start_new_session=True,
    )


def _prepare(directory: Path) -> tuple[Path, Path]:
    directory = directory.resolve()
    stage = directory / "shepherd" / "root"
    stage.mkdir(parents=True, exist_ok=True)
    (directory / "run").mkdir(exist_ok=True)
    records.prune(str(directory / "run"))
    return directory, stage
