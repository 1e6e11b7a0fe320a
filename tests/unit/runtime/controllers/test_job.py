"""What the Job controller decides at one look: the plan, step by step."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.frame import is_ours
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.controllers.job import OPERATOR, job_operator
from fleetqueue.runtime.controllers.job_backoff import Backoff
from fleetqueue.runtime.controllers.job_orphans import ORPHANS
from fleetqueue.runtime.controllers.job_sight import FAILURE_COUNT, FINALIZER, INDEX

pytestmark = pytest.mark.rule("jobs B.1")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = format_time(NOW - timedelta(hours=1))


def job(status: Object | None = None, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"job": "u"}}, "spec": {"containers": [{"name": "c"}]}}
    indexed = {"completionMode": "Indexed"} if spec.pop("indexed", False) else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "ns", "uid": "u"},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "selector": {"matchLabels": {"job": "u"}},
            "template": template,
            **indexed,
            **spec,
        },
        "status": status or {},
    }


def pod(name: str, phase: str = "Pending", index: int | None = None, **more: Any) -> Object:
    annotations = {} if index is None else {INDEX: str(index)}
    state = {"terminated": {"exitCode": more.pop("code", 1), "finishedAt": EARLIER}}
    ended = [{"name": "c", "state": state}] if phase in ("Failed", "Succeeded") else []
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "creationTimestamp": EARLIER,
        "labels": {"job": "u"},
        "annotations": {**annotations, **more.pop("annotations", {})},
        "finalizers": [FINALIZER],
        "ownerReferences": [owner_reference(job())],
    }
    status = {"phase": phase, "containerStatuses": ended, **more.pop("status", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, **more},
        "spec": {},
        "status": status,
    }


def decide(parent: Object, *pods: Object, now: datetime = NOW) -> Plan:
    return job_operator().decide(Look(parent, now, Listed([parent, *pods])))


def told(plan: Plan) -> list[str]:
    """The steps in short: what is made, deleted, released and said."""
    made = []
    for step in plan.steps:
        match step:
            case Create(obj):
                made.append(f"create {obj['metadata']['generateName']}")
            case Delete(obj):
                made.append(f"delete {obj['metadata']['name']}")
            case Patch(obj):
                made.append(f"release {obj['metadata']['name']}")
            case Note(reason):
                made.append(reason)
            case Status():
                made.append("status")
            case _:
                made.append(repr(step))
    return made


def last_status(plan: Plan) -> Object:
    return [step for step in plan.steps if isinstance(step, Status)][-1].status


def conditions(plan: Plan) -> list[str]:
    return [each["type"] for each in last_status(plan).get("conditions") or ()]


def test_a_new_job_starts_its_pods_and_its_clock() -> None:
    plan = decide(job(parallelism=2, completions=5))
    assert told(plan) == ["create work-", "create work-", "status", "status"]
    assert last_status(plan) == {
        "active": 2,
        "ready": 0,
        "terminating": 0,
        "startTime": "2026-01-01T12:00:00Z",
        "uncountedTerminatedPods": {},
    }


def test_an_ended_pod_is_listed_then_released_then_counted() -> None:
    plan = decide(job(completions=2), pod("a", "Succeeded"), pod("b", "Running"))
    assert told(plan) == ["status", "release a", "status"]
    first = plan.steps[0]
    assert isinstance(first, Status)
    assert first.status["uncountedTerminatedPods"] == {"succeeded": ["uid-a"]}
    assert "succeeded" not in first.status
    assert last_status(plan)["uncountedTerminatedPods"] == {}
    assert last_status(plan)["succeeded"] == 1


def test_a_crash_after_the_release_counts_the_pod_once() -> None:
    listed = {"uncountedTerminatedPods": {"succeeded": ["uid-a"]}, "startTime": EARLIER}
    released = pod("a", "Succeeded", finalizers=[])
    for pods in ([released], []):
        plan = decide(job(listed, completions=2, parallelism=0), *pods)
        assert last_status(plan)["succeeded"] == 1
        assert last_status(plan)["uncountedTerminatedPods"] == {}


def test_a_crash_before_the_release_counts_the_pod_once() -> None:
    listed = {"uncountedTerminatedPods": {"succeeded": ["uid-a"]}, "startTime": EARLIER}
    plan = decide(job(listed, completions=2, parallelism=0), pod("a", "Succeeded"))
    assert told(plan) == ["status", "release a", "status"]
    assert last_status(plan)["succeeded"] == 1


def test_the_last_success_completes_the_job() -> None:
    plan = decide(job(), pod("a", "Succeeded"))
    assert told(plan) == ["status", "release a", "status", "Completed"]
    assert conditions(plan) == ["SuccessCriteriaMet", "Complete"]
    assert last_status(plan)["completionTime"] == "2026-01-01T12:00:00Z"


def test_a_failed_job_takes_its_running_pods_along_and_waits_for_them() -> None:
    plan = decide(
        job(backoffLimit=0, parallelism=2, completions=2), pod("a", "Failed"), pod("b", "Running")
    )
    assert told(plan) == [
        "delete b",
        "SuccessfulDelete",
        "status",
        "release a",
        "release b",
        "status",
    ]
    assert conditions(plan) == ["FailureTarget"]
    assert last_status(plan)["failed"] == 2
    assert last_status(plan)["terminating"] == 1


def test_pods_that_a_success_policy_ends_do_not_count_as_failed() -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    plan = decide(
        job(indexed=True, completions=2, parallelism=2, successPolicy=policy),
        pod("a", "Succeeded", 0),
        pod("b", "Running", 1),
    )
    assert conditions(plan) == ["SuccessCriteriaMet"]
    assert "failed" not in last_status(plan)
    assert last_status(plan)["completedIndexes"] == "0"


def test_a_finished_job_only_lets_go_of_its_pods() -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert told(decide(job(done), pod("a", "Running"), pod("b", finalizers=[]))) == ["release a"]


def test_a_deleted_job_makes_nothing_and_lets_go() -> None:
    parent = job()
    parent["metadata"]["deletionTimestamp"] = EARLIER
    assert told(decide(parent)) == ["status", "status"]
    assert told(decide(parent, pod("a", "Running"))) == ["status", "release a", "status"]


def test_replacements_wait_twice_as_long_each_time() -> None:
    operator = job_operator(Backoff(base_seconds=100.0))
    for number, seconds in enumerate((100, 200, 400)):
        parent = job({"failed": number, "startTime": EARLIER})
        failed = pod(f"p{number}", "Failed", status={"containerStatuses": []})
        failed["metadata"]["creationTimestamp"] = format_time(NOW)
        plan = operator.decide(Look(parent, NOW, Listed([parent, failed])))
        assert plan.after == seconds
        assert told(plan) == ["status", f"release p{number}", "status"]


@pytest.mark.rule("jobs B.11")
def test_a_pod_of_a_job_that_is_backing_off_is_still_active() -> None:
    recent = {"terminated": {"exitCode": 1, "finishedAt": format_time(NOW)}}
    failed = pod("a", "Failed", status={"containerStatuses": [{"name": "c", "state": recent}]})
    plan = decide(job(parallelism=2, completions=2), failed, pod("b", "Running"))
    assert plan.after == 10.0
    assert last_status(plan)["active"] == 1


def test_each_index_waits_for_itself() -> None:
    recent = {"terminated": {"exitCode": 1, "finishedAt": format_time(NOW)}}
    waiting = pod("a", "Failed", 0, status={"containerStatuses": [{"name": "c", "state": recent}]})
    spec = {"indexed": True, "parallelism": 2, "completions": 2, "backoffLimitPerIndex": 3}
    plan = decide(job(**spec), waiting, pod("b", "Failed", 1))
    assert told(plan)[0] == "create work-1-"
    created = [step.obj for step in plan.steps if isinstance(step, Create)]
    assert [each["metadata"]["annotations"][FAILURE_COUNT] for each in created] == ["1"]
    plan = decide(job(**spec), waiting, pod("b", "Running", 1))
    assert "create" not in " ".join(told(plan))
    assert plan.after == 10.0


def test_surplus_pods_go_and_nothing_is_made_in_the_same_sync() -> None:
    spec = {"indexed": True, "parallelism": 2, "completions": 2}
    young = format_time(NOW)
    plan = decide(
        job(**spec),
        pod("a", "Running", 0),
        pod("b", "Pending", 0, creationTimestamp=young),
        pod("c", "Running", 7),
    )
    assert told(plan) == [
        "release b",
        "release c",
        "delete b",
        "delete c",
        "SuccessfulDelete",
        "SuccessfulDelete",
        "status",
        "status",
    ]


INDEXED: Object = {
    "indexed": True,
    "completions": 3,
    "parallelism": 3,
    "backoffLimitPerIndex": 1,
    "backoffLimit": 2**31 - 1,
}
TWICE = {FAILURE_COUNT: "1"}
IGNORES = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}]}
FAILS = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [7]}}]}
ENDS: dict[str, Any] = {
    "a failure within the limit": ({"backoffLimit": 1}, [pod("a", "Failed")], ""),
    "one beyond the limit": ({"backoffLimit": 0}, [pod("a", "Failed")], "BackoffLimitExceeded"),
    "one that is ignored": (
        {"backoffLimit": 0, "podFailurePolicy": IGNORES},
        [pod("a", "Failed", code=7)],
        "",
    ),
    "a deleted pod": (
        {"backoffLimit": 0},
        [pod("a", "Running", deletionTimestamp=EARLIER)],
        "BackoffLimitExceeded",
    ),
    "a deleted pod that holds its place": (
        {"backoffLimit": 0, "podReplacementPolicy": "Failed"},
        [pod("a", "Running", deletionTimestamp=EARLIER)],
        "",
    ),
    "as many failed indexes as allowed": (
        {**INDEXED, "maxFailedIndexes": 1},
        [pod("a", "Failed", 0, annotations=TWICE)],
        "",
    ),
    "one more": (
        {**INDEXED, "maxFailedIndexes": 1},
        [pod("a", "Failed", 0, annotations=TWICE), pod("b", "Failed", 1, annotations=TWICE)],
        "MaxFailedIndexesExceeded",
    ),
    "an index that the policy fails": (
        {**INDEXED, "maxFailedIndexes": 0, "podFailurePolicy": FAILS},
        [pod("a", "Failed", 0, code=7)],
        "MaxFailedIndexesExceeded",
    ),
    "an index that may fail once more": (
        {**INDEXED, "maxFailedIndexes": 0, "podFailurePolicy": FAILS},
        [pod("a", "Failed", 0, code=8)],
        "",
    ),
    "all indexes have ended, one badly": (
        {**INDEXED, "completions": 2},
        [pod("a", "Failed", 0, annotations=TWICE), pod("b", "Succeeded", 1)],
        "FailedIndexes",
    ),
    "too many restarts": (
        {"backoffLimit": 2, "template": {"spec": {"restartPolicy": "OnFailure"}}},
        [pod("a", "Running", status={"containerStatuses": [{"restartCount": 2}]})],
        "BackoffLimitExceeded",
    ),
    "the deadline": ({"activeDeadlineSeconds": 3600}, [pod("a")], "DeadlineExceeded"),
    "not yet the deadline": ({"activeDeadlineSeconds": 3601}, [pod("a")], ""),
}


@pytest.mark.parametrize(("spec", "pods", "reason"), ENDS.values(), ids=ENDS.keys())
def test_a_job_fails_for_one_of_these_reasons(
    spec: Object, pods: list[Object], reason: str
) -> None:
    plan = decide(job({"startTime": EARLIER}, **spec), *pods)
    found = last_status(plan).get("conditions") or []
    assert {each["reason"] for each in found} == ({reason} if reason else set())
    assert [each["type"] for each in found][:1] == (["FailureTarget"] if reason else [])


def test_an_ignored_failure_is_not_counted() -> None:
    plan = decide(job(podFailurePolicy=IGNORES), pod("a", "Failed", code=7), pod("b"))
    assert told(plan) == ["status", "release a", "status"]
    assert "failed" not in last_status(plan)


def test_a_pod_on_its_way_out_holds_its_place_where_only_failed_ones_are_replaced() -> None:
    leaving = pod("a", "Running", deletionTimestamp=EARLIER)
    plan = decide(job(podReplacementPolicy="Failed"), leaving)
    assert told(plan) == ["status", "status"]
    assert last_status(plan)["terminating"] == 1
    assert told(decide(job(), leaving)) == ["create work-", "status", "release a", "status"]


def test_a_refused_pod_is_told_and_the_others_are_counted() -> None:
    parent = job(parallelism=3, completions=3)
    look = Look(parent, NOW, Listed([parent, pod("a")]))
    error = Forbidden({"message": "exceeded quota", "code": 403})
    assert OPERATOR.refused is not None
    plan = OPERATOR.refused(look, Create({}), error)
    assert plan.steps[0] == Note("FailedCreate", "Error creating: exceeded quota", "Warning")
    assert last_status(plan)["active"] == 1


def test_a_namespace_that_ends_is_no_news() -> None:
    parent = job()
    error = Forbidden({"details": {"causes": [{"reason": "NamespaceTerminating"}]}})
    assert OPERATOR.refused is not None
    plan = OPERATOR.refused(Look(parent, NOW, Listed([parent])), Create({}), error)
    assert told(plan) == ["status", "status"]


@pytest.mark.rule("MB-5")
@pytest.mark.parametrize(
    ("manager", "ours"),
    [(None, True), ("kubernetes.io/job-controller", True), ("kueue.x-k8s.io/multikueue", False)],
)
def test_a_job_that_names_another_controller_is_left_alone(manager: str | None, ours: bool) -> None:
    assert is_ours(OPERATOR, job(managedBy=manager)) is ours


def test_an_indexed_pod_knows_its_index() -> None:
    plan = decide(job(indexed=True, completions=2, parallelism=2))
    made = next(step.obj for step in plan.steps if isinstance(step, Create))
    assert made["metadata"]["labels"][INDEX] == "0"
    assert made["metadata"]["annotations"][INDEX] == "0"
    assert made["spec"]["hostname"] == "work-0"
    variable = made["spec"]["containers"][0]["env"][0]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


FREED = {
    "nobody controls it": ([], [], True),
    "its job is gone": ([owner_reference(job())], [], True),
    "its job runs": ([owner_reference(job())], [job()], False),
    "its job has finished": (
        [owner_reference(job())],
        [job({"conditions": [{"type": "Failed", "status": "True"}]})],
        True,
    ),
    "its finished job is somebody else's": (
        [owner_reference(job())],
        [job({"conditions": [{"type": "Failed", "status": "True"}]}, managedBy="x.io/y")],
        False,
    ),
    "another kind controls it": ([{**owner_reference(job()), "kind": "Other"}], [], False),
}


@pytest.mark.parametrize(("owners", "jobs", "is_freed"), FREED.values(), ids=FREED.keys())
def test_pods_that_nobody_counts_are_freed(owners: Any, jobs: Any, is_freed: bool) -> None:
    orphan = pod("a", ownerReferences=owners)
    plan = ORPHANS.decide(Look(orphan, NOW, Listed([orphan, *jobs])))
    assert told(plan) == (["release a"] if is_freed else [])


def test_a_deleted_pod_is_looked_at_again_while_its_job_seems_to_be_there() -> None:
    orphan = pod("a", deletionTimestamp=EARLIER)
    assert ORPHANS.decide(Look(orphan, NOW, Listed([orphan, job()]))).after == 5.0
