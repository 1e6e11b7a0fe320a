"""Clusters as the process knows them that started them: hears when they are ready or have ended,
ends them with itself.

Loads nothing of the product: whoever only waits for clusters needs little memory.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Self

CLOSING_SECONDS = 20.0
LOOK_SECONDS = 2.0
MESSAGE_BYTES = 64 * 1024
STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass(eq=False)
class Child:
    """One cluster's process."""

    name: str
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
        how = f"ended with {code}" if code >= 0 else f"was ended by {_signal_name(-code)}"
        return f"{self.name} {how}"

    def signal(self, number: int) -> None:
        # Until its parent has waited for it, its pid names nobody else.
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


class Children:
    """Those of this process."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._selector = selectors.DefaultSelector()
        self._children: list[Child] = []
        self._on_end: Callable[[Child], None] = lambda child: None
        self._stops = False

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

    @property
    def stops(self) -> bool:
        """Whether a signal has said so."""
        return self._stops

    def add(self, child: Child) -> None:
        self._children.append(child)
        self._selector.register(child.channel, selectors.EVENT_READ, child)

    def wait_ended(self, *children: Child, seconds: float = CLOSING_SECONDS) -> None:
        """Whoever has not ended by then is killed."""
        deadline = self._monotonic() + seconds
        while any(child.is_running for child in children):
            if not self._turn(deadline):
                for child in children:
                    child.signal(signal.SIGKILL)
                deadline = self._monotonic() + seconds

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
            elif not self._turn(self._monotonic() + LOOK_SECONDS) and is_over():
                return

    def follow(self, descriptor: int, callback: Callable[[], Any]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, callback)

    def unfollow(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)

    def close(self) -> None:
        """End all children and wait for them."""
        for child in self._children:
            child.end()
        self.wait_ended(*self._children)

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

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops = True

    def _turn(self, deadline: float | None) -> bool:
        """Hear what there is to hear; False: nothing until the deadline."""
        rest = None if deadline is None else max(0.0, deadline - self._monotonic())
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


def _signal_name(number: int) -> str:
    """Those between the first and the last real-time signal have none."""
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")
