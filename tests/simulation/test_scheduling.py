"""The scheduler under random faults and restarts, with users and nodes that do what they like: no
node is ever oversold, no pod is bound twice, and in the end whoever can have a place has one.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import pytest

from fleetqueue.apiserver.log import Row
from fleetqueue.base import codec
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.kinds import NODE, POD, PRIORITY_CLASS
from fleetqueue.testing import CALM, STORM, Fleet, FleetCluster
from support.scheduling import node

pytestmark = pytest.mark.rule("jobs C.10")

POOLS = {"a-1": "a", "a-2": "a", "b-1": "b"}
CPU, SLOTS = 4, 3
STEPS = 40
ENDED = ("Succeeded", "Failed")
HIGH = 1000


class Ledger(dict[int, Row]):
    """The rows of a log. Every pod and node that becomes durable is looked at, so that nothing that
    was wrong for a moment only goes unseen.
    """

    def __init__(self, rows: Mapping[int, Row]) -> None:
        super().__init__(rows)
        self._homes: dict[str, str] = {}
        """By the uid of a pod: where it was first put."""
        self._used: dict[str, dict[str, int]] = defaultdict(dict)
        """By node, and uid of the pods there: the CPUs that they take."""
        self.room: dict[str, int] = {}
        self.problems: list[str] = []

    def __setitem__(self, revision: int, row: Row) -> None:
        super().__setitem__(revision, row)
        if row.resource == "pods":
            self._saw_pod(codec.decode(row.value), is_gone=row.is_delete)
        elif row.resource == "nodes" and not row.is_delete:
            found = codec.decode(row.value)
            amounts = (found.get("status") or {}).get("allocatable") or {}
            self.room[found["metadata"]["name"]] = int(amounts.get("cpu") or 0)

    def _saw_pod(self, pod: Object, *, is_gone: bool) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        home = pod["spec"].get("nodeName")
        if home is None:
            return
        if self._homes.setdefault(uid, home) != home:
            self.problems.append(f"{name} moved from {self._homes[uid]} to {home}")
        wanted = pod["spec"].get("nodeSelector") or {}
        if wanted and wanted["pool"] != POOLS[home]:
            self.problems.append(f"{name} is on {home}, but asked for {wanted}")
        if is_gone or pod["status"].get("phase") in ENDED:
            self._used[home].pop(uid, None)
            return
        self._used[home][uid] = cpus(pod)
        if sum(self._used[home].values()) > self.room[home] or len(self._used[home]) > SLOTS:
            self.problems.append(f"{home} was oversold by {name}: {self._used[home]}")


def cpus(pod: Object) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


class World:
    """A cluster with a scheduler, and all who change something in it."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client
        self.random = random.Random(f"{fleet.seed}/world")
        self.ledger = Ledger(cluster.log.rows)
        cluster.log.rows = self.ledger
        self._made = 0

    async def start(self) -> None:
        await self.client.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": HIGH,
            },
            resource=PRIORITY_CLASS,
        )
        for name, pool in POOLS.items():
            made = node(name, cpu=str(CPU), pods=str(SLOTS), labels={"pool": pool})
            await self.client.create({key: made[key] for key in made if key != "status"})
            await self.client.patch(NODE, name, {"spec": {"taints": None}})
            await self.client.patch(NODE, name, {"status": made["status"]}, subresource="status")
        self.restart_scheduler = self.fleet.run(Binder, on=self.cluster)
        await self.fleet.settle()

    async def step(self) -> None:
        chance = self.random.random()
        try:
            if chance < 0.5:
                await self._create()
            elif chance < 0.65:
                await self._finish()
            elif chance < 0.75:
                await self._delete()
            elif chance < 0.85:
                await self._change_node()
            elif chance < 0.92:
                await self.restart_scheduler()
            elif chance < 0.96:
                await self.cluster.restart()
            else:
                self.cluster.log.writes_left = self.random.randint(1, 6)
            await self.remove_leaving()
        except KubeError:
            # The server died under it.
            assert not self.cluster.is_up
        await asyncio.sleep(self.random.random() * 3)
        if not self.cluster.is_up:
            await self.fleet.passes(seconds=self.random.random() * 5)
            await self.cluster.restart()

    async def _create(self) -> None:
        self._made += 1
        asked = {"requests": {"cpu": str(self.random.randint(1, 3))}}
        spec: Object = {"containers": [{"name": "main", "image": "i", "resources": asked}]}
        if self.random.random() < 0.4:
            spec["nodeSelector"] = {"pool": self.random.choice(("a", "b"))}
        if self.random.random() < 0.25:
            spec["priorityClassName"] = "high"
        metadata = {"name": f"p-{self._made}", "namespace": "default"}
        await self.client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )

    async def _finish(self) -> None:
        running = [pod for pod in await self.pods() if takes_room(pod)]
        if running:
            name = self.random.choice(running)["metadata"]["name"]
            patch = {"status": {"phase": self.random.choice(ENDED)}}
            await self.client.patch(POD, name, patch, "default", subresource="status")

    async def _delete(self) -> None:
        found = await self.pods()
        if found:
            name = self.random.choice(found)["metadata"]["name"]
            await self.client.delete(POD, name, "default")

    async def _change_node(self) -> None:
        name = self.random.choice(tuple(POOLS))
        if self.random.random() < 0.3:
            amounts = {"cpu": str(self.ledger.room[name] + 1)}
            patch = {"status": {"capacity": amounts, "allocatable": amounts}}
            await self.client.patch(NODE, name, patch, subresource="status")
        else:
            is_cordoned = self.random.random() < 0.5
            await self.client.patch(NODE, name, {"spec": {"unschedulable": is_cordoned}})

    async def remove_leaving(self) -> bool:
        """The kubelets' part: those that were asked to go are gone, sooner or later."""
        leaving = [pod for pod in await self.pods() if "deletionTimestamp" in pod["metadata"]]
        for pod in leaving:
            if self.random.random() < 0.5:
                name = pod["metadata"]["name"]
                await self.client.delete(POD, name, "default", grace_period_seconds=0)
        return bool(leaving)

    async def come_to_rest(self) -> None:
        self.cluster.set_weather(CALM)
        await self.cluster.restart()
        for name in POOLS:
            await self.client.patch(NODE, name, {"spec": {"unschedulable": None}})
        await self.fleet.settle()
        while await self.remove_leaving():
            await self.fleet.settle()

    async def pods(self) -> list[Object]:
        return (await self.client.list(POD, "default")).items


