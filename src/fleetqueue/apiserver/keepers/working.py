"""A keeper with work of its own: it queues keys as changes come, and attends to them one by one."""

from collections.abc import Collection

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import WorkList


class WorkingKeeper:
    """Subclasses write `start`, `follow` and `_attend`."""

    work_name: str
    """What the log calls the work."""
    tables: Collection[str] | None = None

    def __init__(self, core: Core, internal: Internal) -> None:
        self._core = core
        self._internal = internal
        self._work = WorkList(self.work_name, self._attend)

    @property
    def is_idle(self) -> bool:
        return self._work.is_idle

    async def stop(self) -> None:
        await self._work.stop()

    async def _attend(self, key: str) -> None:
        """Bring what the key stands for into order; may raise, and is then tried again."""
        raise TypeError(f"{type(self).__name__} has no _attend")
