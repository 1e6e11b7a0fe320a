"""A cluster with a queue before its jobs; the test itself plays the scheduler."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tests.support import apps

from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.jobs import controller, registry
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.webhook import webhooks
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.testing import Fleet, FleetCluster, named

KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
NEEDED = (
    "Workload",
    "LocalQueue",
    "ClusterQueue",
    "ResourceFlavor",
    "AdmissionCheck",
    "WorkloadPriorityClass",
)
EVERYTHING = JobSettings(frameworks=frozenset(kind.framework for kind in registry.all_kinds()))


class Queued:
    """One cluster; jobs live in its default namespace."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client

    async def create(self, obj: Object) -> Object:
        made = dict(await self.client.create(obj))
        await self.fleet.settle()
        return made

    async def patch(self, kind: Resource, name: str, patch: Object, subresource: str = "") -> None:
        await self.client.patch(kind, name, patch, "default", subresource=subresource)
        await self.fleet.settle()

    async def read(self, kind: Resource, name: str) -> Object:
        return dict(await self.client.get(kind, name, "default"))

    async def delete(self, kind: Resource, name: str, **options: Any) -> None:
        await self.client.delete(kind, name, "default", **options)
        await self.fleet.settle()

    async def workloads(self) -> list[Object]:
        found = (await self.client.list(WORKLOAD, "default")).items
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    async def workload(self) -> Object:
        [found] = await self.workloads()
        return found

    # The scheduler's part

    async def write(self, workload: Object) -> None:
        """What the scheduler or the workload controller would write of its status."""
        body = status_of.admission_patch(workload, is_strict=False)
        await self.client.apply(
            body, force=True, field_manager=status_of.MANAGER, subresource="status"
        )
        await self.fleet.settle()

    async def admit(
        self,
        workload: Object | None = None,
        *,
        flavors: Mapping[str, str] | None = None,
        counts: Mapping[str, int] | None = None,
        checks: Iterable[str] = (),
    ) -> None:
        found = await self.workload() if workload is None else workload
        assigned = admission(found, flavors or {"cpu": "default"}, counts or {})
        now = self.fleet.clock.now()
        await self.write(status_of.reserve(found, assigned, now, checks=checks))

    async def evict(self, reason: str, message: str, **more: Any) -> None:
        found = await self.workload()
        await self.write(status_of.evict(found, reason, message, self.fleet.clock.now(), **more))

    # The kubelet's part

    async def pods(self) -> list[Object]:
        return await apps.pods(self.client)

    async def move(self, phase: str, only: int | None = None) -> None:
        """All pods that have not ended, or some of them, go into a phase."""
        going = [
            pod
            for pod in await self.pods()
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        ]
        for pod in going[:only]:
            at, ready = self.fleet.clock.now(), phase == "Running"
            await apps.move(self.client, pod, phase, ready=ready, at=at)
        await self.fleet.settle()

    async def end_deleted(self) -> None:
        """Pods that are being deleted are gone."""
        for pod in await self.pods():
            if pod["metadata"].get("deletionTimestamp"):
                await apps.remove(self.client, pod)
        await self.fleet.settle()

    # What people see

    async def events(self, about: str = "Job") -> list[tuple[str, str]]:
        await self.fleet.passes(seconds=1)
        return [
            (reason, message)
            for reason, message in await apps.events(self.client, about)
            if reason not in ("SuccessfulCreate", "SuccessfulDelete", "Resumed", "Completed")
            and message != "Job suspended"
        ]


def admission(workload: Object, flavors: Mapping[str, str], counts: Mapping[str, int]) -> Object:
    return {
        "clusterQueue": "cq",
        "podSetAssignments": [
            {
                "name": each["name"],
                "flavors": dict(flavors),
                "resourceUsage": dict.fromkeys(flavors, "0"),
                "count": counts.get(each["name"], each["count"]),
            }
            for each in workload["spec"]["podSets"]
        ],
    }


async def start(
    fleet: Fleet,
    settings: JobSettings | None = None,
    *,
    groups: Iterable[str] = (),
    operators: Iterable[Operator] = (),
    others: Iterable[Webhook] = (),
    name: str = "one",
) -> Queued:
    """`groups`: API groups whose CRDs are there; kinds without one are not looked after."""
    cluster = await fleet.add_cluster(name)
    wanted = ("kueue.x-k8s.io", *groups)
    for group in wanted:
        for crd in definitions(group):
            await cluster.client.create(crd)
    await fleet.settle()
    settings = settings or EVERYTHING
    served = ("batch", *wanted)
    kinds = [kind for kind in registry.enabled_kinds(settings) if kind.resource.group in served]
    core = cluster.instance.core
    for webhook in (*others, *webhooks(kinds, settings)):
        core.hooks.add(DeclaredHook(webhook, core, cluster.instance.gate))
    for operator in (*operators, *controller.operators(kinds, settings)):
        fleet.run(controller_of(operator), on=cluster)
    queued = Queued(fleet, cluster)
    await queued.create(flavor("default"))
    await queued.create(named("ClusterQueue", KUEUE, "cq", spec={"namespaceSelector": {}}))
    await queued.create(local_queue("lq"))
    return queued


@cache
def definitions(group: str) -> list[Object]:
    found = all_crds(group)
    if group != "kueue.x-k8s.io":
        return found
    return [crd for crd in found if crd["spec"]["names"]["kind"] in NEEDED]


def flavor(name: str, **spec: Any) -> Object:
    return named("ResourceFlavor", KUEUE, name, spec=spec)


def local_queue(name: str, cluster_queue: str = "cq") -> Object:
    return named("LocalQueue", KUEUE, name, "default", spec={"clusterQueue": cluster_queue})


def conditions(obj: Object) -> dict[str, tuple[str, str]]:
    found = (obj.get("status") or {}).get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def message(obj: Object, type: str) -> str:
    found = status_of.find_condition(obj, type)
    return "" if found is None else str(found["message"])


__all__ = [
    "JOB",
    "KUEUE",
    "POD",
    "QUEUE",
    "WORKLOAD",
    "JobSettings",
    "Queued",
    "conditions",
    "flavor",
    "local_queue",
    "named",
    "start",
]
