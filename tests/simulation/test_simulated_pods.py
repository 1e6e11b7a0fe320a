"""Scheduler and simulated pods under random faults and restarts: no node is ever overfull, no pod
is forgotten, and none runs twice.
"""

import random
from collections import Counter

import pytest

from fleetqueue.kube.cluster import Cluster
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.runtime.machine import Machine
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.nodes import NodeSpec, Site
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.testing import CALM, Fleet, FleetCluster
from fleetqueue.testing.faults import Weather

NODES, SLOTS, PODS = 3, 2, 24
BURST = 4
GALE = Weather(delay=0.5, lost_request=0.1, lost_answer=0.3, conflict=0.1, cut_watch=0.4)
SITE = Site(Machine("box", 4, 2**33, 2**36))
SPEC = NodeSpec("sim", mode="simulated", count=NODES, capacity={"cpu": str(SLOTS)})


async def check_room(cluster: FleetCluster) -> None:
    pods = (await cluster.client.list(POD, "default")).items
    used = Counter(
        pod["spec"]["nodeName"]
        for pod in pods
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed")
    )
    assert all(number <= SLOTS for number in used.values()), used


async def add_pod(cluster: FleetCluster, number: int) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    notes = {"fleetqueue.io/sim-run-seconds": "4"}
    metadata = {"name": f"p-{number}", "namespace": "default", "annotations": notes}
    spec = {"restartPolicy": "Never", "containers": [container]}
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )


@pytest.mark.rule("jobs C.10")
@pytest.mark.parametrize("seed", range(8))
async def test_nodes_are_never_overfull_and_every_pod_ends(seed: int) -> None:
    source = random.Random(seed)
    async with Fleet(seed) as fleet:
        cluster = await fleet.add_cluster("one")
        keepers: list[NodeKeeper] = []

        def keeper(made: Cluster) -> NodeKeeper:
            keepers.append(NodeKeeper(made, (SPEC,), SITE))
            return keepers[-1]

        restarts = [
            fleet.run(make, on=cluster) for make in (Binder, SimulatedPods, keeper, NodeLifecycle)
        ]
        await keepers[0].register()
        await fleet.settle()
        cluster.set_weather(GALE)
        for number in range(PODS):
            await add_pod(cluster, number)
            if number % BURST:
                continue
            for _ in range(10):
                await fleet.passes(seconds=source.random())
                await check_room(cluster)
            if source.random() < 0.15:
                await source.choice(restarts)()
            if number % 7 == 3:
                cordon = {"spec": {"unschedulable": source.random() < 0.5}}
                await cluster.client.patch(NODE, f"sim-{source.randrange(NODES)}", cordon)
        cluster.set_weather(CALM)
        for number in range(NODES):
            await cluster.client.patch(NODE, f"sim-{number}", {"spec": {"unschedulable": None}})
        for _ in range(40):
            await fleet.passes(seconds=2)
            await check_room(cluster)
        pods = (await cluster.client.list(POD, "default")).items
        assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
        restarted = [
            each["restartCount"] for pod in pods for each in pod["status"]["containerStatuses"]
        ]
        assert set(restarted) == {0}
