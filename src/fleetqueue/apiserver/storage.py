"""All live objects of one server, in memory as encoded bytes, with a durable log behind them.

Every write gets the next revision of one global counter. A write is visible, and acknowledged, only
after its row is durable; writes that arrive together share one commit. Until then it stands in an
overlay, which later writes to the same object build upon.
"""

import asyncio
import logging
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fleetqueue.apiserver.committer import Committer
from fleetqueue.apiserver.log import Log, Row, StorageError
from fleetqueue.apiserver.ranges import Range
from fleetqueue.base import codec

logger = logging.getLogger(__name__)

Object = dict[str, Any]

FIRST_REVISION = 2
"""The counter of an empty store stands at one, as etcd's does."""
HISTORY_EVENTS_MAX = 20_000
HISTORY_BYTES_MAX = 24 * 1024 * 1024
DECODED_MAX = 4_000
DECODED_BYTES_MAX = 32 * 1024 * 1024


class Stored:
    """One version of one object: its key in its table, its revision and its bytes."""

    __slots__ = ("data", "key", "revision")

    def __init__(self, key: str, revision: int, data: bytes) -> None:
        self.key = key
        self.revision = revision
        self.data = data


class Change:
    """One committed write, as watchers see it. `before` is None for a creation, `after` for a
    deletion.
    """

    __slots__ = ("after", "before", "frames", "resource", "revision", "stored")

    def __init__(
        self, resource: str, revision: int, before: Stored | None, stored: Stored, is_delete: bool
    ) -> None:
        self.resource = resource
        self.revision = revision
        self.before = before
        self.stored = stored
        """The state after the write; for a deletion the last state, under the deletion's revision.
        """
        self.after = None if is_delete else stored
        self.frames: dict[Any, Any] = {}
        """Encoded watch events, shared by all watchers that want the same form."""


class Table:
    """The live objects of one resource, in the order of their keys, and its recent changes."""

    __slots__ = ("changes", "keys", "live", "pending")

    def __init__(self) -> None:
        self.live: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.pending: dict[str, Proposal] = {}
        self.changes: deque[Change] = deque()

    def apply(self, change: Change) -> None:
        key = change.stored.key
        if change.after is None:
            if self.live.pop(key, None) is not None:
                del self.keys[bisect_left(self.keys, key)]
            return
        if key not in self.live:
            if not self.keys or self.keys[-1] < key:
                self.keys.append(key)
            else:
                insort(self.keys, key)
        self.live[key] = change.after

    def select(self, prefix: str, after: str = "") -> list[str]:
        """Keys that begin with `prefix` and come after `after`."""
        first, last = self.span(prefix, after)
        return self.keys[first:last]

    def span(self, prefix: str, after: str = "") -> tuple[int, int]:
        """Where these keys begin and end."""
        first = bisect_right(self.keys, after) if after else 0
        if not prefix:
            return first, len(self.keys)
        # What comes after may be any text a client made up; it never widens the prefix.
        first = max(first, bisect_left(self.keys, prefix))
        return first, max(first, bisect_left(self.keys, prefix + "\U0010ffff"))


class Proposal:
    """A write on its way to the log."""

    __slots__ = ("before", "future", "is_delete", "landed", "resource", "stored")

    def __init__(
        self,
        resource: str,
        before: Stored | None,
        stored: Stored,
        is_delete: bool,
        future: "asyncio.Future[Stored]",
    ) -> None:
        self.resource = resource
        self.before = before
        self.stored = stored
        self.is_delete = is_delete
        self.future = future
        self.landed: asyncio.Future[None] | None = None
        """For those who wait for somebody else's write; unlike `future`, nobody cancels it."""


