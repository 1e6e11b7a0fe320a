"""Watches the objects that Works have put on the member, so that a change of one is noticed at
once; nothing of them is kept but who they are.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing

from fleetqueue.api.meta import Key
from fleetqueue.kube import watch
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of, version_of
from fleetqueue.kube.watch import Event, Watcher

Place = tuple[Resource, Key]


class Following:
    """One for each member: a watch for each kind that a Work has objects of."""

    def __init__(self, member: Cluster, wake: Callable[[Key], None]) -> None:
        self._member = member
        self._wake = wake
        self._works: dict[Place, dict[Key, None]] = {}
        """Who is to know of a change, in an order that is the same each time."""
        self._places: dict[Key, dict[Place, None]] = {}
        self._counts: dict[Resource, int] = {}
        self._seen: dict[Place, str] = {}
        """The version that its Work has taken into account."""
        self._alive: dict[Place, str] = {}
        """What the watch knows to be there, by uid: it will tell when that goes."""
        self._gone: dict[Place, Object] = {}
        """The last state of what the watch saw going."""
        self._listed: dict[Resource, set[Key]] = {}
        self._changes: asyncio.Queue[Resource] = asyncio.Queue()

    async def run(self) -> None:
        """Until it is cancelled."""
        tasks: dict[Resource, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                resource = await self._changes.get()
                if self._counts.get(resource) and resource not in tasks:
                    tasks[resource] = group.create_task(self._follow(resource))
                elif not self._counts.get(resource) and resource in tasks:
                    tasks.pop(resource).cancel()

    def follow(self, work: Key, places: Iterable[Place]) -> None:
        """From now on this Work is woken by these objects, and by no others."""
        wanted, present = dict.fromkeys(places), self._places.get(work, {})
        for place in wanted:
            if place not in present:
                self._works.setdefault(place, {})[work] = None
                self._count(place[0], 1)
        for place in present:
            if place not in wanted:
                self._drop(work, place)
        if wanted:
            self._places[work] = wanted
        else:
            self._places.pop(work, None)

    def saw(self, resource: Resource, obj: Object) -> None:
        """What was just read or written: the watch that brings the same brings no news."""
        place = (resource, key_of(obj))
        if place in self._works:
            self._seen[place] = version_of(obj)
            self._gone.pop(place, None)

    def last_of(self, resource: Resource, key: Key) -> Object | None:
        """The last state of an object that went while it was watched."""
        return self._gone.get((resource, key))

    def expects(self, resource: Resource, key: Key) -> bool:
        """Whether the watch still has to tell that the object, which is gone, went."""
        return (resource, key) in self._alive

    async def _follow(self, resource: Resource) -> None:
        watcher: Watcher[Object] = Watcher(
            self._member.client, resource, random=self._member.random
        )
        try:
            async with aclosing(watcher.batches()) as batches:
                async for batch in batches:
                    for event in batch:
                        self._take(resource, event)
        finally:
            for place in [each for each in self._alive if each[0] == resource]:
                del self._alive[place]

    def _take(self, resource: Resource, event: Event[Object]) -> None:
        match event:
            case watch.InitBegin():
                self._listed[resource] = set()
            case watch.InitItem(object=obj):
                self._listed[resource].add(key_of(obj))
                self._changed(resource, obj)
            case watch.InitDone():
                self._replaced(resource, self._listed.pop(resource, set()))
            case watch.Apply(object=obj):
                self._changed(resource, obj)
            case watch.Delete(object=obj):
                self._deleted(resource, obj)

    def _changed(self, resource: Resource, obj: Object) -> None:
        place = (resource, key_of(obj))
        if place not in self._works:
            return
        self._alive[place] = uid_of(obj)
        if self._seen.get(place) != version_of(obj):
            self._tell(place)

    def _deleted(self, resource: Resource, obj: Object) -> None:
        place = (resource, key_of(obj))
        if place not in self._works:
            return
        self._alive.pop(place, None)
        self._gone[place] = obj
        self._tell(place)

    def _replaced(self, resource: Resource, listed: set[Key]) -> None:
        """What went while nobody watched is not known to have ended."""
        for place in [each for each in self._alive if each[0] == resource]:
            if place[1] not in listed:
                del self._alive[place]
                self._tell(place)

    def _tell(self, place: Place) -> None:
        for work in self._works[place]:
            self._wake(work)

    def _drop(self, work: Key, place: Place) -> None:
        works = self._works[place]
        works.pop(work, None)
        if not works:
            for known in (self._works, self._seen, self._alive, self._gone):
                known.pop(place, None)
        self._count(place[0], -1)

    def _count(self, resource: Resource, by: int) -> None:
        before = self._counts.get(resource, 0)
        self._counts[resource] = before + by
        if not before or not before + by:
            self._changes.put_nowait(resource)
