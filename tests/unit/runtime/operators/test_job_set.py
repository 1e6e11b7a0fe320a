"""What a JobSet decides to do at a look: counts, order, suspension, success and its end."""

from typing import Any

import pytest
from tests.support import job_sets, operators
from tests.support.job_sets import ended, job_set, jobs, replicated

from fleetqueue.kube.errors import Refused
from fleetqueue.kube.plan import Create, Delete, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.job_set import OPERATOR, decide, refused

pytestmark = [pytest.mark.rule("jobs B.3"), pytest.mark.rule("jobs B.3.3")]

READY = {"active": 1, "ready": 1, "startTime": operators.TIME}


def counts(plan: Plan) -> list[tuple[Any, ...]]:
    names = ("name", "ready", "succeeded", "failed", "active", "suspended")
    listed = operators.status(plan)["replicatedJobsStatus"]
    return [tuple(each[name] for name in names) for each in listed]


def see(parent: Object, *others: Object, **more: Any) -> Plan:
    return decide(operators.look(parent, *others, **more))


def service(parent: Object) -> Object:
    name = parent["metadata"]["name"]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata}


def condition(type: str, status: str, reason: str, message: str = "m") -> Object:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_the_service_comes_before_the_jobs_and_these_in_the_order_of_the_spec() -> None:
    plan = see(job_set(replicated("driver"), replicated("worker", 2)))
    made = [(obj["kind"], obj["metadata"]["name"]) for obj in operators.created(plan)]
    assert made == [
        ("Service", "train"),
        ("Job", "train-driver-0"),
        ("Job", "train-worker-0"),
        ("Job", "train-worker-1"),
    ]
    assert counts(plan) == [("worker", 0, 0, 0, 0, 0), ("driver", 0, 0, 0, 0, 0)]
    assert operators.status(plan)["restarts"] == 0


def test_what_is_there_already_is_not_made_again() -> None:
    parent = job_set(replicated("worker", 2))
    plan = see(parent, *jobs(parent)[:1], service(parent))
    assert [obj["metadata"]["name"] for obj in operators.created(plan)] == ["train-worker-1"]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"pods": 2}, {"active": 2, "ready": 1}, (0, 1)),
        ({"pods": 2}, {"active": 2, "ready": 2}, (1, 1)),
        ({"pods": 2}, {"active": 1, "ready": 1, "succeeded": 1}, (1, 1)),
        ({"job": {"parallelism": 5, "completions": 2}}, {"active": 2, "ready": 2}, (1, 1)),
        ({"job": {"parallelism": 1, "completions": 5}}, {"active": 1, "ready": 1}, (1, 1)),
        ({}, {}, (0, 0)),
    ],
)
def test_a_job_is_ready_when_as_many_pods_as_may_run_are(
    spec: Any, status: Any, expected: tuple[int, int]
) -> None:
    parent = job_set(replicated("a", **spec))
    [row] = counts(see(parent, *jobs(parent, **status)))
    assert (row[1], row[4]) == expected


def test_ended_jobs_are_counted_by_how_they_ended() -> None:
    parent = job_set(replicated("a", 3), successPolicy={"operator": "All"})
    first, second, third = jobs(parent, **READY)
    first["status"], second["status"] = ended("Complete"), ended("Failed")
    assert counts(see(parent, first, second, third)) == [("a", 1, 1, 1, 1, 0)]


@pytest.mark.parametrize(
    ("policy", "done", "completes"),
    [
        ({"operator": "All"}, ["train-a-0", "train-b-0", "train-b-1"], True),
        ({"operator": "All"}, ["train-a-0", "train-b-0"], False),
        ({"operator": "All", "targetReplicatedJobs": ["a"]}, ["train-a-0"], True),
        ({"operator": "All", "targetReplicatedJobs": ["b"]}, ["train-a-0", "train-b-1"], False),
        ({"operator": "Any"}, ["train-b-1"], True),
        ({"operator": "Any", "targetReplicatedJobs": ["a"]}, ["train-b-1"], False),
    ],
)
def test_the_success_policy_says_when_it_is_completed(
    policy: Object, done: list[str], completes: bool
) -> None:
    parent = job_set(replicated("a"), replicated("b", 2), successPolicy=policy)
    children = jobs(parent, **READY)
    for job in children:
        if job["metadata"]["name"] in done:
            job["status"] = ended("Complete")
    plan = see(parent, service(parent), *children)
    expected = ("Completed", "True", "AllJobsCompleted", "jobset completed successfully")
    assert (expected in operators.conditions(plan)) is completes
    assert operators.status(plan).get("terminalState") == ("Completed" if completes else None)
    assert (("Normal", *expected[2:]) in operators.events(plan)) is completes


