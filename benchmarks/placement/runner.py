"""Makes placements on the hub, changes what they place, and looks on at all clusters."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.placement import objects
from fleetqueue.fleet import kinds
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
PLACEMENTS = (kinds.CLUSTER_SCOPE.placement, kinds.NAMESPACED.placement)
AT_ONCE = 64
STALLED_SECONDS = 180.0
"""When nothing has become available for so long, what is left never will."""
Place = tuple[str, str]
"""Namespace and name of a ConfigMap."""


@dataclass(slots=True)
class Outcome:
    """What was seen, in seconds since each placement, or each change, was sent to the hub."""

    seconds: float = 0.0
    placed: dict[Place, float] = field(default_factory=dict)
    """On all members that it is for."""
    available: dict[Place, float] = field(default_factory=dict)


@dataclass(slots=True)
class Awaited:
    """One ConfigMap in one round."""

    sent: float
    round: str
    """What its data say once it has come."""
    members: int
    where: set[str] = field(default_factory=set)
    is_available: bool = False
    is_over: asyncio.Event = field(default_factory=asyncio.Event)


class Runner:
    """Looks on for as long as the fleet runs; each load is one call."""

    def __init__(self, hub: Cluster, members: dict[str, Cluster]) -> None:
        self._hub = hub
        self._members = members
        self._awaited: dict[Place, Awaited] = {}
        self._indexes: dict[Place, str] = {}
        self._round = 0
        self.outcome = Outcome()

    async def follow(self) -> None:
        """Returns when every cluster is looked at."""
        for kind in PLACEMENTS:
            self._hub.informer(kind).listen(self._told)
        for name, member in self._members.items():
            member.informer(CONFIG_MAPS).listen(partial(self._seen, name))
        for each in (self._hub, *self._members.values()):
            each.start()
        for each in (self._hub, *self._members.values()):
            await each.wait_synced()

    async def stop(self) -> None:
        for each in (self._hub, *self._members.values()):
            await each.stop()

    # Loads

    async def place(self, numbers: Iterable[int], prefix: str, *, one_by_one: bool) -> Outcome:
        """A namespace with a ConfigMap each, on all members."""
        names = [objects.name_of(number, prefix) for number in numbers]
        for name in names:
            for obj in objects.sources(name):
                await self._hub.client.create(obj)

        async def send(place: Place) -> None:
            made = objects.of_namespace(place[0])
            await self._hub.client.create(made, resource=PLACEMENTS[0])

        places = [(name, objects.CONFIG) for name in names]
        return await self._await_all(places, "0", len(self._members), send, one_by_one)

    async def pick(self, count: int) -> Outcome:
        """A ConfigMap each, on some members; their namespace is everywhere before."""
        await self._share()
        names = [objects.name_of(number) for number in range(count)]
        for name in names:
            await self._hub.client.create(objects.config_map(name, objects.SHARED))

        async def send(place: Place) -> None:
            made = objects.of_config_map(place[1])
            await self._hub.client.create(made, resource=PLACEMENTS[1])

        places = [(objects.SHARED, name) for name in names]
        members = min(objects.PICKED, len(self._members))
        return await self._await_all(places, "0", members, send, False)

    async def change(self, places: Sequence[Place], members: int) -> Outcome:
        """What is placed already, all at once."""
        self._round += 1
        text = str(self._round)

        async def send(place: Place) -> None:
            patch = {"data": {"round": text}}
            await self._hub.client.patch(CONFIG_MAPS, place[1], patch, place[0])

        return await self._await_all(places, text, members, send, False)

    async def _share(self) -> None:
        await self._hub.client.create(next(objects.sources(objects.SHARED)))
        made = objects.of_shared_namespace()
        await self._hub.client.create(made, resource=PLACEMENTS[0])
        while True:
            found = await self._hub.client.get(PLACEMENTS[0], objects.SHARED)
            if _is_available(found):
                return
            await asyncio.sleep(0.2)

    async def _await_all(
        self,
        places: Sequence[Place],
        text: str,
        members: int,
        send: Callable[[Place], Awaitable[None]],
        one_by_one: bool,
    ) -> Outcome:
        self.outcome, begun = Outcome(), time.perf_counter()
        free = asyncio.Semaphore(1 if one_by_one else AT_ONCE)

        async def make(place: Place) -> None:
            async with free:
                awaited = Awaited(time.perf_counter(), text, members)
                self._awaited[place] = awaited
                await send(place)
                if one_by_one:
                    await awaited.is_over.wait()
            await awaited.is_over.wait()

        every = asyncio.gather(*map(make, places))
        known = -1
        while not every.done() and known < len(self.outcome.available):
            known = len(self.outcome.available)
            await asyncio.wait({every}, timeout=STALLED_SECONDS)
        if not every.done():
            every.cancel()
            left = sorted(set(places) - self.outcome.available.keys())
            raise SystemExit(f"{len(left)} placements do not become available: {left[:10]}")
        await every
        self.outcome.seconds = time.perf_counter() - begun
        return self.outcome

    # What is seen

    def _seen(self, member: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            return
        place = (str(new["metadata"].get("namespace")), str(new["metadata"]["name"]))
        awaited = self._awaited.get(place)
        if awaited is None or (new.get("data") or {}).get("round") != awaited.round:
            return
        awaited.where.add(member)
        if len(awaited.where) >= awaited.members:
            now = time.perf_counter()
            self.outcome.placed.setdefault(place, now - awaited.sent)
            self._look(place, awaited)

    def _told(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            return
        name, namespace = new["metadata"]["name"], new["metadata"].get("namespace", "")
        place = (namespace, name) if namespace else (name, objects.CONFIG)
        awaited = self._awaited.get(place)
        if awaited is None:
            return
        status = new.get("status") or {}
        # A change is taken up with the next snapshot; what was said of the last one is old.
        has_come = str(status.get("observedResourceIndex", "")) == awaited.round
        awaited.is_available = has_come and _is_available(new)
        self._look(place, awaited)

    def _look(self, place: Place, awaited: Awaited) -> None:
        if awaited.is_available and place in self.outcome.placed and not awaited.is_over.is_set():
            self.outcome.available[place] = time.perf_counter() - awaited.sent
            awaited.is_over.set()


def _is_available(placement: dict[str, Any]) -> bool:
    generation = placement["metadata"].get("generation")
    for each in (placement.get("status") or {}).get("conditions") or ():
        if each["type"].endswith("PlacementAvailable"):
            return bool(each["status"] == "True" and each["observedGeneration"] == generation)
    return False
