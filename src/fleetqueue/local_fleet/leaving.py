"""Takes a worker off a manager: first what it runs for the manager is taken back, then the
connection is cut; the other way round, jobs would go on there and once more elsewhere.
"""

import asyncio
import base64
from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api.kueue.labels import MULTIKUEUE_ORIGIN
from fleetqueue.api.meta import Key
from fleetqueue.errors import Unreachable
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import BadKubeconfig, NotFound
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.local_fleet import joining
from fleetqueue.multikueue import kinds, worker_access

TRIES = 150
POLL_SECONDS = 0.2

Open = Callable[[Access], Client]


async def leave(manager: Client, name: str, config: str, open_client: Open) -> list[str]:
    """What was removed on the manager, and what it could not take back from the worker."""
    is_unlisted = await joining.unlist_cluster(manager, config, name)
    told = await _take_back(manager, name, open_client) if is_unlisted else []
    return [*await joining.leave(manager, name), *told]


async def _take_back(manager: Client, name: str, open_client: Open) -> list[str]:
    access = await _access(manager, name)
    if access is None:
        return []
    worker = open_client(access)
    left: set[Key] = set()
    try:
        for _ in range(TRIES):
            left = await _left(manager, worker)
            if not left:
                break
            await asyncio.sleep(POLL_SECONDS)
    except Unreachable:
        return ["the worker does not answer: what it ran for the manager may go on there"]
    finally:
        await worker.close()
    return [f"still on the worker: Workload {each}" for each in sorted(map(str, left))]


async def _left(manager: Client, worker: Client) -> set[Key]:
    """Copies of the manager's own Workloads; another manager may have some there too."""
    there = (await worker.list(kinds.WORKLOAD, label_selector=MULTIKUEUE_ORIGIN)).items
    if not there:
        return set()
    here = (await manager.list(kinds.WORKLOAD)).items
    return set(map(key_of, there)) & set(map(key_of, here))


async def _access(manager: Client, name: str) -> Access | None:
    """To a worker that the manager reaches by a kubeconfig in a Secret."""
    try:
        cluster = await manager.get(kinds.CLUSTER, name)
        if not _is_active(cluster):
            return None
        source = cluster["spec"]["clusterSource"].get("kubeConfig") or {}
        if source.get("locationType") != "Secret":
            return None
        secret = await manager.get(kinds.SECRET, source["location"], worker_access.NAMESPACE)
        text = base64.b64decode((secret.get("data") or {}).get("kubeconfig") or "").decode()
        return kubeconfig.parse(text).access()
    except (NotFound, BadKubeconfig, ValueError):
        return None


def _is_active(cluster: Object) -> bool:
    status: Mapping[str, Any] = cluster.get("status") or {}
    conditions = status.get("conditions") or ()
    return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)
