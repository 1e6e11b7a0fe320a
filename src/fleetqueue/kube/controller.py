"""What the author of a controller writes, and the loop that drives it.

    class QueueController(Controller[LocalQueue]):
        watches = (Watch(Workload, wakes=lambda w: [Key(w.metadata.namespace, w.spec.queue_name)]),)

        async def reconcile(self, queue: LocalQueue) -> Result: ...

A key wakes the controller, never an event: `reconcile` sees the object as it is now.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from fleetqueue.api import kinds
from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.errors import FleetqueueError, Problem
from fleetqueue.kube import workqueue
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.resources import Kind, Object, resource_of
from fleetqueue.kube.workqueue import ShutDown, WorkQueue

T = TypeVar("T")
LOW_PRIORITY = -100
"""For what was there at the start: changes that happen now go first."""
HIGH_PRIORITY = 100
"""For what is under way: it goes before what has not begun."""
MESSAGE_LENGTH_MAX = 500
"""In the log; a refusal may quote a whole object."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """How a reconcile ended well: nothing more to do, or look again after a while."""

    after: timedelta | None = None


DONE = Result()


class GiveUp(FleetqueueError):
    """Raised by a reconcile that cannot succeed until the object, or what wakes it, changes."""

    who_acts = "user"

    def __init__(self, problem: Problem | str) -> None:
        super().__init__(problem)


@dataclass(frozen=True)
class Watch:
    """Another kind whose objects wake the controller: `wakes` says which keys, no more."""

    kind: Kind
    wakes: Callable[[Any], Iterable[Key]]
    namespace: str = ""
    selection: Selection = field(default_factory=Selection)
    when: Callable[[Any, Any], bool] | None = None
    """Given what was and what is; False: this change wakes nobody."""
    after: float | Callable[[Key], float] = 0.0
    """How many seconds later they wake, so that what changes meanwhile is taken in together."""
    is_urgent: Callable[[Any], bool] | None = None
    """Given the object: whether those that it wakes go before all others."""


def owned(kind: Kind, owner: Kind, is_urgent: Callable[[Any], bool] | None = None) -> Watch:
    """Objects that the controlled ones own: each wakes its controller."""
    resource = resource_of(owner)
    return Watch(kind, wakes=lambda obj: owners(obj, resource), is_urgent=is_urgent)


def owners(obj: Any, owner: Kind) -> list[Key]:
    """The keys of the controlling owner of that kind, in any version of its group."""
    resource = resource_of(owner)
    for version, kind, name, is_controller in _references(obj):
        # In this order: a pod's event asks for every controller that might own pods.
        if is_controller and kind == resource.kind and _group(version) == resource.group:
            namespace = _namespace(obj) if resource.namespaced else ""
            return [Key(namespace, name)]
    return []


class Controller(Generic[T]):
    """Brings objects of one kind to what they ask for. Subclasses write `reconcile`."""

    kind: ClassVar[Kind]
    """Taken from `Controller[...]`; a controller of raw objects names its `Resource` here."""
    watches: tuple[Watch, ...] = ()
    workers: int = 1
    ordinary_workers: int | None = None
    """So many of them, at most, are at what is not urgent."""
    namespace: str = ""
    selection: ClassVar[Selection] = Selection()
    indexes: ClassVar[Mapping[str, Callable[[Any], Iterable[Hashable]]]] = {}
    backoff: ClassVar[Backoff] = workqueue.BACKOFF

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            arguments = get_args(base)
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Controller) and arguments:
                found = arguments[0]
                if isinstance(found, type) and issubclass(found, kinds.Resource):
                    cls.kind = found

    @property
    def name(self) -> str:
        return type(self).__name__

    async def reconcile(self, obj: T, /) -> Result:
        """Read the cache, decide, write, return. May raise: it is tried again, later and later."""
        raise TypeError(f"{self.name} has no reconcile")

    async def gone(self, key: Key, /) -> Result:
        """The object is no more; for controllers that keep something in memory about it."""
        return DONE

    def wanted(self, old: T | None, new: T | None, /) -> bool:
        """Whether a change of the object itself wakes the controller."""
        return True

    def is_urgent(self, obj: T, /) -> bool:
        """Whether the object goes before others when it changes itself."""
        return False


class Loop(Generic[T]):
    """Takes keys from the queue and reconciles; one for each controller that runs."""

    def __init__(
        self,
        controller: Controller[T],
        queue: WorkQueue[Key],
        lookup: Callable[[Key], T | None],
    ) -> None:
        self.controller = controller
        self.queue = queue
        self._lookup = lookup
        self.gave_up: dict[Key, GiveUp] = {}
        """Keys that wait for a change, and why."""
        self.outcomes: Counter[str] = Counter()
        """How often it went how: success, requeue_after, error."""

    async def work(self) -> None:
        """One worker; returns when the queue has been shut down and is empty."""
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._one(key)
            finally:
                self.queue.done(key)

    async def _one(self, key: Key) -> None:
        controller = self.controller
        obj = self._lookup(key)
        try:
            result = await (controller.gone(key) if obj is None else controller.reconcile(obj))
        except GiveUp as reason:
            self.gave_up[key] = reason
            self.outcomes["error"] += 1
            self.queue.forget(key)
            log.info("gave up: controller=%s key=%s why=%s", controller.name, key, reason)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._failed(key, error)
        else:
            self._went_well(key, result)

    def _failed(self, key: Key, error: Exception) -> None:
        delay = self.queue.add_rate_limited(key)
        self.outcomes["error"] += 1
        name = self.controller.name
        if isinstance(error, Conflict):
            # Somebody else wrote first: the watch brings it, and the next try sees it.
            log.debug("conflict: controller=%s key=%s delay=%.3f", name, key, delay)
        elif isinstance(error, FleetqueueError):
            text = str(error)[:MESSAGE_LENGTH_MAX]
            log.warning("failed: controller=%s key=%s delay=%.3f: %s", name, key, delay, text)
        else:
            log.error("failed: controller=%s key=%s delay=%.3f", name, key, delay, exc_info=error)

    def _went_well(self, key: Key, result: Result) -> None:
        self.gave_up.pop(key, None)
        self.queue.forget(key)
        self.outcomes["success" if result.after is None else "requeue_after"] += 1
        if result.after is not None:
            self.queue.add_after(key, result.after.total_seconds())


def _references(obj: Any) -> Iterable[tuple[str, str, str, bool]]:
    if isinstance(obj, dict):
        for raw in (obj.get("metadata") or {}).get("ownerReferences") or ():
            version, kind = raw.get("apiVersion", ""), raw.get("kind", "")
            yield version, kind, raw.get("name", ""), bool(raw.get("controller"))
        return
    for reference in obj.metadata.owner_references:
        is_controller = bool(reference.controller)
        yield reference.api_version, reference.kind, reference.name, is_controller


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _namespace(obj: Any | Object) -> str:
    if isinstance(obj, dict):
        return str((obj.get("metadata") or {}).get("namespace") or "")
    return str(obj.metadata.namespace)
