"""Typed kinds and a whole controller on every kind of server."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from fleetqueue.api.crd import crd
from fleetqueue.api.kueue.v1beta2.local_queue import (
    LocalQueue,
    LocalQueueSpec,
    LocalQueueStatus,
)
from fleetqueue.api.meta import Key, ObjectMeta
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import conditions, errors
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.leader import LeaderElector
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import CONFIG_MAPS, CRDS


@pytest.fixture
async def kueue(client: Client) -> None:
    """The server knows LocalQueue."""
    wanted = crd([LocalQueue])
    try:
        await client.create(wanted, resource=CRDS)
    except errors.AlreadyExists:
        return
    async with asyncio.timeout(20):
        await _until_served(client)


async def _until_served(client: Client) -> None:
    while True:
        try:
            await client.list(LocalQueue)
            return
        except errors.NotFound:
            await asyncio.sleep(0.1)


def queue(name: str, namespace: str) -> LocalQueue:
    return LocalQueue(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=LocalQueueSpec(cluster_queue="research"),
    )


@pytest.mark.usefixtures("kueue")
async def test_typed_objects_go_there_and_come_back(client: Client, namespace: str) -> None:
    made = await client.create(queue("main", namespace))
    found = await client.get(LocalQueue, "main", namespace)
    listed = await client.list(LocalQueue, namespace)
    patched = await client.patch(
        LocalQueue, "main", {"metadata": {"labels": {"a": "b"}}}, namespace
    )

    assert made.metadata.uid
    assert found == made
    assert list(listed.items) == [made]
    assert patched.metadata.labels == {"a": "b"}
    assert patched.spec is not None
    assert patched.spec.cluster_queue == "research"


class Counting(Controller[LocalQueue]):
    """Counts the ConfigMaps of a queue's namespace into its status."""

    watches = (Watch(CONFIG_MAPS, wakes=lambda m: [Key(m["metadata"]["namespace"], "main")]),)

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def reconcile(self, queue: LocalQueue) -> Result:
        held = self.cluster.cached_all(CONFIG_MAPS, queue.metadata.namespace)
        mine = [each for each in held if each["metadata"]["name"] != "kube-root-ca.crt"]
        now = self.cluster.clock.now()
        present = queue.status.conditions if queue.status else []
        active = conditions.condition("Active", bool(mine), "Counted", "", now=now)
        status = LocalQueueStatus(
            pending_workloads=len(mine), conditions=conditions.set_condition(present, active)
        )
        await self.cluster.apply_status(queue, status, field_manager="counter")
        self.cluster.events.normal(queue, "Counted", f"{len(mine)} found")
        return DONE


@pytest.fixture
async def manager(client: Client, namespace: str, kueue: None) -> AsyncIterator[Manager]:
    cluster = Cluster(client, clock=SystemClock(), random=Random(1), component="tests")
    elector = LeaderElector(
        client, Key(namespace, "lock"), "me", clock=SystemClock(), random=Random(1)
    )
    manager = Manager(cluster, random=Random(1), elector=elector)
    manager.add(Counting(cluster))
    running = asyncio.ensure_future(manager.run())
    async with asyncio.timeout(20):
        await manager.wait_ready()
    yield manager
    manager.stop()
    await running


async def _until_counted(client: Client, namespace: str, count: int) -> LocalQueue:
    while True:
        found = await client.get(LocalQueue, "main", namespace)
        if found.status is not None and found.status.pending_workloads == count:
            return found
        await asyncio.sleep(0.05)


async def test_a_controller_brings_its_objects_up_to_date(
    client: Client, namespace: str, manager: Manager
) -> None:
    async with asyncio.timeout(20):
        await client.create(queue("main", namespace))
        for number in range(3):
            await client.create(_config_map(f"c{number}", namespace), resource=CONFIG_MAPS)
        counted = await _until_counted(client, namespace, 3)
        await client.delete(CONFIG_MAPS, "c0", namespace)
        after = await _until_counted(client, namespace, 2)

    assert counted.status is not None
    assert after.status is not None
    assert conditions.is_true(after.status.conditions, "Active")
    (entry,) = [each for each in after.metadata.managed_fields if each.subresource == "status"]
    assert (entry.manager, entry.operation) == ("counter", "Apply")
    assert manager.problems() == []


def _config_map(name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