class Store:
    """The objects of one server. All methods belong to the event loop; only the log may block."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._committer = Committer(log)
        self._tables: dict[str, Table] = {}
        self._queue: list[Proposal] = []
        self._in_flight: list[Proposal] = []
        self.failures = 0
        """How often writes that were under way have failed, all of them together."""
        self._flushing = False
        self._superseded: list[int] = []
        self._history: deque[Change] = deque()
        self._history_bytes = 0
        self._decoded: OrderedDict[Stored, Object] = OrderedDict()
        self._decoded_bytes = 0
        self._listeners: list[Callable[[Sequence[Change]], None]] = []
        self.compacted = log.compacted()
        self.revision = self.compacted
        self._assigned = 0
        self._idle: asyncio.Event | None = None
        for row in log.load():
            self._replay(row)
        self._assigned = self.revision = max(self.revision, FIRST_REVISION - 1)

    # Reading

    def table(self, resource: str) -> Table:
        found = self._tables.get(resource)
        if found is None:
            found = self._tables[resource] = Table()
        return found

    def get(self, resource: str, key: str) -> Stored | None:
        return self.table(resource).live.get(key)

    def latest(self, resource: str, key: str) -> Stored | None:
        """What the next write must build upon: a write still under way, or the live object."""
        table = self.table(resource)
        proposal = table.pending.get(key)
        if proposal is not None:
            return None if proposal.is_delete else proposal.stored
        return table.live.get(key)

    def decoded(self, stored: Stored) -> Object:
        """The object as shared, immutable JSON, from a bounded cache."""
        cache = self._decoded
        found = cache.get(stored)
        if found is None:
            found = cache[stored] = codec.decode(stored.data)
            self._decoded_bytes += len(stored.data)
            while len(cache) > DECODED_MAX or self._decoded_bytes > DECODED_BYTES_MAX:
                oldest, _ = cache.popitem(last=False)
                self._decoded_bytes -= len(oldest.data)
        return found

    def _drop_decoded(self, changes: list[Change]) -> None:
        """What was replaced or deleted is seldom asked for again, and decoded it takes room."""
        for change in changes:
            for gone in (change.before, None if change.after is not None else change.stored):
                if gone is not None and self._decoded.pop(gone, None) is not None:
                    self._decoded_bytes -= len(gone.data)

    def range_at(self, resource: str, prefix: str, revision: int, after: str = "") -> Range:
        """The objects under `prefix` as they were at `revision`, which must not be compacted."""
        table = self.table(resource)
        undone: dict[str, Stored | None] = {}
        for change in reversed(table.changes):
            if change.revision <= revision:
                break
            key = change.stored.key
            if key.startswith(prefix) and key > after:
                undone[key] = change.before
        return Range(table.keys, table.span(prefix, after), table.live, undone)

    def changes_since(self, resource: str, revision: int) -> list[Change]:
        """Committed changes after `revision`, oldest first."""
        found = []
        for change in reversed(self.table(resource).changes):
            if change.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found

    @property
    def assigned(self) -> int:
        """The revision of the latest write, which may still be on its way to the log."""
        return self._assigned

    def under_way(self, since: int) -> list[Proposal]:
        """Writes after a revision that are still on their way to the log, the latest first."""
        found: list[Proposal] = []
        for proposals in (self._queue, self._in_flight):
            for proposal in reversed(proposals):
                if proposal.stored.revision <= since:
                    return found
                found.append(proposal)
        return found

    def counts(self) -> list[tuple[str, int]]:
        """How many live objects each resource has."""
        return [(name, len(table.live)) for name, table in sorted(self._tables.items())]

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> None:
        """Have `listener` called with each batch of committed changes, on the event loop."""
        self._listeners.append(listener)

    # Writing

    def put(self, resource: str, key: str, obj: Object) -> "asyncio.Future[Stored]":
        """Write `obj`, whose resourceVersion this sets; the future ends when it is durable."""
        self._assigned += 1
        obj["metadata"]["resourceVersion"] = str(self._assigned)
        stored = Stored(key, self._assigned, codec.encode(obj))
        return self._propose(resource, stored, is_delete=False)

    def propose(self, resource: str, key: str, obj: Object) -> None:
        """Write `obj` without waiting; those who follow the store learn of it."""
        self.put(resource, key, obj).add_done_callback(_heard)

    def delete(self, resource: str, key: str, last: Object) -> "asyncio.Future[Stored]":
        """Remove an object; `last` is its final state, which watchers see under a new revision."""
        self._assigned += 1
        last["metadata"]["resourceVersion"] = str(self._assigned)
        return self._propose(
            resource, Stored(key, self._assigned, codec.encode(last)), is_delete=True
        )

    async def settled(self, resource: str, key: str) -> None:
        """Wait for the write under way to an object, if there is one; raises if it fails.

        An answer that rests on such a write must not be given before it is durable.
        """
        proposal = self.table(resource).pending.get(key)
        if proposal is None:
            return
        if proposal.landed is None:
            proposal.landed = asyncio.get_running_loop().create_future()
        await asyncio.shield(proposal.landed)

    async def drain(self) -> None:
        """Wait until every write under way is durable or has failed."""
        while self._queue or self._flushing:
            self._idle = self._idle or asyncio.Event()
            self._idle.clear()
            await self._idle.wait()

    async def close(self) -> None:
        await self.drain()
        self._committer.close()

    def _propose(
        self, resource: str, stored: Stored, *, is_delete: bool
    ) -> "asyncio.Future[Stored]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Stored] = loop.create_future()
        before = self.latest(resource, stored.key)
        proposal = Proposal(resource, before, stored, is_delete, future)
        self.table(resource).pending[stored.key] = proposal
        self._queue.append(proposal)
        if not self._flushing:
            self._flushing = True
            loop.call_soon(self._flush)
        return future

    def _flush(self) -> None:
        batch, self._queue = self._queue, []
        self._in_flight = batch
        if not batch:
            self._flushing = False
            if self._idle is not None:
                self._idle.set()
            return
        rows = [
            Row(p.stored.revision, p.resource, p.stored.key, p.is_delete, p.stored.data)
            for p in batch
        ]
        superseded, self._superseded = self._superseded, []
        if self._log.blocks:
            done = partial(self._landed, batch, superseded)
            self._committer.append(rows, superseded, self.compacted, done)
            return
        failure: BaseException | None = None
        try:
            self._log.append(rows, superseded, self.compacted)
        except StorageError as error:
            failure = error
        self._landed(batch, superseded, failure)

    def _landed(
        self, batch: list[Proposal], superseded: list[int], failure: BaseException | None
    ) -> None:
        if failure is None:
            changes = [self._commit(proposal) for proposal in batch]
            self._trim_history()
            self._tell(changes)
            self._drop_decoded(changes)
            for proposal in batch:
                if not proposal.future.done():
                    proposal.future.set_result(proposal.stored)
                if proposal.landed is not None:
                    proposal.landed.set_result(None)
        else:
            # What was proposed meanwhile may build upon the failed writes, so it fails with them.
            for proposal in [*batch, *self._queue]:
                self.table(proposal.resource).pending.pop(proposal.stored.key, None)
                if not proposal.future.done():
                    proposal.future.set_exception(failure)
                if proposal.landed is not None:
                    proposal.landed.set_exception(failure)
            self._queue = []
            self.failures += 1
            self._superseded.extend(superseded)
        self._flush()

    def _tell(self, changes: list[Change]) -> None:
        for listener in self._listeners:
            try:
                listener(changes)
            except Exception:  # what is durable is acknowledged, whatever a follower makes of it
                logger.exception("a follower of the store failed")

    def _commit(self, proposal: Proposal) -> Change:
        table = self.table(proposal.resource)
        key = proposal.stored.key
        change = Change(
            proposal.resource,
            proposal.stored.revision,
            proposal.before,
            proposal.stored,
            proposal.is_delete,
        )
        table.apply(change)
        if table.pending.get(key) is proposal:
            del table.pending[key]
        self.revision = change.revision
        self._remember(table, change)
        return change

    # History

    def _replay(self, row: Row) -> None:
        table = self.table(row.resource)
        stored = Stored(row.key, row.revision, row.value)
        change = Change(row.resource, row.revision, table.live.get(row.key), stored, row.is_delete)
        table.apply(change)
        self.revision = max(self.revision, row.revision)
        if row.revision > self.compacted:
            self._remember(table, change)
            self._trim_history()
        else:
            self._forget(change)

    def _remember(self, table: Table, change: Change) -> None:
        table.changes.append(change)
        self._history.append(change)
        self._history_bytes += len(change.stored.data)

    def _trim_history(self) -> None:
        history = self._history
        while history and (
            len(history) > HISTORY_EVENTS_MAX or self._history_bytes > HISTORY_BYTES_MAX
        ):
            change = history.popleft()
            self.table(change.resource).changes.popleft()
            self._history_bytes -= len(change.stored.data)
            self.compacted = change.revision
            self._forget(change)

    def _forget(self, change: Change) -> None:
        """Note the rows that nobody can ask for any more; the next commit takes them along."""
        if change.before is not None:
            self._superseded.append(change.before.revision)
        if change.after is None:
            self._superseded.append(change.revision)


def _heard(done: "asyncio.Future[Stored]") -> None:
    """A failure that nobody asks for is no mistake of the program."""
    if not done.cancelled():
        done.exception()
