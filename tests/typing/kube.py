"""The client knows what it returns: typed objects for wire types, plain JSON for resources."""

from typing import Any, assert_type

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.reading import ObjectList
from fleetqueue.kube.resources import CONFIG_MAPS


async def reads(client: Client) -> None:
    assert_type(await client.get(LocalQueue, "main"), LocalQueue)
    assert_type(await client.get(CONFIG_MAPS, "a"), dict[str, Any])
    assert_type(await client.list(LocalQueue), ObjectList[LocalQueue])
    async for event in client.watch(LocalQueue):
        assert_type(event.object, LocalQueue)


async def writes(client: Client, queue: LocalQueue) -> None:
    assert_type(await client.create(queue, dry_run=True), LocalQueue)
    assert_type(await client.apply(queue, force=True, field_validation="Strict"), LocalQueue)
    assert_type(await client.patch(CONFIG_MAPS, "a", {}), dict[str, Any])
    await client.create(queue, dry_ran=True)  # type: ignore[call-overload]  # pyright: ignore
    await client.delete(LocalQueue, "a", propagation="Foreground")
    await client.delete(LocalQueue, "a", propagation="Later")  # type: ignore[arg-type]  # pyright: ignore


def caches(cluster: Cluster) -> None:
    assert_type(cluster.cached(LocalQueue, "main", "team"), LocalQueue | None)
    assert_type(cluster.cached_all(CONFIG_MAPS), list[dict[str, Any]])


class QueueController(Controller[LocalQueue]):
    async def reconcile(self, queue: LocalQueue) -> Result:
        assert_type(queue.key.name, str)
        return DONE
