"""Takes a worker off a manager: first what it runs for the manager is taken back, then the
connection is cut; the other way round, jobs would go on there and once more elsewhere.
"""

import asyncio
from collections.abc import Callable, Sequence

from fleetqueue.api.kueue import admission_status
from fleetqueue.api.kueue.labels import MULTIKUEUE_ORIGIN
from fleetqueue.api.meta import Key
from fleetqueue.errors import Unreachable, UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.local_fleet import joining
from fleetqueue.local_fleet.known_workers import known_worker
from fleetqueue.multikueue import kinds

TRIES = 150
POLL_SECONDS = 0.2
NAMED_MAX = 3

Open = Callable[[Access], Client]


async def leave(
    manager: Client, name: str, config: str, open_client: Open, *, is_forced: bool = False
) -> list[str]:
    """What was removed on the manager, what moves, and what it could not take back. `is_forced`:
    also where the worker is out of reach and may go on with what others start again.
    """
    cluster = await _find(manager, name)
    held = [] if cluster is None else await _held(manager, name)
    is_active = cluster is not None and admission_status.is_true(cluster, "Active")
    if held and not is_active and not is_forced:
        raise UserError(out_of_reach(name, held))
    is_unlisted = await joining.unlist_cluster(manager, config, name)
    told = []
    if cluster is not None and is_active and is_unlisted:
        told = await _take_back(manager, cluster, open_client)
    removed = await joining.leave(manager, name)
    if not held:
        return [*removed, *told]
    fate = "move elsewhere" if is_active and is_unlisted else "may still run there"
    return [*removed, f"jobs that {fate}: {len(held)}", *told]


def out_of_reach(name: str, held: Sequence[str]) -> str:
    more = len(held) - NAMED_MAX
    named = ", ".join(held[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    count = "1 Workload" if len(held) == 1 else f"{len(held)} Workloads"
    return (
        f'"{name}" is out of reach and has {count} ({named}), which may still run there while they'
        " start elsewhere: bring it back first, or leave anyhow with --force"
    )


async def _held(manager: Client, name: str) -> list[str]:
    """What the worker was given and nobody has seen the end of."""
    found = (await manager.list(kinds.WORKLOAD)).items
    return sorted(
        str(key_of(each))
        for each in found
        if (each.get("status") or {}).get("clusterName") == name
        and not admission_status.is_finished(each)
    )


async def _take_back(manager: Client, cluster: Object, open_client: Open) -> list[str]:
    access = (await known_worker(manager, cluster)).access
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


async def _find(manager: Client, name: str) -> Object | None:
    try:
        return await manager.get(kinds.CLUSTER, name)
    except NotFound:
        return None