def takes_room(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") not in ENDED


def check_rest(pods: list[Object], room: dict[str, int]) -> None:
    """Whoever waits would not fit anywhere, not even if all less important pods went."""
    there = defaultdict(list)
    for pod in filter(takes_room, pods):
        there[pod["spec"]["nodeName"]].append(pod)
    for pod in pods:
        if pod["spec"].get("nodeName"):
            continue
        pool = (pod["spec"].get("nodeSelector") or {}).get("pool")
        for name in [name for name, its in POOLS.items() if pool in (None, its)]:
            priority = pod["spec"]["priority"]
            staying = [other for other in there[name] if other["spec"]["priority"] >= priority]
            used = sum(cpus(other) for other in staying)
            fits = used + cpus(pod) <= room[name] and len(staying) < SLOTS
            assert not fits, f"{pod['metadata']['name']} waits, but {name} has room"
        (said,) = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
        assert (said["status"], said["reason"]) == ("False", "Unschedulable")
        assert said["message"].startswith(f"0/{len(POOLS)} nodes are available: ")


@pytest.mark.parametrize("seed", range(40))
async def test_no_node_is_oversold_and_whoever_fits_has_a_place(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = World(fleet, await fleet.add_cluster("one"))
        await world.start()
        world.cluster.set_weather(replace(STORM, late_watch=0.3))
        for _ in range(STEPS):
            await world.step()
            assert not world.ledger.problems
        await world.come_to_rest()
        assert not world.ledger.problems
        check_rest(await world.pods(), world.ledger.room)
