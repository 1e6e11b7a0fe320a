"""Typical mistakes, and the exact refusal that each one gets."""

from typing import Any

import pytest
from tests.support import golden, whole
from tests.support.kueue import API, cluster_queue, flavor, local_queue, pod_set, priority_class

from fleetqueue.admission import kinds
from fleetqueue.kube.errors import Refused
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet, named
from fleetqueue.testing import pod as a_pod

pytestmark = [pytest.mark.rule("kueue 1.0"), pytest.mark.rule("kueue 13.7")]

DENIED = 'admission webhook "{}.kb.io" denied the request: '
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
FIRST = "spec.resourceGroups[0].flavors[0].resources[0]"
MIN = "kueue.x-k8s.io/job-min-parallelism"
LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
TOTAL, GROUP = "kueue.x-k8s.io/pod-group-total-count", "kueue.x-k8s.io/pod-group-name"
CLASS = "kueue.x-k8s.io/priority-class"
BOTH = f"Required value: both the '{TOTAL}' annotation and the '{GROUP}' label should be set"
LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def queue(**more: Any) -> Object:
    return cluster_queue("m11-x", **more)


def groups(*each: list[str]) -> Object:
    """The flavor "default" with cpu alone, whatever a group says it covers."""
    amounts = [{"name": "cpu", "nominalQuota": "4"}]
    flavors = [{"name": "default", "resources": amounts}]
    return queue(resourceGroups=[{"coveredResources": one, "flavors": flavors} for one in each])


def job(name: str, queue: str = "user-queue", **more: Any) -> Object:
    return golden.job(name, queue, "1", "m11", **more)


def grouped(labels: Object, annotations: Object) -> Object:
    mine = {golden.QUEUE_NAME: "user-queue", **labels}
    return a_pod("bad-group", namespace="m11", labels=mine, annotations=annotations)


def workload(name: str, *sets: Object) -> Object:
    return named("Workload", API, name, "m11", spec={"podSets": sets, "queueName": "user-queue"})


def check(**spec: Any) -> Object:
    return named("AdmissionCheck", API, "m11-ac", spec=spec)


def of(kind: str, name: str, text: str) -> tuple[int, str]:
    """Refused by a schema or its rules."""
    return 422, f'{kind}.kueue.x-k8s.io "{name}" is invalid: {text}'


def by(webhook: str, text: str) -> tuple[int, str]:
    return 403, DENIED.format(webhook) + text