def test_a_finished_jobset_stops_what_still_runs_and_goes_when_its_time_is_up() -> None:
    parent = job_set(replicated("a", 2), ttlSecondsAfterFinished=60)
    children = jobs(parent, **READY)
    children[0]["status"] = ended("Complete")
    parent["status"] = {
        "restarts": 0,
        "conditions": [{**ended("Completed")["conditions"][0]}],
        "terminalState": "Completed",
    }
    plan = see(parent, *children, after=10)
    assert operators.deleted_names(plan, "Job") == ["train-a-1"]
    assert plan.after == 50
    plan = see(parent, children[0], after=60)
    last = plan.steps[-1]
    assert isinstance(last, Delete)
    assert (last.obj["kind"], last.propagation) == ("JobSet", "Foreground")


def test_jobs_of_an_earlier_attempt_are_deleted_in_the_foreground() -> None:
    parent = job_set(replicated("a", 2))
    old = jobs(parent, **READY)
    again = {**parent, "status": {"restarts": 1}}
    plan = see(again, service(parent), *old)
    deletions = [step for step in plan.steps if isinstance(step, Delete)]
    assert [step.propagation for step in deletions] == ["Foreground", "Foreground"]
    assert counts(plan) == [("a", 0, 0, 0, 0, 0)]
    assert operators.created(plan) == []


@pytest.mark.parametrize(
    ("strategy", "made"),
    [("Recreate", ["train-a-1"]), ("BlockingRecreate", [])],
)
def test_after_a_restart_jobs_follow_their_predecessors(strategy: str, made: list[str]) -> None:
    policy = {"maxRestarts": 3, "restartStrategy": strategy}
    parent = job_set(replicated("a", 2), failurePolicy=policy)
    old = jobs(parent)[:1]
    plan = see({**parent, "status": {"restarts": 1}}, service(parent), *old)
    assert operators.created_names(plan, "Job") == made
    for job in operators.created(plan):
        assert job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"


def test_a_restart_is_over_when_all_jobs_are_ready() -> None:
    restarting = condition("RestartingJobSet", "True", "DefaultFailurePolicy")
    parent = job_set(replicated("a"), status={"restarts": 1, "conditions": [restarting]})
    plan = see(parent, service(parent), *jobs(parent, **READY))
    expected = ("RestartingJobSet", "False", "JobsReady", "all jobs are ready")
    assert operators.conditions(plan) == [expected]
    assert operators.events(plan) == [("Normal", "JobsReady", "all jobs are ready")]


def test_conditions_that_never_held_are_not_written_as_false() -> None:
    parent = job_set(replicated("a"))
    plan = see(parent, service(parent), *jobs(parent, **READY))
    assert operators.conditions(plan) == []
    assert operators.events(plan) == []


@pytest.mark.parametrize(
    ("state", "wanted", "made"),
    [
        ({}, "Ready", ["train-a-0"]),
        (READY, "Ready", ["train-b-0"]),
        (ended("Complete"), "Ready", ["train-b-0"]),
        (READY, "Complete", []),
        (ended("Complete"), "Complete", ["train-b-0"]),
    ],
)
def test_a_job_waits_for_those_it_depends_on(state: Object, wanted: str, made: list[str]) -> None:
    depends = [{"name": "a", "status": wanted}]
    parent = job_set(replicated("a"), replicated("b", dependsOn=depends))
    have = jobs(parent, **state)[:1] if state else []
    plan = see(parent, service(parent), *have)
    assert operators.created_names(plan, "Job") == made


def test_in_order_each_waits_for_the_one_before() -> None:
    parent = job_set(
        replicated("a"), replicated("b"), startupPolicy={"startupPolicyOrder": "InOrder"}
    )
    first = see(parent, service(parent))
    going = (
        "StartupPolicyInProgress",
        "True",
        "InOrderStartupPolicyInProgress",
        "in order startup policy is in progress",
    )
    assert operators.created_names(first, "Job") == ["train-a-0"]
    assert operators.conditions(first) == [going]

    parent["status"] = operators.status(first)
    second = see(parent, service(parent), *jobs(parent, **READY)[:1])
    assert operators.created_names(second, "Job") == ["train-b-0"]
    assert operators.conditions(second) == [going]

    third = see(parent, service(parent), *jobs(parent, **READY))
    assert operators.conditions(third) == [
        ("StartupPolicyInProgress", "False", *going[2:]),
        (
            "StartupPolicyCompleted",
            "True",
            "InOrderStartupPolicyCompleted",
            "in order startup policy has completed",
        ),
    ]


