"""Decisions about TrainJobs: what is made of a runtime, and what the status says."""

import pytest
from tests.support import operators, train_jobs
from tests.support.train_jobs import applied, runtime, see

from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.frame import is_ours
from fleetqueue.kube.plan import Apply
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import train_job, train_job_children

pytestmark = [pytest.mark.rule("jobs B.6.1"), pytest.mark.rule("jobs B.6.3")]

TORCH = runtime()


def snapshot(parent: Object, source: Object = TORCH) -> Object:
    return train_job_children.make_snapshot(parent, source)


def test_a_new_job_becomes_a_job_set_and_a_snapshot_of_its_runtime() -> None:
    parent = train_jobs.job()
    made = applied(see(parent, TORCH))
    assert list(made) == ["ConfigMap run-runtime-snapshot", "JobSet run"]
    whole = made["JobSet run"]
    assert whole["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "name": "run",
            "uid": "uid-1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert whole["spec"]["suspend"] is False
    assert operators.status(see(parent, TORCH)) == {}


def test_later_changes_of_the_runtime_do_not_reach_the_job() -> None:
    parent = train_jobs.job(suspend=True)
    changed = runtime()
    changed["spec"]["mlPolicy"]["numNodes"] = 7
    made = applied(see(parent, snapshot(parent), changed))
    assert list(made) == ["JobSet run"]
    job = train_jobs.replicated(made["JobSet run"], "node")
    assert job["template"]["spec"]["parallelism"] == 1


def test_labels_of_the_job_stay_with_it_and_those_of_the_runtime_go_on() -> None:
    source = runtime()
    source["spec"]["template"]["metadata"] = {"labels": {"a": "1", "b": "1"}}
    patch = {
        "manager": "acme.io/x",
        "trainingRuntimeSpec": {
            "template": {"metadata": {"labels": {"b": "2"}, "annotations": {"c": "3"}}}
        },
    }
    parent = train_jobs.job(runtimePatches=[patch])
    parent["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    metadata = train_jobs.job_set(parent, source)["metadata"]
    assert metadata["labels"] == {"a": "1", "b": "2"}
    assert metadata["annotations"] == {"c": "3"}


@pytest.mark.parametrize(
    ("wanted", "is_", "is_applied"),
    [(False, False, False), (False, True, True), (True, False, True), (True, True, True)],
)
def test_a_job_set_is_applied_only_while_one_side_is_suspended(
    wanted: bool, is_: bool, is_applied: bool
) -> None:
    parent = train_jobs.job(suspend=wanted)
    child = train_jobs.job_set(parent, TORCH)
    child["spec"]["suspend"] = is_
    made = applied(see(parent, snapshot(parent), child))
    assert ("JobSet run" in made) is is_applied
    if is_applied:
        assert made["JobSet run"]["spec"]["suspend"] is wanted


def test_a_missing_runtime_is_told() -> None:
    plan = see(train_jobs.job("none"))
    text = 'ClusterTrainingRuntime.trainer.kubeflow.org "none" not found'
    why = f"not found ClusterTrainingRuntime specified in TrainJob: {text}"
    assert operators.events(plan) == [
        (
            "Warning",
            "TrainJobResourcesCreationFailed",
            f"TrainJob resources reconciliation failed: {why}",
        )
    ]


BAD_SNAPSHOTS = {
    "of another": (
        {"metadata": {"ownerReferences": []}},
        "a snapshot configmap exists but is owned by another object",
    ),
    "empty": ({"data": {}}, 'snapshot ConfigMap missing "runtime" data key'),
    "of another runtime": (
        {"data": {"runtime": "apiVersion: a/v1\nkind: B\nmetadata: {name: c}"}},
        "the snapshot refers to the wrong runtime: expecting a runtime with name, api group and "
        'kind of "torch-distributed", "trainer.kubeflow.org", "ClusterTrainingRuntime" but found '
        'runtime with name, api group and kind of "c", "a", "B"',
    ),
    "no object": (
        {"data": {"runtime": "12"}},
        "unable to unmarshal the snapshot: the document is no object",
    ),
}


@pytest.mark.parametrize(("change", "why"), BAD_SNAPSHOTS.values(), ids=BAD_SNAPSHOTS)
def test_a_bad_snapshot_is_told_and_nothing_is_made(change: Object, why: str) -> None:
    parent = train_jobs.job()
    kept = snapshot(parent)
    metadata = {**kept["metadata"], **change.get("metadata", {})}
    plan = see(parent, {**kept, **change, "metadata": metadata}, TORCH)
    assert not applied(plan)
    assert [event[2] for event in operators.events(plan)] == [
        "TrainJob resources reconciliation failed: getting runtime snapshot: "
        f"invalid runtime snapshot: {why}"
    ]


def test_a_refused_apply_is_told_in_a_text_that_fits_an_event() -> None:
    look = operators.look(train_jobs.job())
    error = Conflict({"message": "x" * 1000, "code": 409})
    notes = operators.events(train_job.refused(look, Apply({}, "trainer"), error))
    cut = "x" * 950
    assert notes[0][2] == f"TrainJob resources reconciliation failed: {cut} ..."


def test_suspension_is_told_and_later_taken_back() -> None:
    parent = train_jobs.job(suspend=True)
    told = operators.status(see(parent, TORCH))
    assert told["conditions"] == [
        {
            "type": "Suspended",
            "status": "True",
            "reason": "Suspended",
            "message": "TrainJob is suspended",
            "lastTransitionTime": operators.TIME,
        }
    ]
    plan = see(train_jobs.job(status=told), TORCH, after=60)
    assert operators.conditions(plan) == [("Suspended", "False", "Resumed", "TrainJob is resumed")]


@pytest.mark.parametrize(("theirs", "ours"), [("Completed", "Complete"), ("Failed", "Failed")])
def test_the_end_of_the_job_set_is_the_end_of_the_job(theirs: str, ours: str) -> None:
    parent = train_jobs.job()
    end = {
        "type": theirs,
        "status": "True",
        "reason": "Why",
        "message": "because",
        "lastTransitionTime": "2026-01-01T11:59:00Z",
    }
    counts = {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}
    child = train_jobs.job_set(
        parent, TORCH, conditions=[end], replicatedJobsStatus=[{**counts, "jobRestarts": [0]}]
    )
    told = operators.status(see(parent, snapshot(parent), child))
    assert told == {"conditions": [{**end, "type": ours}], "jobsStatus": [counts]}
    again = train_jobs.job(status=told)
    assert operators.status(see(again, snapshot(again), child)) == told
    assert operators.status(see(again, snapshot(again))) == told
    assert not applied(see(again, snapshot(again)))


def test_a_job_set_of_somebody_else_says_nothing_about_the_job() -> None:
    parent = train_jobs.job()
    end = {"type": "Completed", "status": "True", "reason": "x", "message": ""}
    child = train_jobs.job_set(parent, TORCH, conditions=[end])
    child["metadata"]["ownerReferences"][0]["uid"] = "earlier"
    plan = see(parent, snapshot(parent), child)
    assert (operators.status(plan), applied(plan)) == ({}, {})
    assert operators.events(plan)[0][2] == (
        "TrainJob resources reconciliation failed: "
        'jobset "run" exists but is owned by another object'
    )


@pytest.mark.parametrize("owners", [[], [{"controller": True, "uid": "other"}]])
def test_keys_and_hosts_of_somebody_else_are_left_alone(owners: list[Object]) -> None:
    source = runtime("deepspeed-distributed")
    parent = train_jobs.job("deepspeed-distributed")
    made = train_job_children.make_blueprint(parent, source)
    theirs = [train_job_children.make_secret(made), train_job_children.make_hostfile(made)]
    for each in theirs:
        each["metadata"]["ownerReferences"] = owners
    theirs[1]["data"] = {"hostfile": "elsewhere"}
    plan = see(parent, snapshot(parent, source), *theirs)
    assert list(applied(plan)) == ["JobSet run"]
    assert operators.created(plan) == []
    failed = "TrainJob resources reconciliation failed:"
    assert [text for _, _, text in operators.events(plan)] == [
        f'{failed} secret "run-mpi-ssh-auth" exists but is owned by another object',
        f'{failed} configmap "run-mpi-hostfile" exists but is owned by another object',
    ]


def test_progress_that_the_code_reported_stays() -> None:
    parent = train_jobs.job(suspend=True, status={"trainerStatus": {"progressPercentage": 5}})
    assert operators.status(see(parent, TORCH))["trainerStatus"] == {"progressPercentage": 5}


def test_an_unknown_kind_of_runtime_fails_the_job() -> None:
    parent = train_jobs.job()
    parent["spec"]["runtimeRef"]["kind"] = "Slurm"
    plan = see(parent)
    assert operators.conditions(plan) == [
        (
            "Failed",
            "True",
            "TrainingRuntimeNotSupported",
            "unsupported runtime: Slurm.trainer.kubeflow.org",
        )
    ]
    parent["status"] = operators.status(plan)
    assert operators.status(see(parent, after=60)) == parent["status"]


def test_a_deadline_counts_from_creation_and_ends_the_job_set() -> None:
    parent = train_jobs.job(activeDeadlineSeconds=60)
    child = train_jobs.job_set(parent, TORCH)
    assert see(parent, snapshot(parent), child, after=10).after == 50
    plan = see(parent, snapshot(parent), child, after=61)
    end = ("Failed", "True", "DeadlineExceeded", "TrainJob exceeded its active deadline")
    assert operators.conditions(plan) == [end]
    assert operators.deleted_names(plan, "JobSet") == ["run"]
    parent["status"] = operators.status(plan)
    later = see(parent, snapshot(parent), after=120)
    assert (operators.conditions(later), applied(later), later.after) == ([end], {}, None)
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": "FailedJobs",
        "message": "",
        "lastTransitionTime": operators.TIME,
    }
    late = train_jobs.job_set(parent, TORCH, conditions=[failed])
    assert operators.conditions(see(parent, snapshot(parent), late, after=120)) == [end]


def test_a_deadline_rests_while_the_job_is_suspended_and_starts_anew() -> None:
    waiting = train_jobs.job(activeDeadlineSeconds=60, suspend=True)
    assert see(waiting, TORCH, after=1000).after is None
    assert [each[0] for each in operators.conditions(see(waiting, TORCH, after=1000))] == [
        "Suspended"
    ]
    told = operators.status(see(waiting, TORCH))
    resumed = train_jobs.job(activeDeadlineSeconds=60, status=told)
    plan = see(resumed, TORCH, after=1000)
    assert operators.conditions(plan)[0][1:3] == ("False", "Resumed")
    assert plan.after == 60


@pytest.mark.rule("MB-5")
@pytest.mark.rule("S002-5")
def test_a_job_that_another_controller_manages_is_left_alone() -> None:
    ours = "trainer.kubeflow.org/trainjob-controller"
    assert is_ours(train_job.OPERATOR, train_jobs.job(managedBy=ours))
    theirs = "kueue.x-k8s.io/multikueue"
    assert not is_ours(train_job.OPERATOR, train_jobs.job(managedBy=theirs))