CREATED: list[tuple[Object, tuple[int, str]]] = [
    (
        groups(["cpu", "memory"]),
        of(
            "ClusterQueue",
            "m11-x",
            'spec.resourceGroups[0]: Invalid value: "object": flavors must have the same number of '
            "resources as the coveredResources",
        ),
    ),
    (
        queue(quota="-1"),
        by(
            "vclusterqueue",
            f'{FIRST}.nominalQuota: Invalid value: "-1": must be greater than or equal to 0',
        ),
    ),
    (
        groups(["cpu"], ["cpu"]),
        by(
            "vclusterqueue",
            '[spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu", '
            'spec.resourceGroups[1].flavors[0].name: Duplicate value: "default"]',
        ),
    ),
    (
        queue(limits={"borrowingLimit": "1"}),
        of(
            "ClusterQueue",
            "m11-x",
            'spec: Invalid value: "object": borrowingLimit must be nil when cohort is empty',
        ),
    ),
    (
        queue(limits={"lendingLimit": "5"}, cohortName="c"),
        by(
            "vclusterqueue",
            f'{FIRST}.lendingLimit: Invalid value: "5": must be less than or equal to the '
            "nominalQuota",
        ),
    ),
    (
        queue(
            preemption={
                "reclaimWithinCohort": "Never",
                "borrowWithinCohort": {"policy": "LowerPriority"},
            }
        ),
        of(
            "ClusterQueue",
            "m11-x",
            'spec.preemption: Invalid value: "object": '
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
        ),
    ),
    (
        queue(queueingStrategy="Lifo"),
        of(
            "ClusterQueue",
            "m11-x",
            '[spec.queueingStrategy: Unsupported value: "Lifo": '
            f'supported values: "StrictFIFO", "BestEffortFIFO", {UNCHECKED}]',
        ),
    ),
    (
        flavor("m11-f", nodeTaints=[{"key": "a", "value": "b", "effect": "Sometimes"}]),
        of(
            "ResourceFlavor",
            "m11-f",
            'spec.nodeTaints: Invalid value: "array": '
            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
        ),
    ),
    (
        flavor("m11-f", topologyName="t"),
        of(
            "ResourceFlavor",
            "m11-f",
            'spec: Invalid value: "object": no such key: nodeLabels evaluating rule: '
            "at least one nodeLabel is required when topology is set",
        ),
    ),
    (
        job("bad-queue", "Bad_Queue!"),
        (
            422,
            'Job.batch "bad-queue" is invalid: metadata.labels: Invalid value: "Bad_Queue!": '
            + LABEL,
        ),
    ),
    (
        job("bad-minpar", pods=2, annotations={MIN: "3"}),
        by("vjob", f"metadata.annotations[{MIN}]: Invalid value: 3: should be between 0 and 1"),
    ),
    (
        job("bad-minpar2", pods=2, annotations={MIN: "x"}),
        by(
            "vjob",
            f'metadata.annotations[{MIN}]: Invalid value: "x": strconv.Atoi: parsing "x": '
            "invalid syntax",
        ),
    ),
    (
        job("bad-maxexec", labels={LIMIT: "0"}),
        by("vjob", f"metadata.labels[{LIMIT}]: Invalid value: 0: should be greater than 0"),
    ),
    (grouped({GROUP: "g"}, {}), by("vpod", f"metadata.annotations[{TOTAL}]: {BOTH}")),
    (grouped({}, {TOTAL: "2"}), by("vpod", f"metadata.labels[{GROUP}]: {BOTH}")),
    (
        grouped({GROUP: "g"}, {TOTAL: "zero"}),
        by(
            "vpod",
            f'metadata.annotations[{TOTAL}]: Invalid value: "zero": strconv.Atoi: parsing "zero": '
            "invalid syntax",
        ),
    ),
    (
        workload("w19", *(pod_set(f"p{number}", cpu="1") for number in range(19))),
        of(
            "Workload",
            "w19",
            f"[spec.podSets: Too many: 19: must have at most 18 items, {UNCHECKED}]",
        ),
    ),
    (
        workload("w", pod_set(cpu="1"), pod_set(cpu="1")),
        of("Workload", "w", 'spec.podSets[1]: Duplicate value: {"name":"main"}'),
    ),
    (
        workload("w", {**pod_set(cpu="1"), "minCount": 2}),
        of(
            "Workload",
            "w",
            'spec.podSets[0]: Invalid value: "object": '
            "minCount should be positive and less or equal to count",
        ),
    ),
    (
        workload("w", pod_set(count=-1, cpu="1")),
        of(
            "Workload",
            "w",
            "spec.podSets[0].count: Invalid value: -1: "
            "spec.podSets[0].count in body should be greater than or equal to 0",
        ),
    ),
    (
        {**priority_class("m11-p", 1), "value": "x"},
        of(
            "WorkloadPriorityClass",
            "m11-p",
            'value: Invalid value: "string": value in body must be of type integer: "string"',
        ),
    ),
    (
        check(controllerName=""),
        of(
            "AdmissionCheck",
            "m11-ac",
            'spec.controllerName: Invalid value: "": '
            "spec.controllerName in body should be at least 1 chars long",
        ),
    ),
    (
        check(controllerName="x", parameters={"apiGroup": "Bad_Group", "kind": "k", "name": "n"}),
        of(
            "AdmissionCheck",
            "m11-ac",
            'spec.parameters.apiGroup: Invalid value: "Bad_Group": '
            f"spec.parameters.apiGroup in body should match '{SUBDOMAIN}'",
        ),
    ),
]
OTHER = (
    '{"clusterQueue":"other","podSetAssignments":[{"name":"main","flavors":{"cpu":"default"},'
    '"resourceUsage":{"cpu":"1"},"count":1}]}'
)
TWICE = (
    '{"name":"main","template":{"metadata":{},"spec":{"containers":[{"name":"main","image":'
    '"busybox","resources":{"requests":{"cpu":"1"}}}],"restartPolicy":"Never"}},"count":2}'
)
PATCHED: list[tuple[Resource, str, Object, tuple[int, str]]] = [
    (
        kinds.LOCAL_QUEUE,
        "user-queue",
        {"spec": {"clusterQueue": "other"}},
        of(
            "LocalQueue",
            "user-queue",
            'spec.clusterQueue: Invalid value: "string": field is immutable',
        ),
    ),
    (
        kinds.WORKLOAD,
        "w",
        {"spec": {"queueName": "other"}},
        of(
            "Workload",
            "w",
            '<nil>: Invalid value: "object": queueName is immutable while workload quota reserved',
        ),
    ),
    (
        kinds.WORKLOAD,
        "w",
        {"spec": {"podSets": [pod_set(count=2, cpu="1")]}},
        by("vworkload", f"spec.podSets.0: Invalid value: {TWICE}: field is immutable"),
    ),
    (
        kinds.WORKLOAD,
        "w",
        {"status": {"clusterName": "worker1"}},
        by(
            "vworkload",
            'status.clusterName: Invalid value: "worker1": '
            "when setting clusterName it must be one of the nominatedClusterNames",
        ),
    ),
    (
        kinds.WORKLOAD,
        "w",
        {"status": {"admission": {"clusterQueue": "other"}}},
        by(
            "vworkload",
            f"status.admission: Invalid value: {OTHER}: field is immutable",
        ),
    ),
    (
        JOB,
        "running",
        {"metadata": {"labels": {golden.QUEUE_NAME: "other"}}},
        by(
            "vjob",
            f'metadata.labels[{golden.QUEUE_NAME}]: Invalid value: "other": field is immutable',
        ),
    ),
    (
        JOB,
        "running",
        {"metadata": {"labels": {CLASS: "high"}}},
        by(
            "vjob",
            f'metadata.labels[{CLASS}]: Invalid value: "high": '
            "WorkloadPriorityClass cannot be added to a non-suspended workload",
        ),
    ),
]