def test_a_suspended_jobset_makes_suspended_jobs_and_suspends_those_that_run() -> None:
    parent = job_set(replicated("a", 2), suspend=True)
    running = job_sets.jobs({**parent, "spec": {**parent["spec"], "suspend": False}}, **READY)
    plan = see(parent, running[0])
    assert operators.created_names(plan, "Service") == ["train"]
    [job] = [obj for obj in operators.created(plan) if obj["kind"] == "Job"]
    assert job["spec"]["suspend"] is True
    assert operators.patches(plan) == [("train-a-0", {"spec": {"suspend": True}})]
    suspended = ("Suspended", "True", "SuspendedJobs", "jobset is suspended")
    assert operators.conditions(plan) == [suspended]
    assert operators.events(plan) == [("Normal", *suspended[2:])]


def test_while_suspended_jobs_are_made_out_of_order_but_not_before_what_they_depend_on() -> None:
    order = {"startupPolicyOrder": "InOrder"}
    parent = job_set(replicated("a"), replicated("b"), startupPolicy=order, suspend=True)
    plan = see(parent, service(parent))
    assert operators.created_names(plan, "Job") == ["train-a-0", "train-b-0"]
    depends = [{"name": "a", "status": "Ready"}]
    parent = job_set(replicated("a"), replicated("b", dependsOn=depends), suspend=True)
    assert operators.created_names(see(parent), "Job") == ["train-a-0"]


def test_resumption_resets_the_start_and_merges_what_may_have_changed() -> None:
    parent = job_set(replicated("a"), suspend=True)
    [job] = jobs(parent, startTime=operators.TIME)
    job["spec"]["template"]["metadata"]["labels"]["by"] = "job-controller"
    template = parent["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    gate = {"name": "example.com/gate"}
    toleration = {"key": "gpu", "operator": "Exists"}
    template["metadata"] = {"labels": {"new": "label"}, "annotations": {"new": "note"}}
    template["spec"] |= {"nodeSelector": {"pool": "a"}, "tolerations": [toleration]}
    template["spec"] |= {"schedulingGates": [gate]}
    parent["spec"]["suspend"] = False
    parent["status"] = {"conditions": [condition("Suspended", "True", "SuspendedJobs")]}
    plan = see(parent, service(parent), job)
    [(_, started), (_, resumed)] = operators.patches(plan)
    assert started == {"status": {"startTime": None}}
    assert resumed["spec"]["suspend"] is False
    metadata, spec = (resumed["spec"]["template"][half] for half in ("metadata", "spec"))
    assert {"by": "job-controller", "new": "label"}.items() <= metadata["labels"].items()
    assert metadata["annotations"]["new"] == "note"
    assert spec == {
        "nodeSelector": {"pool": "a"},
        "tolerations": [toleration],
        "schedulingGates": [gate],
    }
    assert operators.conditions(plan) == [("Suspended", "False", "ResumeJobs", "jobset is resumed")]


def test_in_order_resumption_stops_at_the_first_that_has_not_started() -> None:
    order = {"startupPolicyOrder": "InOrder"}
    parent = job_set(replicated("a"), replicated("b"), startupPolicy=order, suspend=True)
    children = jobs(parent)
    parent["spec"]["suspend"] = False
    parent["status"] = {"conditions": [condition("Suspended", "True", "SuspendedJobs")]}
    plan = see(parent, service(parent), *children)
    assert [name for name, _ in operators.patches(plan)] == ["train-a-0"]
    assert ("Suspended", "True", "SuspendedJobs", "m") in operators.conditions(plan)


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("Job", ("JobCreationFailed", 'job "x" creation failed with error: no')),
        ("Service", ("HeadlessServiceCreationFailed", "no")),
        ("PersistentVolumeClaim", ("PVCCreationFailed", "no")),
    ],
)
def test_a_refused_creation_is_told(kind: str, event: tuple[str, str]) -> None:
    step = Create({"kind": kind, "metadata": {"name": "x"}})
    error = Refused({"message": "no", "code": 403})
    plan = refused(operators.look(job_set(replicated("a"))), step, error)
    assert operators.events(plan) == [("Warning", *event)]


@pytest.mark.rule("jobs B.10")
def test_children_are_found_by_their_owner_and_name() -> None:
    plan = see(job_set(replicated("a")))
    for obj in operators.created(plan):
        assert obj["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "name": "train",
                "uid": "uid-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    assert OPERATOR.own_name == "jobset.sigs.k8s.io/jobset-controller"
