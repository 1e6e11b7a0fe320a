"""Jobs that members of a fleet run: who says so when they are made, and what the queue does."""

from typing import Any

import pytest
from tests.support.job_looks import (
    KINDS,
    KUEUE,
    admitted,
    asked,
    created,
    decide,
    defaulted,
    job,
    names,
    steps,
    thing,
    with_settings,
)

from fleetqueue.api.fleet.labels import JOB_MANAGER, PLACED
from fleetqueue.base import paths
from fleetqueue.jobs.ancestors import Family
from fleetqueue.jobs.webhook import validate
from fleetqueue.kube.plan import Delete, Patch
from fleetqueue.kube.resources import Object, Resource

pytestmark = [pytest.mark.rule("KJ-3"), pytest.mark.rule("G-8")]

LOCAL_QUEUE = thing(KUEUE, "LocalQueue", "q", spec={"clusterQueue": "cq"})
CHECK = thing(
    KUEUE,
    "AdmissionCheck",
    "away",
    cluster=True,
    spec={"controllerName": "kueue.x-k8s.io/multikueue"},
)


def cluster_queue(*checks: str) -> Object:
    listed = {"admissionChecks": [{"name": each} for each in checks]}
    spec = {"admissionChecksStrategy": listed}
    return thing(KUEUE, "ClusterQueue", "cq", cluster=True, spec=spec)


def selecting(*kinds: str) -> Any:
    def is_placed(kind: Resource, obj: Object) -> bool:
        return kind.kind in kinds

    return with_settings(is_placed=is_placed)


def is_marked(found: Object) -> bool:
    return PLACED in (found["metadata"].get("annotations") or {})


@pytest.mark.parametrize(
    ("made", "around", "placed", "expected"),
    [
        pytest.param(job(queue="q"), [cluster_queue()], "Job", True, id="selected itself"),
        pytest.param(job(queue=""), [], "Job", True, id="without a queue"),
        pytest.param(job(queue="q"), [cluster_queue()], "ClusterQueue", True, id="its queue"),
        pytest.param(job(queue="q"), [cluster_queue()], "", False, id="nothing of it"),
        pytest.param(job(queue="q"), [], "ClusterQueue", False, id="no such ClusterQueue"),
        pytest.param(
            job(queue="q"),
            [cluster_queue("away"), CHECK],
            "ClusterQueue",
            False,
            id="a queue that sends its workloads away itself",
        ),
        pytest.param(
            job(queue="q"), [cluster_queue("away"), CHECK], "Job", True, id="placed all the same"
        ),
        pytest.param(
            job(queue="q", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
            [cluster_queue("away"), CHECK],
            "Job",
            False,
            id="one that says who sends it away",
        ),
    ],
)
def test_which_new_jobs_are_for_members(
    made: Object, around: list[Object], placed: str, expected: bool
) -> None:
    found = defaulted(made, LOCAL_QUEUE, *around, settings=selecting(placed))
    assert is_marked(found) is expected
    is_dispatched = paths.get(found, "spec.managedBy") == "kueue.x-k8s.io/multikueue"
    assert is_dispatched is (CHECK in around and not expected)


def test_a_job_whose_queue_is_placed_is_told_what_it_waits_for() -> None:
    settings = selecting("ClusterQueue")
    made = defaulted(job(queue="q"), LOCAL_QUEUE, cluster_queue(), settings=settings)
    look = asked(made, LOCAL_QUEUE, cluster_queue())
    validate(KINDS["batch/job"], settings, Family.of(KINDS.values(), settings), look)
    assert look.warnings == [
        "ClusterQueue cq is placed on members: this waits for a placement that selects it, and does"
        " not run here"
    ]


def test_nothing_is_queued_for_a_placed_job() -> None:
    made = job(queue="q")
    assert names(decide(made)) == ["Create", "Note"]
    made["metadata"]["annotations"] = {PLACED: "true"}
    assert names(decide(made)) == []


def test_nothing_is_queued_for_a_job_that_is_left_to_members() -> None:
    made = job(queue="q", spec={"managedBy": JOB_MANAGER})
    assert names(decide(made)) == []


def test_a_job_that_is_placed_while_it_runs_here_is_stopped() -> None:
    made = job(queue="q")
    workload = admitted(created(made))
    made["spec"]["suspend"] = False
    made["metadata"]["annotations"] = {PLACED: "true"}
    plan = decide(made, workload)
    assert steps(plan, Patch)[0].patch["spec"]["suspend"] is True
    assert [each.obj for each in steps(plan, Delete)] == [workload]
    made["spec"]["suspend"] = True
    going = {**workload["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    going["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    plan = decide(made, {**workload, "metadata": going})
    assert not steps(plan, Patch)[-1].patch["metadata"]["finalizers"]
    assert not steps(plan, Delete)
