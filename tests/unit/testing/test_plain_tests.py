"""A Fleet in a test that no plugin helps, as the README shows it."""

from typing import Any, ClassVar

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet, config_map, run


class Greeter(Controller[Any]):
    kind: ClassVar[Any] = CONFIG_MAPS

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def reconcile(self, obj: Object, /) -> Result:
        name, space = obj["metadata"]["name"], obj["metadata"]["namespace"]
        await self._cluster.patch(CONFIG_MAPS, name, {"data": {"said": "hello"}}, space)
        return DONE


def test_a_controller_of_ones_own() -> None:
    run(story())


async def story() -> None:
    async with Fleet(seed=1) as fleet:
        cluster = await fleet.add_cluster("manager")
        fleet.run(Greeter, on=cluster)
        await cluster.client.create(config_map("x"))
        await fleet.settle()
        found = await cluster.client.get(CONFIG_MAPS, "x", namespace="default")
        assert found["data"]["said"] == "hello"
