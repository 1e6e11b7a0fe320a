"""One process below the shepherd, as the server sees it: what happened to it, and its streams."""

import asyncio
import os
from collections import deque
from datetime import UTC, datetime
from typing import Protocol

from fleetqueue.runtime.processes import CannotStart, Command, Exit
from fleetqueue.runtime.shepherd.channel import Message
from fleetqueue.runtime.streams import DescriptorStreams

LOST = "container process was lost"


class Owner(Protocol):
    """Through whom the shepherd is told what to do."""

    def order(self, order: Message, given: dict[str, int] | None = None) -> None: ...

    async def execute(
        self, container: str, id: str, command: Command
    ) -> "tuple[ShepherdedProcess, DescriptorStreams]": ...


class ShepherdedProcess:
    """A main process, or one that was executed beside it."""

    def __init__(self, owner: Owner, id: str, command: Command) -> None:
        self._owner = owner
        self._id = id
        self._command = command
        self._pid = 0
        self._started_at = datetime.min.replace(tzinfo=UTC)
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[None] = loop.create_future()
        # Nobody may be left to hear of it, where a start was given up.
        self.started.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.exit: asyncio.Future[Exit] = loop.create_future()
        self.input: int | None = None
        """The end of its standard input or terminal that the server holds."""
        self.streams: DescriptorStreams | None = None
        self._executed = 0
        self._attaching: deque[asyncio.Future[None]] = deque()

    @property
    def id(self) -> str:
        return self._id

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def started_at(self) -> datetime:
        return self._started_at

    async def wait(self) -> Exit:
        return await asyncio.shield(self.exit)

    def signal(self, number: int) -> None:
        self._owner.order({"do": "signal", "id": self._id, "number": number})

    def kill(self) -> None:
        self._owner.order({"do": "kill", "id": self._id})

    async def attach(self) -> DescriptorStreams:
        reads: dict[int, int] = {}
        writes: dict[str, int] = {}
        for number, role in enumerate(
            ("stdout",) if self._command.tty else ("stdout", "stderr"), 1
        ):
            read, writes[role] = os.pipe()
            reads[read] = number
        self._owner.order({"do": "attach", "id": self._id, "roles": list(writes)}, writes)
        for descriptor in writes.values():
            os.close(descriptor)
        await self._is_attached()
        held = os.dup(self.input) if self.input is not None else None
        if self._command.tty:
            return DescriptorStreams(reads, terminal=held)
        return DescriptorStreams(reads, input=held)

    async def _is_attached(self) -> None:
        """Answers come in the order of the questions; the end of the process answers all."""
        if not self.exit.done():
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._attaching.append(answer)
            await answer

    def was_attached(self) -> None:
        while self._attaching:
            answer = self._attaching.popleft()
            if not answer.done():
                answer.set_result(None)
                return

    def close_input(self) -> None:
        """Its standard input ends, once nobody attached holds it any more."""
        if self.input is not None:
            os.close(self.input)
            self.input = None

    async def execute(self, command: Command) -> "tuple[ShepherdedProcess, DescriptorStreams]":
        self._executed += 1
        id = f"{self._id}/exec-{self._executed}"
        return await self._owner.execute(self._id, id, command)

    def has_started(self, event: Message) -> None:
        self._pid = event["pid"]
        self._started_at = moment(event["at"])
        if not self.started.done():
            self.started.set_result(None)

    def has_failed(self, why: str) -> None:
        if not self.started.done():
            self.started.set_exception(CannotStart(why))
        self._release()

    def has_ended(self, exit: Exit) -> None:
        if not self.started.done():
            self.started.set_exception(CannotStart(exit.message or LOST))
        if not self.exit.done():
            self.exit.set_result(exit)
        self._release()

    def _release(self) -> None:
        self.close_input()
        while self._attaching:
            self.was_attached()
        if self.streams is not None:
            self.streams.finish()


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
