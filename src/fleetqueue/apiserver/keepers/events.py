"""Forgets events an hour after they were last written; otherwise they would pile up for ever."""

import asyncio
from collections.abc import Sequence

from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.storage import Change, Stored

TABLE = "events"
SECONDS_KEPT = 3600.0
SECONDS_BETWEEN_LOOKS = 60.0


class EventKeeper:
    """Knows until when each event is kept, the oldest first; waiting for that is not work."""

    is_idle = True
    tables = (TABLE,)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._kept_until: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def start(self) -> None:
        for stored in self._core.store.table(TABLE).live.values():
            self._note(stored)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource != TABLE:
                continue
            self._kept_until.pop(change.stored.key, None)
            if change.after is not None:
                self._note(change.after)

    async def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _note(self, stored: Stored) -> None:
        self._kept_until[stored.key] = asyncio.get_running_loop().time() + SECONDS_KEPT
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is None and self._kept_until and not self._is_stopped:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(SECONDS_BETWEEN_LOOKS, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for key, until in list(self._kept_until.items()):
            if until > now:
                break
            self._remove(key)
        self._look_later()

    def _remove(self, key: str) -> None:
        """A removal that fails is tried again with the next look."""
        store = self._core.store
        live = store.get(TABLE, key)
        if live is not None and store.latest(TABLE, key) is live:
            gone = store.delete(TABLE, key, private(store.decoded(live)))
            gone.add_done_callback(lambda done: done.cancelled() or done.exception())
