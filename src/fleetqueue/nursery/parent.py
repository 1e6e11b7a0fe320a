"""The parent's side: forks clusters, hears when they are ready or have ended, ends them with
itself.
"""

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self

from fleetqueue.app import ServeOptions
from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.errors import Bug, ClusterError
from fleetqueue.nursery import cluster_process, common, newborns
from fleetqueue.nursery.cluster_process import Birth, Body, serve

CLOSING_SECONDS = 20.0
LOOK_SECONDS = 2.0
MESSAGE_BYTES = 64 * 1024
STOPPING = (signal.SIGINT, signal.SIGTERM)


class CannotServe(ClusterError):
    """A cluster ended before it was ready; the message is what it said."""


@dataclass(eq=False)
class Child:
    """One cluster's process, as the parent knows it."""

    name: str
    options: ServeOptions
    pid: int
    output: Path | None
    channel: socket.socket = field(repr=False)
    """Both learn by it that the other is gone."""
    url: str = ""
    """Where it serves, once it is ready."""
    kubeconfig: Path | None = None
    problem: str = ""
    """Why it could not serve, in its own words."""
    exit_code: int | None = None
    heard: bytes = field(default=b"", repr=False)
    """The beginning of a message."""

    @property
    def is_running(self) -> bool:
        return self.exit_code is None

    @property
    def is_ready(self) -> bool:
        return self.is_running and bool(self.url)

    def told_end(self) -> str:
        """How it ended, in a few words."""
        code = self.exit_code or 0
        how = f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        return f"{self.name} {how}"

    def signal(self, number: int) -> None:
        # Until the parent has waited for it, its pid names nobody else.
        if self.is_running:
            os.kill(self.pid, number)

    def end(self) -> None:
        self.signal(signal.SIGTERM)

    def hear(self, data: bytes) -> None:
        *messages, self.heard = (self.heard + data).split(b"\n")
        for message in messages:
            told = json.loads(message)
            self.problem = told.get("problem", "")
            if "url" in told:
                self.url, self.kubeconfig = told["url"], Path(told["kubeconfig"])


class Nursery:
    """Starts clusters from what it holds; see the package for how it is used."""

    def __init__(self, body: Body | None = None, clock: Clock | None = None) -> None:
        self._body = body or serve
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        self._children: list[Child] = []
        self._on_end: Callable[[Child], None] = lambda child: None
        self._stops = False
        self._is_prepared = False

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            opened.callback(self._selector.close)
            opened.enter_context(self._hearing_signals())
            opened.callback(self.close)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def children(self) -> list[Child]:
        """Those that run."""
        return list(self._children)

    # Starting

    def prepare(self, options: Iterable[ServeOptions] = ()) -> None:
        """Load what clusters share, and give those of them that are new what all have from
        birth; a new one that was not named here makes it by itself, which takes longer.
        """
        # Nearly all that is made here stays, and a collection would touch what is to be shared.
        gc.disable()
        planters = newborns.plant(options)
        if not self._is_prepared:
            common.load()
            self._is_prepared = True
        newborns.wait(planters)

    def start(self, name: str, options: ServeOptions, *, output: Path | None = None) -> Child:
        """Fork a cluster; `output` takes what it prints and logs, instead of our own."""
        self.prepare()
        if threading.active_count() > 1:
            raise Bug("a nursery forks, so its process must not have threads")
        ours, theirs = socket.socketpair()
        # What is in the buffers would be printed twice.
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()
        # What is meant for a child must not reach it while it still listens as the parent does.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._become(Birth(theirs, options, output, name))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        theirs.close()
        child = Child(name, options, pid, output, ours)
        self._children.append(child)
        self._selector.register(ours, selectors.EVENT_READ, child)
        return child

    def restart(self, child: Child) -> Child:
        """A cluster of the same name in its place; the old one ends first."""
        child.end()
        self.wait_ended(child)
        return self.start(child.name, child.options, output=child.output)

    def _become(self, birth: Birth) -> NoReturn:
        """In the child: let go of what is the parent's, and never come back."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in STOPPING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            self._selector.close()
            code = cluster_process.run(self._body, birth)
        finally:
            # The way out of the parent is not the child's.
            os._exit(code)

    # Waiting

    def wait_ready(self, seconds: float | None = None) -> None:
        """Until all that run are ready; raises CannotServe as soon as one has ended before, and
        KeyboardInterrupt when a signal says to stop.
        """
        awaited = self.children
        deadline = None if seconds is None else self._clock.monotonic() + seconds
        while not all(child.is_ready for child in awaited):
            if self._stops:
                raise KeyboardInterrupt
            for child in awaited:
                if not child.is_running:
                    raise CannotServe(child.problem or child.told_end() + _see(child.output))
            if not self._turn(deadline):
                late = ", ".join(child.name for child in awaited if not child.is_ready)
                raise CannotServe(f"not ready after {seconds} seconds: {late}")

    def wait_ended(self, *children: Child, seconds: float = CLOSING_SECONDS) -> None:
        """Whoever has not ended by then is killed."""
        deadline = self._clock.monotonic() + seconds
        while any(child.is_running for child in children):
            if not self._turn(deadline):
                for child in children:
                    child.signal(signal.SIGKILL)
                deadline = self._clock.monotonic() + seconds

    def run(
        self,
        on_end: Callable[[Child], None] | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        """Until a signal says to stop, or no child is left and nobody else is followed, or
        `is_over`, which is asked every few seconds, says so.
        """
        self._on_end = on_end or self._on_end
        while not self._stops and len(self._selector.get_map()) > 1:
            if is_over is None:
                self._turn(None)
            elif not self._turn(self._clock.monotonic() + LOOK_SECONDS) and is_over():
                return

    @contextlib.contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = {number: signal.signal(number, self._stop) for number in STOPPING}
        waker = signal.set_wakeup_fd(writer)
        self.follow(reader, lambda: os.read(reader, 1024))
        try:
            yield
        finally:
            self.unfollow(reader)
            signal.set_wakeup_fd(waker)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reader)
            os.close(writer)

    def follow(self, descriptor: int, callback: Callable[[], Any]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, callback)

    def unfollow(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def close(self) -> None:
        """End all children and wait for them."""
        for child in self._children:
            child.end()
        self.wait_ended(*self._children)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops = True

    def _turn(self, deadline: float | None) -> bool:
        """Hear what there is to hear; False: nothing until the deadline."""
        rest = None if deadline is None else max(0.0, deadline - self._clock.monotonic())
        ready = self._selector.select(rest)
        for key, _ in ready:
            # What was heard before in the same turn may have ended this one.
            if self._selector.get_map().get(key.fd) is not key:
                continue
            if isinstance(key.data, Child):
                self._hear(key.data)
            else:
                key.data()
        return bool(ready)

    def _hear(self, child: Child) -> None:
        try:
            data = child.channel.recv(MESSAGE_BYTES)
        except ConnectionResetError:
            data = b""
        if data:
            child.hear(data)
            return
        self._selector.unregister(child.channel)
        child.channel.close()
        _, status = os.waitpid(child.pid, 0)
        child.exit_code = os.waitstatus_to_exitcode(status)
        self._children.remove(child)
        self._on_end(child)


def _see(output: Path | None) -> str:
    return "" if output is None else f": {output} may say why"
