"""A hub and members whose users change their minds while servers and agents die: placements of
both scopes, some of which want the same objects.
"""

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from tests.support import placing
from tests.support.furnished import Furnished
from tests.support.placement_checkers import (
    HUB,
    INTERNAL,
    Rows,
    Seen,
    base_of,
    is_owned,
    name_of,
)

from fleetqueue.apiserver import installing
from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import parts as hub_parts
from fleetqueue.fleet.settings import MemberSettings, Requeue
from fleetqueue.kube import finalizers
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import CALM, Fleet, FleetCluster, Weather, named, namespace

MEMBERS = ("cluster-1", "cluster-2", "cluster-3", "cluster-4")
APPS = 4
SHARED = "shared"
"""A namespace that is on all members, with objects that placements of its own choose from."""
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
API = "placement.kubernetes-fleet.io/v1beta1"
ROUGH = Weather(
    delay=0.15,
    delay_seconds_max=1.0,
    lost_request=0.03,
    lost_answer=0.03,
    conflict=0.05,
    busy=0.02,
    cut_watch=0.05,
    late_watch=0.15,
)
ROUNDS = 24
ROUND_SECONDS = 8.0
LASTS = (1.0, 5.0, 20.0, 90.0)
REST_SECONDS = 150.0
SKEW_SECONDS_MAX = 60.0
POLLING = Requeue(slow_max_seconds=5.0, fast_max_seconds=5.0)
POLLING_EVERY = 8
"""In so many seeds one has members that look at everything all the time; those of the others have
to notice what happens.
"""
BEGIN_SECONDS = 10.0
_FURNISHED: list[Furnished] = []
"""A server that has the kinds of placement, once there is one."""


