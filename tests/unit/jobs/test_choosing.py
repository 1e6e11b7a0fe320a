"""A job that a manager sent, and the Workload that was there before it."""

from typing import Any

import pytest
from tests.support.job_looks import (
    KUEUE,
    NOW,
    admitted,
    created,
    job,
    owned_by,
    steps,
    thing,
    with_settings,
)
from tests.support.job_looks import decide as decide_with

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.base import paths
from fleetqueue.kube.plan import Apply, Delete, Patch, Plan
from fleetqueue.kube.resources import Object

K = "kueue.x-k8s.io"
PREBUILT = {f"{K}/prebuilt-workload-name": "w"}
ORIGIN = {f"{K}/multikueue-origin": "multikueue"}
HIGH = thing(KUEUE, "WorkloadPriorityClass", "high", cluster=True, value=100)
LOW = thing(KUEUE, "WorkloadPriorityClass", "low", cluster=True, value=1)

UNTOLD = with_settings(waits_for_pods_ready=False)


def decide(made: Object, *around: Object, **more: Any) -> Plan:
    return decide_with(made, *around, settings=UNTOLD, **more)


def mirror(*, annotations: dict[str, str] | None = None, **more: Any) -> Object:
    return job(annotations={**PREBUILT, **(annotations or {})}, **more)


def copy_of(made: Object, **metadata: Any) -> Object:
    """The Workload as a manager creates it for that job."""
    plain = {**made, "metadata": {**made["metadata"], "annotations": {}}}
    found = created(plain)
    known = {"name": "w", "namespace": "ns", "uid": "uid-w", "resourceVersion": "5"}
    return {**found, "metadata": {**known, "labels": ORIGIN, **metadata}}


def adopted(made: Object, workload: Object) -> Object:
    labels = {**ORIGIN, f"{K}/job-uid": made["metadata"]["uid"]}
    found = owned_by(workload, made)
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


@pytest.mark.rule("FLOW-42")
@pytest.mark.rule("ROLE-3")
def test_a_mirror_takes_the_workload_that_waits_for_it() -> None:
    made = mirror()
    [patch] = steps(decide(made, admitted(copy_of(made))), Patch)
    [reference] = patch.patch["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["controller"]) == ("uid-sample", True)
    assert patch.patch["metadata"]["labels"] == {f"{K}/job-uid": "uid-sample"}


@pytest.mark.rule("FLOW-42")
@pytest.mark.rule("FLOW-45")
def test_a_mirror_starts_with_what_the_worker_admitted() -> None:
    made = mirror()
    plan = decide(made, admitted(adopted(made, copy_of(made))))
    [patch] = [each for each in steps(plan, Patch) if "spec" in each.patch]
    assert patch.patch["spec"]["suspend"] is False
    labels = patch.patch["spec"]["template"]["metadata"]["labels"]
    assert labels[f"{K}/multikueue-worker-workload-pod"] == "true"


@pytest.mark.rule("FLOW-43")
def test_a_mirror_that_is_another_job_ends_its_workload() -> None:
    made = mirror()
    other = paths.with_value(made, "spec.template.spec.containers[0].image", "other")
    [apply] = steps(decide(dict(other), adopted(made, copy_of(made))), Apply)
    finished = status_of.find_condition(apply.obj, "Finished")
    assert finished is not None
    assert (finished["reason"], finished["message"]) == (
        "OutOfSync",
        "The prebuilt workload is out of sync with its user job",
    )


@pytest.mark.rule("EL-5")
def test_an_elastic_mirror_and_its_workload_may_differ_in_size_for_a_while() -> None:
    elastic = {f"{K}/elastic-job": "true"}
    made = mirror(annotations=elastic, spec={"parallelism": 4})
    workload = adopted(made, admitted(copy_of(made)))
    smaller = dict(paths.with_value(made, "spec.parallelism", 3))
    finished = [
        each for each in steps(decide(smaller, workload), Apply) if status_of.is_finished(each.obj)
    ]
    assert finished == []
    plain = mirror(spec={"parallelism": 3})
    assert [
        each for each in steps(decide(plain, workload), Apply) if status_of.is_finished(each.obj)
    ]


def with_class(workload: Object, name: str) -> Object:
    reference = {"group": K, "kind": "WorkloadPriorityClass", "name": name}
    spec = {**workload["spec"], "priorityClassRef": reference, "priority": 100}
    return {**workload, "spec": spec}


@pytest.mark.rule("PR-3")
def test_the_priority_that_a_manager_copied_stays() -> None:
    made = mirror(labels={f"{K}/priority-class": "low"})
    plain = mirror()
    workload = with_class(adopted(made, copy_of(plain)), "high")
    assert _classes(decide(made, workload, HIGH, LOW)) == []
    labels = {f"{K}/job-uid": "uid-sample"}
    own = {**workload, "metadata": {**workload["metadata"], "labels": labels}}
    assert _classes(decide(made, own, HIGH, LOW)) == ["low"]


def _classes(plan: Plan) -> list[str]:
    return [
        each.patch["spec"]["priorityClassRef"]["name"]
        for each in steps(plan, Patch)
        if "priorityClassRef" in (each.patch.get("spec") or {})
    ]


# Pods whose Workload another cluster runs

CHECK = thing(
    KUEUE, "AdmissionCheck", "mk", cluster=True, spec={"controllerName": f"{K}/multikueue"}
)


def waiting_pod(**status: Any) -> Object:
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "schedulingGates": [{"name": f"{K}/admission"}],
    }
    labels = {f"{K}/queue-name": "lq", f"{K}/managed": "true"}
    return thing("v1", "Pod", "p", labels=labels, spec=spec, status=status)


def dispatched(made: Object) -> Object:
    workload = owned_by(created(made, framework="pod"), made)
    checked = {**workload, "status": {"admissionChecks": [{"name": "mk", "state": "Ready"}]}}
    return admitted(checked)


@pytest.mark.rule("POD-1")
@pytest.mark.rule("KIND-2")
@pytest.mark.rule("FLOW-38")
def test_a_pod_that_runs_elsewhere_keeps_its_gate() -> None:
    made = waiting_pod(phase="Pending")
    patches = steps(decide(made, dispatched(made), CHECK, framework="pod"), Patch)
    assert [each for each in patches if "spec" in each.patch] == []
    here = steps(decide(made, dispatched(made), framework="pod"), Patch)
    assert [each for each in here if "spec" in each.patch]


@pytest.mark.rule("POD-6")
@pytest.mark.rule("IMP-23")
@pytest.mark.rule("FLOW-57")
@pytest.mark.parametrize(("around", "again"), [((CHECK,), "True"), ((), "False")])
def test_a_pod_that_ran_elsewhere_is_queued_again(around: tuple[Object, ...], again: str) -> None:
    made = waiting_pod(phase="Running")
    evicted = status_of.preempt(dispatched(made), "InClusterQueue", "make room", NOW)
    plan = decide(made, evicted, *around, framework="pod")
    assert steps(plan, Delete) == []
    released = [each.obj for each in steps(plan, Apply) if not status_of.has_quota(each.obj)]
    requeued = status_of.find_condition(released[-1], "Requeued")
    assert requeued is not None
    assert requeued["status"] == again
