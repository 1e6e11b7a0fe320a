"""A toy controller under random faults and restarts: it converges, and nothing acknowledged is
lost.

For every ConfigMap with the label `copy` it keeps a Secret of the same name and data, owned by it.
"""

import asyncio
import base64
import random

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import Conflict, KubeError, NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import CALM, STORM, Fleet, FleetCluster, config_map, named

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
NAMES = tuple(f"source-{number}" for number in range(5))


class CopyController(Controller[Object]):
    """Thirty lines, as an author would write them."""

    kind = CONFIG_MAPS
    watches = (Watch(SECRETS, wakes=lambda s: [Key("default", s["metadata"]["name"])]),)

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def reconcile(self, obj: Object) -> Result:
        metadata = obj["metadata"]
        if "copy" not in (metadata.get("labels") or {}) or "deletionTimestamp" in metadata:
            return DONE
        wanted = {name: encoded(text) for name, text in (obj.get("data") or {}).items()}
        copy = self.cluster.cached(SECRETS, metadata["name"], metadata["namespace"])
        if copy is None:
            fresh = named("Secret", "v1", metadata["name"], "default", data=wanted, owner=obj)
            await self.cluster.create(fresh)
        elif (copy.get("data") or {}) != wanted:
            version = copy["metadata"]["resourceVersion"]
            gone = {name: None for name in copy.get("data") or {} if name not in wanted}
            patch = {"metadata": {"resourceVersion": version}, "data": {**gone, **wanted}}
            await self.cluster.patch(SECRETS, metadata["name"], patch, namespace="default")
        return DONE


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class User:
    """Writes ConfigMaps and remembers what was acknowledged."""

    def __init__(self, cluster: FleetCluster, source: random.Random) -> None:
        self._client = cluster.connect("user")
        self._random = source
        self.acknowledged: dict[str, dict[str, str]] = {}
        self.doubtful: set[str] = set()
        """Names with a write whose answer never came: either state may be."""

    async def act(self, step: int) -> None:
        name = self._random.choice(NAMES)
        try:
            if name in self.acknowledged and self._random.random() < 0.25:
                await self._client.delete(CONFIG_MAPS, name, namespace="default")
                self.acknowledged.pop(name)
            elif name in self.acknowledged:
                await self._client.patch(
                    CONFIG_MAPS, name, {"data": {"v": str(step)}}, namespace="default"
                )
                self.acknowledged[name] = {"v": str(step)}
            else:
                obj = config_map(name, {"v": str(step)}, labels={"copy": "yes"})
                await self._client.create(obj)
                self.acknowledged[name] = {"v": str(step)}
        except (Conflict, NotFound):
            self.doubtful.add(name)
        except KubeError:
            self.doubtful.add(name)
        else:
            self.doubtful.discard(name)


async def history(seed: int) -> None:
    async with Fleet(seed) as fleet:
        cluster = await fleet.add_cluster("one")
        cluster.set_weather(STORM)
        restart_controller = fleet.run(CopyController, on=cluster)
        user = User(cluster, random.Random(f"{seed}/user"))
        for step in range(40):
            await user.act(step)
            await asyncio.sleep(fleet.random.random() * 3)
            chance = fleet.random.random()
            if chance < 0.05:
                cluster.log.writes_left = fleet.random.randint(1, 6)
            elif chance < 0.10:
                await cluster.restart()
            elif chance < 0.15:
                await restart_controller()
            if not cluster.is_up:
                await fleet.passes(seconds=fleet.random.random() * 5)
                await cluster.restart()
        cluster.set_weather(CALM)
        await cluster.restart()
        await fleet.settle()
        await check(cluster, user)


async def check(cluster: FleetCluster, user: User) -> None:
    sources = {
        obj["metadata"]["name"]: obj.get("data")
        for obj in (await cluster.client.list(CONFIG_MAPS, namespace="default")).items
        if "copy" in (obj["metadata"].get("labels") or {})
    }
    copies = {
        obj["metadata"]["name"]: obj.get("data")
        for obj in (await cluster.client.list(SECRETS, namespace="default")).items
    }
    assert copies == {name: {"v": encoded(data["v"])} for name, data in sources.items()}
    for name in NAMES:
        if name not in user.doubtful:
            assert sources.get(name) == user.acknowledged.get(name), name


@pytest.mark.parametrize("seed", range(200))
async def test_copies_converge_and_nothing_acknowledged_is_lost(seed: int) -> None:
    await history(seed)
