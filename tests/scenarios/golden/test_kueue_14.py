"""What is created in one version of the API is read in both."""

from typing import Any

import pytest
from tests.support import whole
from tests.support.kueue import flavor, pod_set
from tests.support.recorder import facts

from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import Fleet, named

pytestmark = [pytest.mark.rule("kueue 1.7"), pytest.mark.rule("kueue 13.7")]

GROUP = "kueue.x-k8s.io"
OLD, NEW = f"{GROUP}/v1beta1", f"{GROUP}/v1beta2"
CPU = {"name": "cpu", "nominalQuota": "4"}
POD_SET = {"name": "main", "count": 1, "template": {"spec": pod_set(cpu="1")["template"]["spec"]}}


def groups(**limits: str) -> list[Object]:
    flavors = [{"name": "default", "resources": [{**CPU, **limits}]}]
    return [{"coveredResources": ["cpu"], "flavors": flavors}]


CREATED_OLD = [
    named(
        "ClusterQueue",
        OLD,
        "b14-cq",
        spec={
            "admissionChecks": ["b14-ac"],
            "cohort": "b14-cohort",
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"},
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "queueingStrategy": "StrictFIFO",
            "resourceGroups": groups(borrowingLimit="1"),
        },
    ),
    named("LocalQueue", OLD, "lq", "b14", spec={"clusterQueue": "b14-cq"}),
    named(
        "AdmissionCheck",
        OLD,
        "b14-ac",
        spec={"controllerName": "example.com/b14", "retryDelayMinutes": 7},
    ),
    named(
        "Workload",
        OLD,
        "wl",
        "b14",
        spec={
            "podSets": [POD_SET],
            "priority": 5,
            "priorityClassName": "b14-prio",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            "queueName": "lq",
        },
    ),
    named(
        "MultiKueueCluster",
        OLD,
        "b14-mkc",
        spec={"kubeConfig": {"location": "b14", "locationType": "Secret"}},
    ),
    named("Cohort", OLD, "b14-cohort", spec={"parentName": "b14-root"}),
    named("WorkloadPriorityClass", OLD, "b14-prio", value=5, description="five"),
    named(
        "ProvisioningRequestConfig",
        OLD,
        "b14-prc",
        spec={"managedResources": ["cpu"], "provisioningClassName": "c"},
    ),
    named("Topology", OLD, "b14-topo", spec={"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}),
]
CREATED_NEW = [
    named(
        "ClusterQueue",
        NEW,
        "b14-cq2",
        spec={
            "admissionChecksStrategy": {
                "admissionChecks": [{"name": "b14-ac", "onFlavors": ["default"]}]
            },
            "cohortName": "b14-cohort",
            "flavorFungibility": {
                "whenCanBorrow": "MayStopSearch",
                "whenCanPreempt": "TryNextFlavor",
            },
            "namespaceSelector": {},
            "resourceGroups": groups(),
        },
    ),
    named(
        "MultiKueueCluster",
        NEW,
        "b14-mkc2",
        spec={"clusterSource": {"kubeConfig": {"location": "b14", "locationType": "Secret"}}},
    ),
    named(
        "Workload",
        NEW,
        "wl2",
        "b14",
        spec={
            "podSets": [POD_SET],
            "priority": 5,
            "priorityClassRef": {
                "group": GROUP,
                "kind": "WorkloadPriorityClass",
                "name": "b14-prio",
            },
            "queueName": "lq",
        },
    ),
]

# What is read: facts that both versions share, and those of each

INACTIVE = (
    "False AdmissionCheckInactive @1: Can't admit new workloads: "
    "references inactive AdmissionCheck(s): b14-ac."
)
IN_USE = {"finalizers": ["kueue.x-k8s.io/resource-in-use"], "generation": 1}


def queue(waiting: int, within: str, strategy: str, **limits: str) -> Object:
    usage = {
        f"{kind}[default][cpu].{part}": "0"
        for kind in ("flavorsReservation", "flavorsUsage")
        for part in ("borrowed", "total")
    }
    return {
        **IN_USE,
        "spec.flavorFungibility.whenCanBorrow": "MayStopSearch",
        "spec.flavorFungibility.whenCanPreempt": "TryNextFlavor",
        "spec.namespaceSelector": {},
        "spec.preemption.borrowWithinCohort.policy": "Never",
        "spec.preemption.reclaimWithinCohort": "Never",
        "spec.preemption.withinClusterQueue": within,
        "spec.queueingStrategy": strategy,
        "spec.resourceGroups": groups(**limits),
        "spec.stopPolicy": "None",
        "Active": INACTIVE,
        "pendingWorkloads": waiting,
        "reservingWorkloads": 0,
        "admittedWorkloads": 0,
        **usage,
    }


CHECK = "spec.admissionChecksStrategy.admissionChecks[b14-ac]"
CONTAINER = "spec.podSets[main].template.spec.containers[main]"
WORKLOAD = {
    "generation": 1,
    "spec.active": True,
    "spec.podSets[main].count": 1,
    f"{CONTAINER}.image": "busybox",
    f"{CONTAINER}.resources.requests.cpu": "1",
    "spec.podSets[main].template.spec.restartPolicy": "Never",
    "spec.priority": 5,
    "spec.queueName": "lq",
    "QuotaReserved": "False Suspended @1: ClusterQueue b14-cq is inactive",
    "Admitted": "False NoReservation @1: The workload has no reservation",
    "admissionChecks[b14-ac].lastTransitionTime": "<t>",
    "admissionChecks[b14-ac].message": "",
    "admissionChecks[b14-ac].state": "Pending",
}
CLASS_OLD = {
    "spec.priorityClassName": "b14-prio",
    "spec.priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
}
CLASS_NEW = {
    "spec.priorityClassRef.group": GROUP,
    "spec.priorityClassRef.kind": "WorkloadPriorityClass",
    "spec.priorityClassRef.name": "b14-prio",
}
LOCAL = {
    "generation": 1,
    "spec.clusterQueue": "b14-cq",
    "spec.stopPolicy": "None",
    "Active": "False ClusterQueueIsInactive @1: Can't submit new workloads to clusterQueue",
    "pendingWorkloads": 1,
    "reservingWorkloads": 0,
    "admittedWorkloads": 0,
    "flavorsReservation[default][cpu].total": "0",
}
PLACE = {"location": "b14", "locationType": "Secret"}
PLACE_OLD = {f"spec.kubeConfig.{key}": value for key, value in PLACE.items()}
PLACE_NEW = {f"spec.clusterSource.kubeConfig.{key}": value for key, value in PLACE.items()}
EMPTY_METADATA = {"spec.podSets[main].template.metadata": {}}
READ: list[tuple[str, str, Object, Object, Object]] = [
    (
        "ClusterQueue",
        "b14-cq",
        {**queue(1, "LowerPriority", "StrictFIFO", borrowingLimit="1"), CHECK: {}},
        {"spec.cohort": "b14-cohort"},
        {"spec.cohortName": "b14-cohort"},
    ),
    (
        "LocalQueue",
        "lq",
        LOCAL,
        {"flavorUsage[default][cpu].total": "0"},
        {"flavorsUsage[default][cpu].total": "0"},
    ),
    ("AdmissionCheck", "b14-ac", {**IN_USE, "spec.controllerName": "example.com/b14"}, {}, {}),
    ("Workload", "wl", {**WORKLOAD, **EMPTY_METADATA}, CLASS_OLD, CLASS_NEW),
    ("MultiKueueCluster", "b14-mkc", {"generation": 1}, PLACE_OLD, PLACE_NEW),
    ("Cohort", "b14-cohort", {"generation": 1, "spec.parentName": "b14-root"}, {}, {}),
    (
        "WorkloadPriorityClass",
        "b14-prio",
        {"generation": 1, "value": 5, "description": "five"},
        {},
        {},
    ),
    (
        "ProvisioningRequestConfig",
        "b14-prc",
        {
            "generation": 1,
            "spec.managedResources": ["cpu"],
            "spec.provisioningClassName": "c",
            "spec.retryStrategy.backoffBaseSeconds": 60,
            "spec.retryStrategy.backoffLimitCount": 3,
            "spec.retryStrategy.backoffMaxSeconds": 1800,
        },
        {},
        {},
    ),
    (
        "Topology",
        "b14-topo",
        {**IN_USE, "spec.levels": [{"nodeLabel": "kubernetes.io/hostname"}]},
        {},
        {},
    ),
    (
        "ClusterQueue",
        "b14-cq2",
        {**queue(0, "Never", "BestEffortFIFO"), f"{CHECK}.onFlavors": ["default"]},
        {"spec.cohort": "b14-cohort"},
        {"spec.cohortName": "b14-cohort"},
    ),
    ("MultiKueueCluster", "b14-mkc2", {"generation": 1}, PLACE_OLD, PLACE_NEW),
    ("Workload", "wl2", WORKLOAD, {**CLASS_OLD, **EMPTY_METADATA}, CLASS_NEW),
]
PLURALS = {"Topology": "topologies", "WorkloadPriorityClass": "workloadpriorityclasses"}
IN_NAMESPACES = ("LocalQueue", "Workload")


async def test_objects_are_read_in_both_versions(fleet: Fleet) -> None:
    here = await whole.start(fleet, "b14")
    await here.create(flavor(), *CREATED_OLD)
    await here.passes(seconds=1.1)
    await read(here, READ[:9])
    await here.create(*CREATED_NEW)
    await read(here, READ[9:])


async def read(here: whole.Whole, expected: list[tuple[str, str, Object, Object, Object]]) -> None:
    for kind, name, both, old, new in expected:
        for version, own in (("v1beta1", old), ("v1beta2", new)):
            found = await here.get(resource(kind, version), name)
            assert found["apiVersion"] == f"{GROUP}/{version}"
            assert without_connection(found) == {**both, **own}, (kind, name, version)


def resource(kind: str, version: str) -> Resource:
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    return Resource(GROUP, version, plural, kind, namespaced=kind in IN_NAMESPACES)


def without_connection(obj: Object) -> dict[str, Any]:
    """Whether a worker can be reached is not what this is about."""
    found = facts(obj)
    if obj["kind"] == "MultiKueueCluster":
        found.pop("Active", None)
    return found
