"""The copy of a Workload on a worker, and what becomes of it when the two differ."""

from typing import Any

import pytest
from tests.support.dispatched import SETTINGS_OF_MANAGER as SETTINGS
from tests.support.dispatched import with_gates
from tests.support.job_looks import NOW

from fleetqueue.base import paths
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import copies
from fleetqueue.multikueue.copies import Different, Same, Update

K = "kueue.x-k8s.io"
GATE = {"name": f"{K}/multikueue"}
ORCHESTRATED = with_gates(orchestrated_preemption=True)
OWN = {"group": K, "kind": "WorkloadPriorityClass", "name": "high"}
OF_PODS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}


def workload(**spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {}, "spec": {"containers": [container]}}
    pod_sets = [{"name": "main", "count": 3, "template": template}]
    return {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-sample-1a2b3",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "12",
            "generation": 2,
            "labels": {f"{K}/job-uid": "j", "team": "a"},
            "annotations": {"note": "n"},
            "ownerReferences": [{"kind": "Job"}],
            "finalizers": [f"{K}/resource-in-use"],
            "managedFields": [{}],
        },
        "spec": {"podSets": pod_sets, "priority": 0, "queueName": "lq", "active": True, **spec},
        "status": {"admission": {}},
    }


def elastic(made: Object) -> Object:
    return dict(paths.with_value(made, ("metadata", "annotations", f"{K}/elastic-job"), "true"))


def changed(made: Object, path: str, value: Any) -> Object:
    return dict(paths.with_value(made, path, value))


CONTAINER = "spec.podSets[0].template.spec.containers[0]"
COUNT = "spec.podSets[0].count"


@pytest.mark.rule("FLOW-21")
def test_a_copy_has_name_labels_annotations_and_spec_and_nothing_else() -> None:
    local = workload(preemptionGates=[{"name": "of-the-manager"}])
    assert copies.make(local, SETTINGS) == {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-sample-1a2b3",
            "namespace": "ns",
            "labels": {"team": "a", f"{K}/multikueue-origin": "multikueue"},
            "annotations": {"note": "n"},
        },
        "spec": local["spec"],
    }


@pytest.mark.rule("FLOW-21")
@pytest.mark.rule("OP-1")
@pytest.mark.rule("OP-7")
@pytest.mark.rule("LWS-4")
def test_gates_of_the_manager_stay_there_where_preemption_is_orchestrated() -> None:
    local = workload(preemptionGates=[{"name": "of-the-manager"}])
    assert copies.make(local, ORCHESTRATED)["spec"]["preemptionGates"] == [GATE]
    follower = copies.make(local, ORCHESTRATED, is_follower=True)
    assert "preemptionGates" not in follower["spec"]


SAME = {
    "a quantity in other words": (
        f"{CONTAINER}.resources.requests",
        {"cpu": "1"},
        {"cpu": "1000m"},
    ),
    "a quantity as a number": (f"{CONTAINER}.resources.requests", {"cpu": "1"}, {"cpu": 1}),
    "binary and decimal": (
        f"{CONTAINER}.resources.limits",
        {"memory": "1Gi"},
        {"memory": "1024Mi"},
    ),
    "an empty list": ("spec.podSets[0].template.spec.volumes", None, []),
    "an empty object": ("spec.podSets[0].template.spec.securityContext", None, {}),
    "a protocol that is filled in": (
        f"{CONTAINER}.ports",
        [{"containerPort": 80}],
        [{"containerPort": 80, "protocol": "TCP"}],
    ),
    "a policy that is filled in": (f"{CONTAINER}.terminationMessagePolicy", None, "File"),
    "the scheduler": ("spec.podSets[0].template.spec.schedulerName", None, "default-scheduler"),
    "active or nothing": ("spec.active", None, True),
    "gates": ("spec.preemptionGates", [{"name": "a"}], [{"name": "b"}]),
}


@pytest.mark.rule("FLOW-46")
@pytest.mark.rule("OP-7")
@pytest.mark.parametrize(("path", "here", "there"), SAME.values(), ids=SAME.keys())
def test_what_means_the_same(path: str, here: Any, there: Any) -> None:
    local, remote = (changed(workload(), path, value) for value in (here, there))
    assert copies.compare(local, remote, SETTINGS) == Same()
    assert copies.compare(remote, local, SETTINGS) == Same()


