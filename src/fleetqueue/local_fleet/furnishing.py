"""What a new fleet finds in place: queues everywhere, a check that sends jobs to the workers."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from fleetqueue import kueue
from fleetqueue.api.quantity import Quantity
from fleetqueue.jobs import registry
from fleetqueue.jobs.settings import external_kind
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.local_fleet import joining, membership
from fleetqueue.local_fleet.directory import MANAGER, Member, Record
from fleetqueue.local_fleet.starting import capacity_of
from fleetqueue.multikueue import kinds

API = "kueue.x-k8s.io/v1beta2"
FLAVOR = "fleet-flavor"
CLUSTER_QUEUE = "fleet-queue"
"""Names that the guides which people follow on such fleets do not give to objects of theirs."""
LOCAL_QUEUES = ("user-queue", "multikueue-queue")
"""Both names are in use where people read about such fleets."""
CHECK = "multikueue"
CONFIG = "multikueue"

Amounts = Mapping[str, str]
Open = Callable[[str], Client]
"""A client for the cluster of that name."""


async def furnish(record: Record, open_client: Open, before: Record | None = None) -> None:
    """`before`: what was furnished already. From then on it is people's: what they changed or took
    away stays so, and only what the fleet has more or less of now is seen to.
    """
    async with AsyncExitStack() as stack:
        clients = {each.name: open_client(each.name) for each in record.members}
        for client in clients.values():
            stack.push_async_callback(client.close)
        await _Furnishing(record, before, clients).run()


class _Furnishing:
    """One time that it is done."""

    def __init__(
        self, record: Record, before: Record | None, clients: Mapping[str, Client]
    ) -> None:
        self._record, self._before, self._clients = record, before, clients
        self._manager = clients[MANAGER]
        self._known = {each.name for each in (before.workers if before is not None else ())}
        self._external = external_kinds(Path(record.config)) if record.config else []

    async def run(self) -> None:
        workers = self._record.workers
        *joined, _, _ = await asyncio.gather(
            *map(self._furnish, workers),
            self._furnish_manager(),
            asyncio.gather(*map(self._make_member, workers)),
        )
        for worker, is_new in zip(workers, joined, strict=True):
            if is_new:
                await joining.list_cluster(self._manager, CONFIG, worker.name)
        for name in sorted(self._known - {each.name for each in workers}):
            await joining.unlist_cluster(self._manager, CONFIG, name)
            await joining.leave(self._manager, name)
            await membership.leave(self._manager, name, has_agent=False)

    async def _furnish(self, worker: Member) -> bool:
        """Whether the manager did not have it."""
        client, is_known = self._clients[worker.name], worker.name in self._known
        had = capacity_of(self._before) if is_known and self._before is not None else None
        await _queue(client, capacity_of(self._record), had)
        if is_known and not await self._is_joined(worker.name):
            return False
        jobs = [kind.resource for kind in registry.all_kinds()]
        jobs += [await client.discovery.found(each) for each in self._external]
        return await joining.join(self._manager, client, worker.name, worker.url, jobs)

    async def _make_member(self, worker: Member) -> None:
        """The manager is the hub. One that people took out of the fleet stays outside."""
        is_known = worker.name in self._known and self._before is not None and self._before.is_hub
        if is_known and not await membership.is_member(self._manager, worker.name):
            return
        manager = next(each for each in self._record.members if each.is_manager)
        client = self._clients[worker.name]
        await membership.join(self._manager, client, worker.name, manager.url)

    async def _furnish_manager(self) -> None:
        if self._before is None:
            await _make(self._manager, dispatching(each.name for each in self._record.workers))
        had = None if self._before is None else _total(self._before)
        await _queue(self._manager, _total(self._record), had, checks=[CHECK])

    async def _is_joined(self, name: str) -> bool:
        try:
            await self._manager.get(kinds.CLUSTER, name)
        except NotFound:
            return False
        return True


async def _queue(
    client: Client, amounts: Amounts, before: Amounts | None, checks: Sequence[str] = ()
) -> None:
    if before is None:
        await _make(client, queues(amounts, checks))
    elif before != amounts:
        await _adapt(client, amounts, before)


async def _adapt(client: Client, amounts: Amounts, before: Amounts) -> None:
    """A quota that nobody else has set follows what there is."""
    try:
        found = await client.get(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE)
    except NotFound:
        return
    if _offered(found) == before:
        groups = _cluster_queue(amounts)["resourceGroups"]
        patch = {"spec": {"resourceGroups": groups}}
        await client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch, field_manager=joining.MANAGER)


def _offered(queue: Object) -> dict[str, str]:
    return {
        each["name"]: str(each["nominalQuota"])
        for group in queue["spec"].get("resourceGroups") or ()
        for flavor in group["flavors"]
        for each in flavor["resources"]
    }


def _total(record: Record) -> dict[str, str]:
    count = len(record.workers)
    return {name: str(Quantity.of(amount) * count) for name, amount in capacity_of(record).items()}


async def _make(client: Client, objects: Iterable[Object]) -> None:
    for obj in objects:
        await joining.ensure(client, obj)


def external_kinds(config: Path) -> list[Resource]:
    """Those that a configuration file has the manager send to workers, and nothing else knows."""
    read = kueue.read_options(config.read_text(), is_embedded=True).config
    return [external_kind(each.name) for each in read.multi_kueue.external_frameworks]


def queues(amounts: Amounts, checks: Sequence[str] = ()) -> list[Object]:
    """A flavor, a ClusterQueue that has all of it, and LocalQueues in the default namespace."""
    spec = _cluster_queue(amounts)
    if checks:
        listed = [{"name": name} for name in checks]
        spec["admissionChecksStrategy"] = {"admissionChecks": listed}
    return [
        {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}},
        {
            "apiVersion": API,
            "kind": "ClusterQueue",
            "metadata": {"name": CLUSTER_QUEUE},
            "spec": spec,
        },
        *(
            {
                "apiVersion": API,
                "kind": "LocalQueue",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"clusterQueue": CLUSTER_QUEUE},
            }
            for name in LOCAL_QUEUES
        ),
    ]


def _cluster_queue(amounts: Amounts) -> Object:
    resources = [{"name": name, "nominalQuota": amount} for name, amount in amounts.items()]
    flavors = [{"name": FLAVOR, "resources": resources}]
    return {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": list(amounts), "flavors": flavors}],
    }


def dispatching(workers: Iterable[str]) -> list[Object]:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": CONFIG}
    return [
        {
            "apiVersion": API,
            "kind": "MultiKueueConfig",
            "metadata": {"name": CONFIG},
            "spec": {"clusters": list(workers)},
        },
        {
            "apiVersion": API,
            "kind": "AdmissionCheck",
            "metadata": {"name": CHECK},
            "spec": {"controllerName": kinds.CONTROLLER, "parameters": parameters},
        },
    ]