class PlacementWorld:
    """Everybody who does something, and the checkers."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.random = random.Random(f"{fleet.seed}/placements")
        self.seen = Seen(asyncio.get_running_loop().time)
        self.rows: dict[str, Rows] = {}
        self._lasting: list[tuple[float, Callable[[], Any]]] = []
        self._count = 0
        is_polling = fleet.seed % POLLING_EVERY == 0
        self._agent = MemberSettings("", requeue=POLLING if is_polling else Requeue())

    # Before it begins

    async def start(self) -> None:
        await self._furnish()
        hub = placing.Side(await self._add_cluster(HUB))
        self.world = placing.World(self.fleet, hub, {})
        await hub.create(namespace(kinds.SYSTEM_NAMESPACE), namespace(SHARED))
        self._run_hub()
        for name in MEMBERS:
            self.world.members[name] = placing.Side(await self._add_cluster(name))
            self.world.run_member(name, self._agent)
            labels = {"env": self.random.choice(("prod", "canary"))}
            await hub.create(placing.member_cluster(name, labels=labels))
        await self._make_objects()
        await asyncio.sleep(20)

    async def _add_cluster(self, name: str) -> FleetCluster:
        skew = self.random.choice((0.0, self.random.uniform(-1, 1) * SKEW_SECONDS_MAX))
        uid = str(UUID(int=self.random.getrandbits(128), version=4))
        self.rows[name] = Rows(_FURNISHED[0].rows_for(uid), name, self.seen)
        return await self.fleet.add_cluster(name, skew_seconds=skew, rows=self.rows[name])

    async def _furnish(self) -> None:
        """By a server that is none of the fleet's."""
        if not _FURNISHED:
            made = FleetCluster("template", self.fleet.clock, "template")
            await made.start()
            await installing.install(made.instance.core, placing.fleet_crds())
            await asyncio.sleep(1)
            _FURNISHED.append(await Furnished.of(made))
            await made.kill()
        # Whoever makes it needs some time for it; what follows must not depend on that.
        await asyncio.sleep(BEGIN_SECONDS - asyncio.get_running_loop().time())

    def _run_hub(self) -> None:
        hub = self.world.hub

        def install(manager: Manager) -> None:
            hub_parts.install(manager, placing.IMMEDIATE, hub.metrics)
            for scope in kinds.SCOPES:
                manager.cluster.informer(scope.placement).listen(self._hub_learned)

        hub.restart = self.fleet.run_all(install, hub.cluster)

    def _hub_learned(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.seen.hub_learned(new)

    async def _make_objects(self) -> None:
        hub = self.world.hub
        for number in range(APPS):
            await hub.create(namespace(app(number)))
            for _ in range(self.random.randint(1, 3)):
                await hub.create(self._config_map(app(number)))
        only = {**_namespace(SHARED), "selectionScope": "NamespaceOnly"}
        await hub.create(_placement(SHARED, [only], {"placementType": "PickAll"}, "100%"))
        for _ in range(4):
            await hub.create(self._config_map(SHARED))
        for number in range(APPS):
            await hub.create(self._cluster_placement(number))
        # It wants what another one has.
        await hub.create(_placement("rival", [_namespace(app(0))], {"placementType": "PickAll"}, 1))
        for number in range(3):
            await hub.create(self._namespaced_placement(number))

    def _config_map(self, space: str) -> Object:
        self._count += 1
        return named("ConfigMap", "v1", f"config-{self._count}", space, data=self._data())

    def _data(self) -> Object:
        return {"value": str(self.random.randint(0, 1_000_000))}

    def _cluster_placement(self, number: int) -> Object:
        share = self.random.choice((1, 2, "25%", "50%"))
        return _placement(f"place-{number}", [_namespace(app(number))], self._policy(), share)

    def _namespaced_placement(self, number: int) -> Object:
        # No two of them choose the same object.
        name = f"config-{self._count - number}"
        term = {"group": "", "version": "v1", "kind": "ConfigMap", "name": name}
        made = _placement(f"choose-{number}", [term], self._policy(), 1)
        made["kind"] = "ResourcePlacement"
        made["metadata"]["namespace"] = SHARED
        return made

    def _policy(self) -> Object:
        kind = self.random.choice(("PickAll", "PickN", "PickFixed"))
        if kind == "PickN":
            return {"placementType": kind, "numberOfClusters": self.random.randint(1, 4)}
        if kind == "PickFixed":
            names = self.random.sample(MEMBERS, self.random.randint(1, 3))
            return {"placementType": kind, "clusterNames": names}
        return {"placementType": kind}

    # While it lasts

    async def round(self) -> None:
        if self.random.random() < 0.6:
            await self._harm()
        for _ in range(self.random.randint(1, 2)):
            try:
                await self._act()
            except (KubeError, AssertionError):
                self.seen.counts["users refused"] += 1
        await asyncio.sleep(self.random.uniform(0.2, 1.0) * ROUND_SECONDS)
        await self._end()

    async def _act(self) -> None:
        chosen = self.random.choice(
            [
                self._change, self._change, self._add, self._remove, self._rescale, self._label,
                self._edit_on_member, self._delete_on_member, self._replace_placement,
            ]
        )  # fmt: skip
        self.seen.counts[chosen.__name__] += 1
        await chosen()

    async def _hub_maps(self) -> list[Object]:
        found = await self.world.hub.all(CONFIG_MAPS)
        return [each for each in found if each["metadata"]["name"].startswith("config-")]

    async def _change(self) -> None:
        chosen = self.random.choice(await self._hub_maps())
        _, space, name = name_of(chosen)
        patch = {"data": self._data()}
        await self.world.hub.client.patch(CONFIG_MAPS, name, patch, space)

    async def _add(self) -> None:
        space = app(self.random.randrange(APPS))
        await self.world.hub.create(self._config_map(space))

    async def _remove(self) -> None:
        _, space, name = name_of(self.random.choice(await self._hub_maps()))
        if space != SHARED:
            await self.world.hub.client.delete(CONFIG_MAPS, name, space)

    async def _rescale(self) -> None:
        kind = kinds.CLUSTER_SCOPE.placement
        for placement in await self.world.hub.all(kind):
            policy = placement["spec"].get("policy") or {}
            if policy.get("placementType") == "PickN":
                patch = {"spec": {"policy": {"numberOfClusters": self.random.randint(1, 4)}}}
                await self.world.hub.client.patch(kind, placement["metadata"]["name"], patch)
                return

    async def _label(self) -> None:
        patch = {"metadata": {"labels": {"env": self.random.choice(("prod", "canary"))}}}
        name = self.random.choice(MEMBERS)
        await self.world.hub.client.patch(kinds.MEMBER_CLUSTER, name, patch)

    async def _edit_on_member(self) -> None:
        name, obj = await self._placed()
        _, space, called = name_of(obj)
        self.seen.touched.add((name, name_of(obj)))
        patch = {"data": {"value": "edited by hand"}}
        await self.world.members[name].client.patch(CONFIG_MAPS, called, patch, space)

    async def _delete_on_member(self) -> None:
        name, obj = await self._placed()
        _, space, called = name_of(obj)
        await self.world.members[name].client.delete(CONFIG_MAPS, called, space)

    async def _placed(self) -> tuple[str, Object]:
        name = self.random.choice(MEMBERS)
        found = await self.world.members[name].all(CONFIG_MAPS)
        owned = [each for each in found if is_owned(each)]
        assert owned, "nothing is placed there yet"
        return name, self.random.choice(owned)

    async def _replace_placement(self) -> None:
        number = self.random.randrange(APPS)
        await self.world.hub.client.delete(kinds.CLUSTER_SCOPE.placement, f"place-{number}")
        self._for_a_while(partial(self._make_again, number))

    async def _make_again(self, number: int) -> None:
        kind, name = kinds.CLUSTER_SCOPE.placement, f"place-{number}"
        found = await self.world.hub.find(kind, name)
        if found is None:
            await self.world.hub.create(self._cluster_placement(number))
        elif finalizers.is_deleting(found):
            self._for_a_while(partial(self._make_again, number))

    # Harm

    async def _harm(self) -> None:
        chosen = self.random.choice(
            [
                self._restart_hub, self._restart_agent, self._restart_agent, self._crash,
                self._crash, self._lose_member, self._slow_member, self._bad_weather,
            ]
        )  # fmt: skip
        self.seen.counts[chosen.__name__] += 1
        await chosen()

    async def _restart_hub(self) -> None:
        assert self.world.hub.restart is not None
        await self.world.hub.restart()

    async def _restart_agent(self) -> None:
        side = self.world.members[self.random.choice(MEMBERS)]
        assert side.restart is not None
        await side.restart()

    async def _crash(self) -> None:
        """At one of the next writes."""
        cluster = self._any()
        if cluster.is_up:
            cluster.log.writes_left = self.random.randint(1, 12)
            self._for_a_while(partial(self._revive, cluster))

    async def _lose_member(self) -> None:
        cluster = self.world.members[self.random.choice(MEMBERS)].cluster
        await cluster.kill()
        self._for_a_while(partial(self._revive, cluster))

    async def _slow_member(self) -> None:
        cluster = self.world.members[self.random.choice(MEMBERS)].cluster
        cluster.set_weather(Weather(delay=1.0, delay_seconds_max=10.0, late_watch=0.5))
        self._for_a_while(partial(cluster.set_weather, CALM))

    async def _bad_weather(self) -> None:
        cluster = self._any()
        cluster.set_weather(ROUGH)
        self._for_a_while(partial(cluster.set_weather, CALM))

    def _any(self) -> FleetCluster:
        sides = [self.world.hub, *self.world.members.values()]
        return self.random.choice(sides).cluster

    async def _revive(self, cluster: FleetCluster) -> None:
        cluster.log.writes_left = None
        if not cluster.is_up:
            await cluster.restart()

    def _for_a_while(self, end: Callable[[], Any]) -> None:
        seconds = self.random.choice(LASTS) * self.random.uniform(0.5, 1.5)
        self._lasting.append((asyncio.get_running_loop().time() + seconds, end))

    async def _end(self, *, everything: bool = False) -> None:
        due, now = self._lasting, asyncio.get_running_loop().time()
        self._lasting = []
        for until, end in due:
            if not everything and until > now:
                self._lasting.append((until, end))
                continue
            try:
                if (result := end()) is not None:
                    await result
            except KubeError:
                self._lasting.append((until, end))

    # When it is over

    async def come_to_rest(self) -> None:
        for side in (self.world.hub, *self.world.members.values()):
            side.cluster.set_weather(CALM)
            await self._revive(side.cluster)
        while self._lasting:
            await self._end(everything=True)
            await asyncio.sleep(ROUND_SECONDS)
        await asyncio.sleep(REST_SECONDS)
        await self.fleet.settle()

    def unfinished(self) -> list[str]:
        """Placements that do not say how things are."""
        problems = []
        for placement in self._all(HUB, "clusterresourceplacements", "resourceplacements"):
            base, status = base_of(placement), placement.get("status") or {}
            generation = placement["metadata"]["generation"]
            conditions = status.get("conditions") or []
            if not conditions:
                problems.append(f"{base} says nothing")
            for condition in conditions:
                if condition.get("observedGeneration") != generation:
                    problems.append(f"{base}: {condition['type']} is of an older generation")
            last = conditions[-1] if conditions else {}
            is_contested = base in ("rival", "place-0")
            is_scheduled = bool(status.get("placementStatuses"))
            if last.get("status") != "True" and is_scheduled and not is_contested:
                problems.append(f"{base}: {last.get('type')}: {last.get('message')}")
            problems += self._misplaced(base, placement)
        return problems

    def _misplaced(self, base: str, placement: Object) -> list[str]:
        """What a member that is told to have everything does not have, or has otherwise."""
        wanted = self._wanted(placement)
        problems = []
        for each in (placement.get("status") or {}).get("placementStatuses") or ():
            told = {one["type"]: one["status"] for one in each.get("conditions") or ()}
            if told.get("Available") != "True":
                continue
            found = {
                name_of(obj): obj.get("data")
                for obj in self._all(each["clusterName"], "configmaps", "namespaces")
                if is_owned(obj)
            }
            for name, data in wanted.items():
                if found.get(name, "nothing") != data:
                    problems.append(f"{base} on {each['clusterName']}: {name} is wrong")
        return problems

    def _wanted(self, placement: Object) -> dict[Any, Any]:
        wanted: dict[Any, Any] = {}
        space = placement["metadata"].get("namespace")
        for term in placement["spec"]["resourceSelectors"]:
            for obj in self._all(HUB, "configmaps", "namespaces"):
                kind, inside, name = name_of(obj)
                is_named = (kind, name) == (term["kind"], term["name"]) and inside == (space or "")
                is_whole = term.get("selectionScope") != "NamespaceOnly"
                is_within = term["kind"] == "Namespace" and inside == term["name"] and is_whole
                if is_named or (is_within and name != "kube-root-ca.crt"):
                    wanted[kind, inside, name] = obj.get("data")
        return wanted

    async def delete_everything(self) -> None:
        for scope in kinds.SCOPES:
            for placement in await self.world.hub.all(scope.placement):
                _, space, name = name_of(placement)
                await self.world.hub.client.delete(scope.placement, name, space)
        await asyncio.sleep(REST_SECONDS)
        await self.fleet.settle()

    def leftovers(self) -> list[str]:
        found = [f"hub: {name_of(obj)}" for obj in self._all(HUB, *INTERNAL)]
        for name in MEMBERS:
            for obj in self._all(name, "configmaps", "namespaces"):
                if is_owned(obj):
                    found.append(f"{name}: {name_of(obj)}")
            found += [f"{name}: {name_of(obj)}" for obj in self._all(name, "appliedworks")]
        return found

    def _all(self, cluster: str, *plurals: str) -> list[Object]:
        return self.rows[cluster].objects(plurals)


def app(number: int) -> str:
    return f"app-{number}"


def _namespace(name: str) -> Object:
    return {"group": "", "version": "v1", "kind": "Namespace", "name": name}


def _placement(name: str, selectors: list[Object], policy: Object, share: int | str) -> Object:
    rolling = {"maxUnavailable": share, "maxSurge": 1, "unavailablePeriodSeconds": 1}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec = {"resourceSelectors": selectors, "policy": policy, "strategy": strategy}
    return named("ClusterResourcePlacement", API, name, spec=spec)