async def test_mistakes_are_refused_with_their_reason(fleet: Fleet) -> None:
    here = await whole.start(fleet, "m11", frameworks=("batch/job", "pod"))
    await here.create(flavor(), cluster_queue("m11-cq"), local_queue("user-queue", "m11-cq"))
    for obj, refusal in CREATED:
        with pytest.raises(Refused) as refused:
            await here.client.create(obj)
        assert said(refused.value) == refusal

    # These are no mistakes, or none that is refused.
    await here.create(
        job("bad-prio", labels={CLASS: "no-such-class"}),
        workload(
            "w", {**pod_set(cpu="1"), "template": {"spec": pod_set(cpu="1")["template"]["spec"]}}
        ),
        priority_class("m11-q", 1),
        priority_class("high", 9),
        named("Cohort", API, "m11-c", spec={"parentName": "m11-c"}),
        job("running"),
    )
    await here.patch(kinds.WORKLOAD_PRIORITY_CLASS, "m11-q", {"value": 2})

    for kind, name, patch, refusal in PATCHED:
        with pytest.raises(Refused) as refused:
            await here.patch(kind, name, patch, "status" if "status" in patch else "")
        assert said(refused.value) == refusal


def said(refused: Refused) -> tuple[int, str]:
    return refused.code, str(refused)
