"""The shepherd at work: takes orders from the server, watches all processes, and copies output.

It ends when the server does, however that ends, and takes every process with it.
"""

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable
from typing import Any

from fleetqueue.runtime.shepherd import cgroups, records, view
from fleetqueue.runtime.shepherd.channel import Channel, Message
from fleetqueue.runtime.shepherd.flock import (
    Flock,
    Member,
    kill_child,
    mount_namespace,
)
from fleetqueue.runtime.shepherd.limits import Limits
from fleetqueue.runtime.shepherd.logs import Log
from fleetqueue.runtime.shepherd.outputs import Outputs
from fleetqueue.runtime.shepherd.probing import why_no_namespaces
from fleetqueue.runtime.shepherd.spawning import MARKER, Birth, spawn

_LOOK_SECONDS = 0.02
"""How often the rest of a tree is looked for that is about to end."""
_END_SECONDS_MAX = 10.0
"""A process that even SIGKILL does not end, stuck in the kernel, holds nobody up for longer."""


class Shepherd:
    def __init__(self, channel: Channel, settings: Message) -> None:
        self._channel = channel
        self._settings = settings
        self._cluster = str(settings["cluster"])
        self._flock = Flock(self._cluster)
        self._selector = selectors.DefaultSelector()
        self._outputs = Outputs(self._selector)
        self._is_stopping = False
        self._is_told_to_stop = False
        self._has_namespaces = False
        self._ended: set[str] = set()
        groups = None
        if settings["cgroups"]:
            groups = cgroups.find(f"fleetqueue-{self._cluster}", settings["group"])
        self._limits = Limits(self._flock, groups)

    def run(self) -> None:
        self._watch_signals()
        self._watch_server()
        why_not = "turned off"
        if self._settings["namespaces"]:
            why_not = why_no_namespaces(self._settings["stage"])
        self._has_namespaces = not why_not
        groups = self._limits.groups
        self._tell(
            {
                "event": "ready",
                "namespaces": self._has_namespaces,
                "why": why_not,
                "cgroup": groups.directory if groups else "",
                "controllers": sorted(self._limits.controllers),
            }
        )
        while not self._is_stopping or not self._flock.is_empty():
            for key, _ in self._selector.select(self._seconds()):
                self._dispatch(key)
            if self._is_told_to_stop:
                self._stop()
            self._bury()
            self._limits.look(time.monotonic())
            self._settle()
        if groups:
            groups.close()

    def _dispatch(self, key: selectors.SelectorKey) -> None:
        # What was handled before in the same round may have closed this one, whose number may
        # already be another's.
        if self._selector.get_map().get(key.fd) is not key:
            return
        try:
            key.data(key.fd)
        except Exception:
            # One container's trouble must not end all the others.
            import traceback

            traceback.print_exc()
            with contextlib.suppress(KeyError):
                if key.fd != self._channel.fileno():
                    self._selector.unregister(key.fd)

    def _seconds(self) -> float | None:
        """How long nothing has to be done by itself."""
        if self._ended or self._is_stopping:
            return _LOOK_SECONDS
        return self._limits.seconds()

    def _watch_signals(self) -> None:
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        os.set_blocking(writes, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, lambda number, frame: self._stop_soon())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._watch(reads, lambda fd: _drain(fd))

    def _watch_server(self) -> None:
        self._watch(self._channel.fileno(), lambda fd: self._take_orders())
        # The socket may have been copied into another process that outlives the server.
        with contextlib.suppress(AttributeError, OSError):
            self._watch(
                os.pidfd_open(self._settings["server"]), lambda fd: self._server_is_gone(fd)
            )

    def _server_is_gone(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        self._stop()

    def _watch(self, descriptor: int, then: Callable[[int], None]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, then)

    def _stop_soon(self) -> None:
        self._is_told_to_stop = True

    def _stop(self) -> None:
        if self._is_stopping:
            return
        self._is_stopping = True
        for member in list(self._flock.members.values()):
            member.is_abandoned = member.status is None
            self._flock.kill(member)

    # Orders

    def _take_orders(self) -> None:
        with contextlib.suppress(ConnectionError):
            self._channel.flush()
        orders = self._channel.receive()
        if orders is None:
            self._selector.unregister(self._channel.fileno())
            self._stop()
            return
        for order, descriptors in orders:
            self._follow(order, descriptors)

    def _follow(self, order: Message, descriptors: list[int]) -> None:
        if order["do"] == "start":
            self._start(order, dict(zip(order["roles"], descriptors, strict=True)))
            return
        if order["do"] == "stop":
            self._stop()
            return
        member = self._flock.members.get(order["id"])
        if member is None:
            for descriptor in descriptors:
                os.close(descriptor)
        elif order["do"] == "signal":
            self._flock.signal(member, order["number"])
        elif order["do"] == "kill":
            self._flock.kill(member)
        elif order["do"] == "attach":
            self._outputs.attach(member, dict(zip(order["roles"], descriptors, strict=True)))
            self._tell({"event": "attached", "id": member.id})

    def _start(self, order: Message, given: dict[str, int]) -> None:
        member = Member(order["id"], 0, order["container"] or order["id"])
        member.record_path, member.log_path = order["record"], order["log"]
        opened: list[int] = list(given.values())
        try:
            if member.id in self._flock.members:
                raise OSError(f"{member.id} runs already")
            if member.is_main:
                self._limits.set(member, order["memory"], order["cpu"])
            birth = self._birth(order, member, given, opened)
            member.pid, member.problem = spawn(birth)
        except OSError as problem:
            self._tell({"event": "failed", "id": member.id, "message": str(problem)})
            for output in member.outputs:
                os.close(output)
            return
        finally:
            for descriptor in opened:
                os.close(descriptor)
        self._flock.add(member)
        self._watch(member.problem, lambda fd: self._settle_start(member))
        self._outputs.watch(member)

    def _birth(
        self, order: Message, member: Member, given: dict[str, int], opened: list[int]
    ) -> Birth:
        birth = Birth(
            order["argv"],
            {**order["env"], MARKER: f"{self._cluster}/{member.container}"},
            order["cwd"],
            self._streams(order, member, given, opened),
            hostname=order["hostname"],
            open_files=order["files"],
            user=order["user"],
            group=order["group"],
            tty="tty" in given,
        )
        if not member.is_main:
            main = self._flock.members.get(member.container)
            if main is None or main.status is not None:
                raise OSError("container not running")
            birth.cgroup, birth.processors = main.cgroup, main.processors
            birth.joins = main.pid if self._has_namespaces else None
        else:
            birth.cgroup, birth.processors = member.cgroup, member.processors
            birth.stage = self._settings["stage"] if self._has_namespaces else ""
            birth.binds = [view.Bind(*bind) for bind in order["mounts"]]
        return birth

    def _streams(
        self, order: Message, member: Member, given: dict[str, int], opened: list[int]
    ) -> tuple[int, int, int]:
        if order["log"]:
            member.log = Log(order["log"])
        if "tty" in given:
            if member.log:
                opened.remove(given["master"])
                os.set_blocking(given["master"], False)
                member.outputs[given["master"]] = "stdout"
            return given["tty"], given["tty"], given["tty"]
        if "stdin" not in given:
            given["stdin"] = os.open(os.devnull, os.O_RDONLY)
            opened.append(given["stdin"])
        for stream in ("stdout", "stderr"):
            if stream not in given:
                reads, given[stream] = os.pipe()
                os.set_blocking(reads, False)
                opened.append(given[stream])
                member.outputs[reads] = stream
        return given["stdin"], given["stdout"], given["stderr"]

    # What happens to processes

    def _settle_start(self, member: Member) -> None:
        """The start is over once its pipe is: it failed where something stood in that."""
        if member.problem < 0:
            return
        try:
            words = os.read(member.problem, 8192)
        except BlockingIOError:
            return
        self._selector.unregister(member.problem)
        os.close(member.problem)
        member.problem = -1
        if words:
            self._flock.remove(member)
            self._limits.release(member)
            self._outputs.close(member)
            message = words.decode("utf-8", "surrogateescape")
            self._tell({"event": "failed", "id": member.id, "message": message})
            return
        member.mount_namespace = mount_namespace(member.pid) if self._has_namespaces else ""
        ticks = records.start_ticks(member.pid)
        started_at = time.time_ns() / 1e9
        member.record = records.Record(member.pid, member.log_path, ticks, started_at)
        self._save(member)
        self._tell(
            {
                "event": "started",
                "id": member.id,
                "pid": member.pid,
                "ticks": ticks,
                "at": member.record.started_at,
            }
        )

    def _bury(self) -> None:
        """Waits for all children that ended, orphans too."""
        while (pid := _next_ended()) is not None:
            if self._flock.is_main(pid):
                # Its group cannot be somebody else's as long as it was not waited for.
                kill_child(pid)
            _, status = os.waitpid(pid, 0)
            member = self._flock.buried(pid)
            if member is None:
                continue
            self._settle_start(member)
            member.status = status
            member.ended_monotonic = time.monotonic()
            if self._flock.members.get(member.id) is member:
                self._ended.add(member.id)
            elif member.cgroup:
                cgroups.remove(member.cgroup)

    def _settle(self) -> None:
        """A container is over when its main process is and nothing of its tree is left."""
        for id in list(self._ended):
            member = self._flock.members.get(id)
            if member is None:
                self._ended.discard(id)
                continue
            is_stuck = time.monotonic() > member.ended_monotonic + _END_SECONDS_MAX
            if member.is_main and self._flock.beside(member) and not is_stuck:
                self._flock.kill(member)
                continue
            self._ended.discard(id)
            self._finish(member)
        if self._is_stopping or not self._flock.members:
            for pid in self._flock.strays():
                kill_child(pid)

    def _finish(self, member: Member) -> None:
        self._outputs.drain(member)
        self._outputs.close(member)
        self._flock.remove(member)
        self._limits.release(member)
        record = member.record
        assert member.status is not None
        code = os.waitstatus_to_exitcode(member.status)
        record.code, record.signal = (code, 0) if code >= 0 else (128 - code, -code)
        record.finished_at = time.time_ns() / 1e9
        record.is_out_of_memory = self._limits.ran_out_of_memory(member, record.signal)
        if member.cgroup:
            cgroups.remove(member.cgroup)
        if not (member.is_abandoned and record.signal == signal.SIGKILL):
            self._save(member)
        self._tell(
            {
                "event": "ended",
                "id": member.id,
                "code": record.code,
                "signal": record.signal,
                "memory": record.is_out_of_memory,
                "at": record.finished_at,
            }
        )

    def _save(self, member: Member) -> None:
        if member.record_path:
            with contextlib.suppress(OSError):
                records.write(member.record_path, member.record)

    def _tell(self, message: Message) -> None:
        try:
            sent = self._channel.send(message)
        except (ConnectionError, OSError):
            return
        if not sent and not self._is_stopping:
            wanted = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(self._channel.fileno(), wanted, lambda fd: self._tell_more())

    def _tell_more(self) -> None:
        with contextlib.suppress(ConnectionError, OSError):
            if not self._channel.flush():
                return
        then: Any = lambda fd: self._take_orders()  # noqa: E731 - the selector keeps it as data
        self._selector.modify(self._channel.fileno(), selectors.EVENT_READ, then)
        self._take_orders()


def _next_ended() -> int | None:
    """A child that ended and waits to be waited for."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended is not None else None


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass
