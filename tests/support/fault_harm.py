"""The harm that is done to a manager and its workers, by chance: links cut and hung, watches
dropped, controllers and servers killed, tokens changed, bad weather.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Protocol

from tests.support import dispatching
from tests.support.dispatching import TOKEN
from tests.support.fault_story import Story
from tests.support.links import Link

from fleetqueue.kube.errors import KubeError
from fleetqueue.multikueue import kinds
from fleetqueue.testing import CALM, FleetCluster, Weather

ROUGH = Weather(
    delay=0.15,
    delay_seconds_max=1.0,
    lost_request=0.02,
    lost_answer=0.02,
    conflict=0.04,
    busy=0.02,
    cut_watch=0.03,
    late_watch=0.15,
)
LASTS = (1.0, 5.0, 20.0, 90.0)
"""Seconds, more or less; the longest is longer than a worker may be lost."""
MANAGER_SHARE = 0.3


class Place(Protocol):
    """Where it is done."""

    @property
    def manager(self) -> FleetCluster: ...

    @property
    def workers(self) -> list[FleetCluster]: ...

    @property
    def links(self) -> dict[str, Link]: ...

    @property
    def story(self) -> Story: ...

    @property
    def restarts(self) -> dict[str, list[Callable[[], Any]]]:
        """By cluster: what starts its controllers again, a process each."""


@dataclass(slots=True)
class Lasting:
    """A fault that ends by itself."""

    until: float
    end: Callable[[], Any]


class Harm:
    """Does one thing after the other, and puts each right again."""

    def __init__(self, place: Place, random: Random) -> None:
        self._place = place
        self._random = random
        self._lasting: list[Lasting] = []
        self.done: Counter[str] = Counter()
        """How often each was done."""

    async def do_something(self) -> None:
        chosen = self._random.choice(
            [
                self._cut, self._cut, self._hang, self._drop_watches, self._reset,
                self._bad_weather, self._kill_controllers, self._kill_controllers,
                self._kill_server, self._crash_server, self._crash_server, self._expire_token,
            ]
        )  # fmt: skip
        self.done[chosen.__name__] += 1
        self._place.story.fault(f"{chosen.__name__.strip('_')}: {await chosen()}")

    async def end(self, *, all: bool = False) -> None:
        """What is due; or all, so that nothing is wrong any more."""
        if all:
            for cluster in (self._place.manager, *self._place.workers):
                cluster.set_weather(CALM)
                await self._revive(cluster)
        for each in list(self._lasting):
            if all or each.until <= asyncio.get_running_loop().time():
                try:
                    if (result := each.end()) is not None:
                        await result
                except KubeError:
                    assert not self._place.manager.is_up
                else:
                    self._lasting.remove(each)
                    self._place.story.fault(f"over: {_title(each.end)}")
        assert not all or not self._lasting

    async def _cut(self) -> str:
        link = self._link()
        link.cut()
        self._for_a_while(link.restore)
        return link.cluster.name

    async def _hang(self) -> str:
        link = self._link()
        link.hang()
        self._for_a_while(link.restore)
        return link.cluster.name

    async def _drop_watches(self) -> str:
        link = self._link()
        link.drop_watches()
        return link.cluster.name

    async def _reset(self) -> str:
        link = self._link()
        link.reset()
        return link.cluster.name

    async def _bad_weather(self) -> str:
        cluster = self._any()
        cluster.set_weather(ROUGH)
        self._for_a_while(partial(cluster.set_weather, CALM))
        return cluster.name

    async def _kill_controllers(self) -> str:
        """Queueing alone, or what runs jobs too."""
        name = self._any().name
        restarts = self._place.restarts[name]
        for restart in self._random.choice((restarts, restarts[:1])):
            await restart()
        return name

    async def _kill_server(self) -> str:
        cluster = self._any()
        await cluster.kill()
        self._for_a_while(partial(self._revive, cluster))
        return cluster.name

    async def _crash_server(self) -> str:
        """At one of the next writes."""
        cluster = self._any()
        if cluster.is_up:
            cluster.log.writes_left = self._random.randint(1, 20)
            self._for_a_while(partial(self._revive, cluster))
        return cluster.name

    async def _revive(self, cluster: FleetCluster) -> None:
        cluster.log.writes_left = None
        if not cluster.is_up:
            await cluster.restart()
            self._place.story.fault(f"{cluster.name} is back")

    async def _expire_token(self) -> str:
        worker = self._random.choice(self._place.workers).name
        link = self._place.links[worker]
        link.token = f"{TOKEN}{worker}-{self._random.random()}"
        # Whoever is connected already would not be asked again for long.
        link.reset()
        self._for_a_while(partial(self._renew_token, worker))
        return worker

    async def _renew_token(self, worker: str) -> None:
        token = self._place.links[worker].token
        data = dispatching.kubeconfig_secret(worker, token=token)["data"]
        name, client = dispatching.secret_name(worker), self._place.manager.client
        await client.patch(kinds.SECRET, name, {"data": data}, dispatching.SYSTEM)

    # Whom, and for how long

    def _for_a_while(self, end: Callable[[], Any]) -> None:
        seconds = self._random.choice(LASTS) * self._random.uniform(0.5, 1.5)
        self._lasting.append(Lasting(asyncio.get_running_loop().time() + seconds, end))

    def _any(self) -> FleetCluster:
        if self._random.random() < MANAGER_SHARE:
            return self._place.manager
        return self._random.choice(self._place.workers)

    def _link(self) -> Link:
        return self._place.links[self._random.choice(self._place.workers).name]


def _title(end: Callable[[], Any]) -> str:
    """What ends a fault, and whose."""
    if isinstance(end, partial):
        owner = getattr(end.func, "__self__", None)
        place = owner if isinstance(owner, FleetCluster) else end.args[0]
        return f"{end.func.__name__.strip('_')} {getattr(place, 'name', place)}"
    link = getattr(end, "__self__", None)
    return f"{end.__name__} {link.cluster.name if isinstance(link, Link) else ''}"