DIFFERENT = {
    "an image": (f"{CONTAINER}.image", "a", "b"),
    "a request": (f"{CONTAINER}.resources.requests", {"cpu": "1"}, {"cpu": "2"}),
    "a queue": ("spec.queueName", "a", "b"),
    "a deactivation": ("spec.active", False, True),
    "a size": (COUNT, 2, 3),
    "none at all": (COUNT, 0, 1),
    "a limit of time": ("spec.maximumExecutionTimeSeconds", None, 5),
    "a selector": ("spec.podSets[0].template.spec.nodeSelector", {"active": "x"}, {}),
    "a label like a default": ("spec.podSets[0].template.metadata.labels", {"protocol": "TCP"}, {}),
    "a class of pods": ("spec.priorityClassRef", OF_PODS, {**OF_PODS, "name": "low"}),
    "a priority without class": ("spec.priority", 5, 0),
}


@pytest.mark.rule("FLOW-46")
@pytest.mark.rule("PR-2")
@pytest.mark.parametrize(("path", "here", "there"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_makes_a_copy_go(path: str, here: Any, there: Any) -> None:
    local, remote = (changed(workload(), path, value) for value in (here, there))
    assert copies.compare(local, remote, SETTINGS) == Different()


@pytest.mark.rule("PR-1")
@pytest.mark.rule("PR-2")
@pytest.mark.parametrize("before", [None, {**OWN, "name": "low"}])
def test_a_new_priority_alone_is_told_to_the_copy(before: Object | None) -> None:
    local = workload(priorityClassRef=OWN, priority=100)
    remote = workload(priorityClassRef=before, priority=5, preemptionGates=[GATE])
    outcome = copies.compare(local, remote, SETTINGS)
    assert outcome == Update({**remote["spec"], "priorityClassRef": OWN, "priority": 100})


@pytest.mark.rule("PR-2")
def test_a_new_priority_and_something_else_makes_the_copy_go() -> None:
    local = workload(priorityClassRef=OWN, priority=100, queueName="other")
    assert copies.compare(local, workload(), SETTINGS) == Different()


@pytest.mark.rule("EL-5")
@pytest.mark.rule("FLOW-47")
def test_an_elastic_job_shrinks_its_copy() -> None:
    local, remote = (
        elastic(changed(workload(), COUNT, 2)),
        elastic(workload(preemptionGates=[GATE])),
    )
    assert copies.compare(local, remote, SETTINGS) == Update(local["spec"])
    kept = {**local["spec"], "preemptionGates": [GATE]}
    assert copies.compare(local, remote, ORCHESTRATED) == Update(kept)


@pytest.mark.rule("EL-5")
@pytest.mark.rule("PR-1")
def test_size_and_priority_go_together() -> None:
    local = elastic(changed(workload(priorityClassRef=OWN, priority=100), COUNT, 2))
    assert copies.compare(local, elastic(workload()), SETTINGS) == Update(local["spec"])


@pytest.mark.rule("EL-5")
def test_a_copy_never_grows() -> None:
    local, remote = elastic(changed(workload(), COUNT, 4)), elastic(workload())
    assert copies.compare(local, remote, SETTINGS) == Different()
    shrunk = elastic(changed(workload(), COUNT, 2))
    assert copies.compare(shrunk, remote, with_gates(slices=False)) == Different()


@pytest.mark.rule("FLOW-7")
def test_the_time_of_a_check_moves_with_its_state() -> None:
    before = {"name": "mk", "state": "Pending", "lastTransitionTime": "x", "retryCount": 2}
    told = copies.check_state(before, "Pending", "text", NOW)
    assert told == {**before, "message": "text"}
    moved = copies.check_state(before, "Ready", "text", NOW)
    assert moved["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    assert moved["retryCount"] == 2
    long = copies.check_state(before, "Ready", "x" * 40_000, NOW)["message"]
    assert (len(long), long[-4:]) == (32_768, " ...")


@pytest.mark.rule("FLOW-7")
def test_a_text_ends_with_the_state_before() -> None:
    assert copies.with_previous("Admitting remote lost", "Ready") == (
        'Admitting remote lost, Previously: "Ready"'
    )
