"""A cluster with Kueue's kinds and our admission on it, workloads made by the test itself."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from fleetqueue import kueue
from fleetqueue.admission import kinds, parts
from fleetqueue.admission.settings import AdmissionSettings, read_settings
from fleetqueue.admission.webhooks import webhooks
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import gates
from fleetqueue.api.times import format_time
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import EVENTS, Object, Resource
from fleetqueue.testing import Fleet, FleetCluster

API = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "default"
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
"""


class Kueue:
    """One cluster. Every change waits until the fleet has settled."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client
        self.admission: parts.Admission | None = None
        self.restart: Any = None

    @classmethod
    async def start(
        cls,
        fleet: Fleet,
        settings: AdmissionSettings | None = None,
        wanted_gates: Mapping[str, bool] | None = None,
        *,
        config: str = "",
    ) -> "Kueue":
        """`config`: what a configuration file says beside its kind, instead of settings."""
        if config or (wanted_gates and settings is None):
            options = kueue.read_options(CONFIGURATION + config, wanted_gates)
            settings = read_settings(options.config, options.gates)
        cluster = await fleet.add_cluster("one")
        await cls.prepare(fleet, cluster, wanted_gates)
        made = cls(fleet, cluster)

        def install(manager: Manager) -> None:
            made.admission = parts.install(manager, settings or AdmissionSettings())

        made.restart = fleet.run_all(install, on=cluster)
        return made

    @classmethod
    async def prepare(
        cls, fleet: Fleet, cluster: FleetCluster, wanted_gates: Mapping[str, bool] | None = None
    ) -> None:
        """Gives a cluster Kueue's kinds."""
        for crd in _crds("kueue.x-k8s.io"):
            await cluster.client.create(crd)
        await fleet.settle()
        cls.hook(cluster, wanted_gates)

    @staticmethod
    def hook(cluster: FleetCluster, wanted_gates: Mapping[str, bool] | None = None) -> None:
        """The webhooks, which a server that was restarted has to be given again."""
        instance = cluster.instance
        for webhook in webhooks(gates.resolve(wanted_gates or {})):
            instance.core.hooks.add(DeclaredHook(webhook, instance.core, instance.gate))

    # Objects

    async def create(self, *objects: Object) -> None:
        for obj in objects:
            await self.client.create(obj)
        await self.fleet.settle()

    async def get(self, kind: Resource, name: str) -> Object:
        return dict(await self.client.get(kind, name, NAMESPACE if kind.namespaced else ""))

    async def patch(self, kind: Resource, name: str, patch: Object, subresource: str = "") -> None:
        namespace = NAMESPACE if kind.namespaced else ""
        await self.client.patch(kind, name, patch, namespace, subresource=subresource)
        await self.fleet.settle()

    async def delete(self, kind: Resource, name: str) -> None:
        await self.client.delete(kind, name, NAMESPACE if kind.namespaced else "")
        await self.fleet.settle()

    async def workload(self, name: str) -> Object:
        return await self.get(kinds.WORKLOAD, name)

    async def queue(self, name: str = "queue") -> Object:
        """With its counters as they are now: they follow within a second."""
        await self.fleet.passes(seconds=1.1)
        await self.fleet.settle()
        return await self.get(kinds.CLUSTER_QUEUE, name)

    # What a job's controller would do

    async def write(self, workload: Object) -> None:
        body = status_of.admission_patch(workload, is_strict=False)
        await self.client.apply(
            body, force=True, subresource="status", field_manager=status_of.MANAGER
        )
        await self.fleet.settle()

    async def finish(self, name: str) -> None:
        found = await self.workload(name)
        await self.write(status_of.finish(found, "Succeeded", "done", self.fleet.clock.now()))

    async def stop_evicted(self) -> list[str]:
        """All jobs whose workloads are evicted stop; their names."""
        found = (await self.client.list(kinds.WORKLOAD, NAMESPACE)).items
        evicted = sorted(
            str(each["metadata"]["name"])
            for each in found
            if status_of.is_evicted(each) and status_of.has_quota(each)
        )
        for name in evicted:
            await self.release(name)
        return evicted

    async def ready(self, name: str, *, is_ready: bool = True, reason: str = "Started") -> None:
        """Its pods are, or are not, up."""
        condition = {
            "type": "PodsReady",
            "status": str(is_ready),
            "reason": reason,
            "message": "as the job says",
            "lastTransitionTime": format_time(self.fleet.clock.now()),
        }
        body = {
            "apiVersion": API,
            "kind": "Workload",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "status": {"conditions": [condition]},
        }
        await self.client.apply(body, force=True, subresource="status", field_manager="pods-ready")
        await self.fleet.settle()

    async def check(self, name: str, check: str, state: str, **more: Any) -> None:
        """The controller of an admission check says something of a workload."""
        said = {
            "name": check,
            "state": state,
            "message": more.pop("message", ""),
            "lastTransitionTime": format_time(self.fleet.clock.now()),
            **more,
        }
        before = (await self.workload(name)).get("status", {}).get("admissionChecks") or []
        others = [each for each in before if each["name"] != check]
        patch = {"status": {"admissionChecks": [*others, said]}}
        await self.patch(kinds.WORKLOAD, name, patch, "status")

    async def activate(self, check: str) -> None:
        """The controller of an admission check takes it up."""
        condition = {
            "type": "Active",
            "status": "True",
            "reason": "Active",
            "message": "ready",
            "lastTransitionTime": format_time(self.fleet.clock.now()),
        }
        patch = {"status": {"conditions": [condition]}}
        await self.patch(kinds.ADMISSION_CHECK, check, patch, "status")

    async def release(self, name: str) -> None:
        """The job has stopped: an evicted workload gives its quota back."""
        found = await self.workload(name)
        await self.write(status_of.release_evicted(found, self.fleet.clock.now()))

    # What people see

    async def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        found = await self.workload(name)
        return conditions_of(found)

    async def is_admitted(self, name: str) -> bool:
        return status_of.is_admitted(await self.workload(name))

    async def admitted(self) -> list[str]:
        found = (await self.client.list(kinds.WORKLOAD, NAMESPACE)).items
        return sorted(
            each["metadata"]["name"]
            for each in found
            if status_of.is_admitted(each) and not status_of.is_finished(each)
        )

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about a workload, oldest first."""
        found = (await self.client.list(EVENTS, NAMESPACE)).items
        about = [each for each in found if each["involvedObject"]["name"] == name]
        return [(each["type"], each["reason"], each["message"]) for each in about]


def conditions_of(obj: Object) -> dict[str, tuple[str, str, str]]:
    found = (obj.get("status") or {}).get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


@cache
def _crds(*groups: str) -> list[Object]:
    """Built once, for they are large."""
    return [crd for crd in all_crds() if crd["spec"]["group"] in groups]


# Builders


def flavor(name: str = "default", **spec: Any) -> Object:
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str = "queue",
    quota: str | Mapping[str, Any] = "4",
    *,
    limits: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """`quota` is cpu of the flavor "default", or resources by flavor; `limits` go to each."""
    flavors = {"default": {"cpu": quota}} if isinstance(quota, str) else quota
    resources = list(next(iter(flavors.values())))
    group = {
        "coveredResources": resources,
        "flavors": [
            {
                "name": each,
                "resources": [
                    {"name": resource, "nominalQuota": amounts[resource], **(limits or {})}
                    for resource in resources
                ],
            }
            for each, amounts in flavors.items()
        ],
    }
    body = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body}


def local_queue(name: str = "main", queue: str = "queue", **spec: Any) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {"clusterQueue": queue, **spec}
    return {"apiVersion": API, "kind": "LocalQueue", "metadata": metadata, "spec": body}


def cohort(name: str, quota: str = "", parent: str = "", **spec: Any) -> Object:
    body = {**spec}
    if parent:
        body["parentName"] = parent
    if quota:
        queue = cluster_queue(name, quota)
        body["resourceGroups"] = queue["spec"]["resourceGroups"]
    return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": body}


def admission_check(name: str, controller: str) -> Object:
    return {
        "apiVersion": API,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller},
    }


def priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": API,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def pod_set(
    name: str = "main", count: int = 1, pod: Mapping[str, Any] | None = None, **requests: Any
) -> Object:
    resources = {"requests": requests} if requests else {}
    container = {"name": "main", "image": "busybox", "resources": resources}
    spec = {"restartPolicy": "Never", "containers": [container], **(pod or {})}
    return {"name": name, "count": count, "template": {"metadata": {}, "spec": spec}}


def workload(
    name: str, cpu: str = "1", queue: str = "main", *, sets: Any = None, **spec: Any
) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {"queueName": queue, "podSets": sets or [pod_set(cpu=cpu)], **spec}
    return {"apiVersion": API, "kind": "Workload", "metadata": metadata, "spec": body}
