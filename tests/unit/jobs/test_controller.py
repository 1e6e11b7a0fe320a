"""The steps that a job's controller takes, without a cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.job_looks import (
    KUEUE,
    NOW,
    admitted,
    created,
    decide,
    flavor,
    job,
    names,
    owned_by,
    pods,
    steps,
    thing,
    with_settings,
)

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.times import format_time
from fleetqueue.base.leisure import Leisure
from fleetqueue.jobs import controller
from fleetqueue.jobs.kinds import batch_job
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.plan import Apply, Create, Delete, Note, Patch, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.testing import named

pytestmark = [pytest.mark.rule("jobs A.4"), pytest.mark.rule("kueue 9.3")]

K = "kueue.x-k8s.io"


def told(plan: Plan) -> list[tuple[str, str]]:
    return [(note.reason, note.message) for note in steps(plan, Note)]


def ready(workload: Object) -> Object:
    """With PodsReady as it should be, so that this step is passed."""
    reason = "WaitForStart"
    return status_of.with_condition(workload, "PodsReady", False, reason, "m", NOW)


def running(**more: Any) -> Object:
    return job(spec={"suspend": False}, **more)


@pytest.mark.rule("jobs A.2")
@pytest.mark.parametrize(
    ("made", "settings"),
    [
        pytest.param(job(queue=""), with_settings(), id="no queue"),
        pytest.param(
            job(), with_settings(namespaces=with_settings().namespaces.__class__((), True)),
            id="another namespace",
        ),
    ],
)  # fmt: skip
def test_who_is_not_looked_at(made: Object, settings: Any) -> None:
    assert decide(made, settings=settings).steps == []


@pytest.mark.rule("kueue 9.2")
def test_without_a_queue_name_where_all_jobs_are_managed() -> None:
    made = created(job(queue=""), settings=with_settings(manages_without_queue_name=True))
    assert "queueName" not in made["spec"]


@pytest.mark.rule("jobs A.1")
@pytest.mark.rule("kueue 2.2")
def test_what_a_workload_takes_over_from_its_job() -> None:
    given = job(
        labels={"team": "a", "other": "b", f"{K}/max-exec-time-seconds": "9"},
        annotations={
            f"provreq.{K}/size": "5",
            "fleetqueue.dev/cluster-selector": "region=eu",
            "fleetqueue.dev/best-fit-step": "2",
            "fleetqueue.dev/other": "stays",
            f"{K}/admission-gated-by": "a.io/b",
            "note": "mine",
        },
    )
    made = created(given, settings=with_settings(label_keys_to_copy=("team", "missing")))
    assert made["metadata"]["labels"] == {"team": "a", f"{K}/job-uid": "uid-sample"}
    assert made["metadata"]["annotations"] == {
        f"provreq.{K}/size": "5",
        "fleetqueue.dev/cluster-selector": "region=eu",
        "fleetqueue.dev/best-fit-step": "2",
        f"{K}/admission-gated-by": "a.io/b",
    }
    assert made["spec"]["maximumExecutionTimeSeconds"] == 9


def test_a_uid_that_is_no_label_is_not_one() -> None:
    given = job()
    given["metadata"]["uid"] = "-odd-"
    assert created(given)["metadata"]["labels"] == {}


@pytest.mark.rule("kueue 3.12")
def test_variables_of_one_name_become_one() -> None:
    template = pods()
    variables = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
        {"name": "A", "value": "3"},
    ]
    template["spec"]["containers"][0]["env"] = variables
    given = job(template=template)
    workload = created(given)
    found = workload["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["env"]
    assert found == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    assert names(decide(given, ready(workload))) == []


def test_a_job_with_active_pods_waits_for_its_workload() -> None:
    assert decide(job(status={"active": 1})).steps == []
    elastic = job(status={"active": 1}, annotations={f"{K}/elastic-job": "true"})
    assert names(decide(elastic)) == ["Create", "Note"]


def test_a_running_job_without_a_workload_is_stopped() -> None:
    plan = decide(running())
    assert ("Stopped", "Missing Workload; unable to restore pod templates") in told(plan)


def test_a_job_that_ended_gets_no_workload() -> None:
    done = running(status={"conditions": [{"type": "Complete", "status": "True"}]})
    assert decide(done).steps == []


@pytest.mark.rule("jobs A.3")
def test_too_many_owners_are_told() -> None:
    chain = [job(f"j{number}", queue="") for number in range(12)]
    for index in range(10, -1, -1):
        chain[index] = owned_by(chain[index], chain[index + 1])
    plan = decide(chain[0], above=chain[1:])
    [note] = steps(plan, Note)
    assert (note.reason, note.type) == ("JobNestingTooDeep", "Warning")
    assert note.message == (
        "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10"
    )


@pytest.mark.rule("jobs A.3", "kueue 10.3")
def test_a_workload_that_is_deleted_does_not_wait_for_owners_that_are_gone() -> None:
    workload = created(job())
    workload["metadata"]["deletionTimestamp"] = format_time(NOW)
    child = owned_by(job(), PARENT)
    assert names(decide(child, workload)) == ["Patch"]

    off = with_settings(skips_ancestors_of_deleted=False)
    waiting = decide(child, workload, settings=off)
    assert (waiting.steps, waiting.after) == ([], 5)


@pytest.mark.rule("jobs A.18")
def test_a_job_that_has_ended_is_not_stopped_when_its_workload_is_deleted() -> None:
    """It could not be put back as it was, and its Workload would never go."""
    workload = admitted(created(job()))
    workload["metadata"]["deletionTimestamp"] = format_time(NOW)
    assert [reason for reason, _ in told(decide(running(), workload))] == ["Stopped"]

    done = running(status={"conditions": [{"type": "Complete", "status": "True"}]})
    [step] = decide(done, workload).steps
    assert isinstance(step, Patch)
    assert step.patch["metadata"]["finalizers"] in (None, [])


PARENT = thing(
    "jobset.x-k8s.io/v1alpha2", "JobSet", "parent", labels={f"{K}/queue-name": "lq"}, spec={}
)


def of_parent(**conditions: bool) -> Object:
    made = owned_by(thing(KUEUE, "Workload", "w", spec={"podSets": []}), PARENT)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    for type, value in conditions.items():
        made = status_of.with_condition(made, type, value, "R", "m", NOW)
    return made


# fmt: off
CHILDREN = {  #                              parent's workload                     elastic  stopped
    "no workload":                          (None,                                  False,   True),
    "waits":                                (of_parent(QuotaReserved=False),        False,   True),
    "admitted":                             (of_parent(Admitted=True),              False,   False),
    "finished":                             (of_parent(Admitted=True, Finished=True), False, True),
    "elastic and waits":                    (of_parent(QuotaReserved=False),        True,    False),
    "elastic and evicted":                  (of_parent(Evicted=True),               True,    True),
}
# fmt: on


@pytest.mark.rule("jobs A.3")
@pytest.mark.rule("kueue 9.2")
@pytest.mark.parametrize(("workload", "elastic", "stopped"), CHILDREN.values(), ids=CHILDREN)
def test_a_child_runs_while_its_parent_may(
    workload: Object | None, elastic: bool, stopped: bool
) -> None:
    annotations = {f"{K}/elastic-job": "true"} if elastic else {}
    child = owned_by(running(annotations=annotations), PARENT)
    around = [] if workload is None else [workload]
    plan = decide(child, *around, above=[PARENT])
    assert names(plan) == (["Patch", "Note"] if stopped else [])
    if stopped:
        assert told(plan) == [("Suspended", "Kueue managed child job suspended")]
    assert decide(owned_by(job(), PARENT), above=[PARENT]).steps == []


@pytest.mark.rule("jobs A.9")
def test_a_prebuilt_workload_that_is_missing_is_waited_for() -> None:
    given = running(annotations={f"{K}/prebuilt-workload-name": "w"})
    plan = decide(given)
    assert ("Stopped", "missing workload") in told(plan)
    assert plan.after is not None


@pytest.mark.rule("kueue 9.4")
def test_a_prebuilt_workload_of_another_is_none() -> None:
    given = job(annotations={f"{K}/prebuilt-workload-name": "w"})
    foreign = owned_by(thing(KUEUE, "Workload", "w", spec={"podSets": []}), PARENT)
    plan = decide(given, foreign)
    assert plan.steps == []
    assert plan.after is not None


def test_on_hold_gives_quota_back() -> None:
    spec = {"rayClusterSpec": {"headGroupSpec": {"template": pods()}}, "suspend": True}
    labels = {f"{K}/queue-name": "lq"}
    given = thing("ray.io/v1", "RayJob", "r", labels=labels, spec=spec)
    workload = admitted(created(given, framework="ray.io/rayjob"))
    held = {**given, "status": {"jobDeploymentStatus": "ValidationFailed"}}
    plan = decide(held, workload, framework="ray.io/rayjob")
    [step] = steps(plan, Apply)
    found = step.obj["status"]["conditions"][0]
    assert (found["status"], found["reason"], found["message"]) == (
        "False",
        "OnHold",
        "Job is on hold",
    )
    assert step.manager == "kueue-admission"


@pytest.mark.rule("kueue 3.10")
@pytest.mark.parametrize(("type", "reason"), [("Complete", "Succeeded"), ("Failed", "Failed")])
def test_the_end_of_a_job_is_the_end_of_its_workload(type: str, reason: str) -> None:
    workload = ready(admitted(created(job())))
    condition = {"type": type, "status": "True", "message": "it is over"}
    plan = decide(job(status={"conditions": [condition]}), workload)
    [step] = steps(plan, Apply)
    finished = next(each for each in step.obj["status"]["conditions"] if each["type"] == "Finished")
    assert (finished["reason"], finished["message"]) == (reason, "it is over")
    assert step.obj["metadata"]["resourceVersion"] == "5"


@pytest.mark.rule("FLOW-52")
@pytest.mark.parametrize(
    ("seconds", "rest"),
    [(0, 15.0), (5, 10.0), (15, None), (60, None), (-5, 10.0), (-3600, None)],
)
def test_the_end_of_a_job_that_ran_elsewhere_is_told_by_who_brought_it(
    seconds: int, rest: float | None
) -> None:
    workload = status_of.changed(ready(admitted(created(job()))), clusterName="worker")
    ended = format_time(NOW - timedelta(seconds=seconds))
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": ended}
    plan = decide(job(status={"conditions": [condition]}), workload)

    assert plan.after == rest
    assert len(steps(plan, Apply)) == (0 if rest else 1)


class TestWhileMuchHappens:
    """Readiness is told less."""

    @staticmethod
    def busy() -> Leisure:
        made = Leisure(at_once=1)
        assert made.take(NOW)
        return made

    @pytest.mark.rule("kueue 3.7")
    def test_a_job_that_starts_is_not_told_before_that_it_does_not_run(self) -> None:
        workload = admitted(created(job()))
        plan = decide(job(), workload, leisure=self.busy())

        assert steps(plan, Apply) == []
        assert [each.patch["spec"]["suspend"] for each in steps(plan, Patch)] == [False]
        [told] = steps(decide(job(), workload), Apply)
        assert told.manager == "kueue-job-controller-PodsReady"

    @pytest.mark.rule("kueue 3.7")
    @pytest.mark.parametrize(
        ("blocks", "seconds", "rest"), [(False, 0.5, 1.5), (False, 2, None), (True, 0, None)]
    )
    def test_that_its_pods_are_ready_is_told_a_little_later(
        self, blocks: bool, seconds: float, rest: float | None
    ) -> None:
        workload = admitted(created(job()))
        settings = replace(with_settings(), blocks_admission=blocks)
        now = NOW + timedelta(seconds=seconds)
        given = running(status={"ready": 1, "active": 1})
        plan = decide(given, workload, settings=settings, leisure=self.busy(), now=now)

        assert plan.after == rest
        assert len(steps(plan, Apply)) == (0 if rest else 1)


@pytest.mark.rule("kueue 3.9")
def test_no_more_pods_are_reclaimed_than_there_are() -> None:
    spec = {"parallelism": 5, "completions": 2}
    workload = admitted(created(job(spec=spec)))
    plan = decide(job(spec=spec, status={"succeeded": 2}), workload)
    [step] = steps(plan, Apply)
    assert step.obj["status"] == {"reclaimablePods": [{"name": "main", "count": 2}]}
    assert step.manager == "kueue-reclaimable-pods"
    off = with_settings(reclaimable_pods=False)
    plan = decide(job(spec=spec, status={"succeeded": 2}), workload, settings=off)
    assert [each.manager for each in steps(plan, Apply)] == ["kueue-job-controller-PodsReady"]


@pytest.mark.rule("kueue 3.9", "kueue 9.9")
def test_pods_are_reclaimed_anew_when_an_elastic_job_shrinks() -> None:
    """Of four indexes two are done and one pod runs at a time: nothing is given back of that."""
    elastic = {"kueue.x-k8s.io/elastic-job": "true"}
    spec = {"completions": 4, "completionMode": "Indexed"}
    status = {"succeeded": 2, "completedIndexes": "0,1", "active": 1}
    workload = admitted(created(job(spec={**spec, "parallelism": 4}, annotations=elastic)))
    workload["spec"]["podSets"][0]["count"] = 1
    workload["status"]["reclaimablePods"] = [{"name": "main", "count": 2}]
    shrunk = {**spec, "parallelism": 1, "suspend": False}
    given = job(spec=shrunk, status=status, annotations=elastic)
    [step] = [
        each
        for each in steps(decide(given, workload), Apply)
        if each.manager == "kueue-reclaimable-pods"
    ]
    assert step.obj["status"] == {"reclaimablePods": []}


@pytest.mark.rule("kueue 3.7")
def test_readiness_is_not_told_where_nobody_waits_for_it() -> None:
    off = with_settings(waits_for_pods_ready=False)
    workload = created(job(), settings=off)
    assert decide(job(), workload, settings=off).steps == []
    assert [step.manager for step in steps(decide(job(), workload), Apply)] == [
        "kueue-job-controller-PodsReady"
    ]


@pytest.mark.rule("kueue 3.4")
def test_an_evicted_job_with_active_pods_keeps_its_quota() -> None:
    workload = status_of.evict(ready(admitted(created(job()))), "Preempted", "m", NOW)
    told_ready = status_of.with_condition(workload, "PodsReady", False, "WaitForStart", "m", NOW)
    assert decide(job(status={"active": 1}), told_ready).steps == []
    [step] = steps(decide(job(), told_ready), Apply)
    assert "admission" not in step.obj["status"]


@pytest.mark.rule("kueue 3.10")
@pytest.mark.parametrize(
    ("reason", "cause", "seconds", "deleted"),
    [
        ("Deactivated", "RequeuingLimitExceeded", 59, False),
        ("Deactivated", "RequeuingLimitExceeded", 61, True),
        ("Deactivated", "", 61, False),
    ],
)
def test_retention_after_deactivation(reason: str, cause: str, seconds: int, deleted: bool) -> None:
    settings = with_settings(deletes_deactivated_after=timedelta(minutes=1))
    workload = ready(created(job()))
    workload["spec"]["active"] = False
    workload = status_of.evict(workload, reason, "m", NOW, cause=cause)
    plan = decide(job(), workload, settings=settings, now=NOW + timedelta(seconds=seconds))
    assert bool(steps(plan, Delete)) is deleted
    if cause and not deleted:
        assert plan.after == 1


@pytest.mark.rule("jobs A.6")
@pytest.mark.rule("kueue 9.5")
@pytest.mark.rule("kueue 8.10")
def test_what_is_put_into_the_template_at_the_start() -> None:
    given = job()
    workload = ready(admitted(created(given), {"cpu": "spot", "memory": "spot"}))
    workload["metadata"]["labels"][f"{K}/multikueue-origin"] = "here"
    assignment = workload["status"]["admission"]["podSetAssignments"][0]
    assignment["topologyAssignment"] = {"levels": ["rack"], "slices": []}
    toleration = {"key": "spot", "operator": "Exists"}
    spot = flavor("spot", nodeLabels={"pool": "a"}, tolerations=[toleration])
    plan = decide(given, workload, spot)
    [step] = steps(plan, Patch)
    name = workload["metadata"]["name"]
    assert step.patch["spec"] == {
        "suspend": False,
        "template": {
            "metadata": {
                "labels": {
                    f"{K}/podset": "main",
                    f"{K}/local-queue-name": "lq",
                    f"{K}/cluster-queue-name": "cq",
                    f"{K}/multikueue-worker-workload-pod": "true",
                },
                "annotations": {
                    f"{K}/workload": name,
                    f"{K}/podset-unconstrained-topology": "true",
                },
            },
            "spec": {
                "nodeSelector": {"pool": "a"},
                "tolerations": [toleration],
                "schedulingGates": [{"name": f"{K}/topology"}],
            },
        },
    }
    assert told(plan) == [("Started", "Admitted by clusterQueue cq")]


def test_a_queue_whose_name_is_no_label_is_not_put_on_pods() -> None:
    workload = ready(admitted(created(job())))
    workload["status"]["admission"]["clusterQueue"] = "a.b"
    [step] = steps(decide(job(), workload), Patch)
    labels = step.patch["spec"]["template"]["metadata"]["labels"]
    assert f"{K}/cluster-queue-name" not in labels
    off = with_settings(queue_labels_for_pods=False, topology=False)
    [step] = steps(decide(job(), workload, settings=off), Patch)
    assert step.patch["spec"]["template"]["metadata"] == {"labels": {f"{K}/podset": "main"}}


def test_a_missing_flavor_is_waited_for() -> None:
    workload = ready(admitted(created(job()), {"cpu": "nowhere"}))
    plan = decide(job(), workload)
    assert plan.steps == []
    assert plan.after is not None


@pytest.mark.rule("jobs A.5")
@pytest.mark.rule("kueue 9.4")
def test_the_default_class_of_the_cluster_counts_last() -> None:
    classes = [
        thing("scheduling.k8s.io/v1", "PriorityClass", name, cluster=True, value=value,
              globalDefault=True)
        for name, value in (("a", 9), ("b", 3))
    ]  # fmt: skip
    made = created(job(), *classes)
    assert made["spec"]["priority"] == 3
    assert made["spec"]["priorityClassRef"]["name"] == "b"


@pytest.mark.rule("jobs A.5")
def test_a_class_of_pods_is_not_replaced_by_one_of_the_queue() -> None:
    high = thing(KUEUE, "WorkloadPriorityClass", "high", cluster=True, value=9)
    label = {f"{K}/priority-class": "high"}
    workload = ready(created(job()))
    plan = decide(job(labels=label), workload, high)
    assert steps(plan, Patch)[0].patch["spec"]["priority"] == 9
    of_pods = {**workload["spec"], "priorityClassRef": {"kind": "PriorityClass", "name": "p"}}
    assert decide(job(labels=label), {**workload, "spec": of_pods}, high).steps == []
    reserved = ready(admitted(workload))
    plan = decide(job(labels=label), reserved, high)
    assert [note.reason for note in steps(plan, Note)] == ["Started"]


@pytest.mark.rule("jobs A.5")
def test_what_does_not_make_a_workload_another() -> None:
    workload = ready(created(job()))
    template = pods(labels={"more": "labels"})
    template["spec"] |= {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}}
    assert decide(job(template=template), workload).steps == []
    template["spec"]["tolerations"] = [{"key": "t"}]
    plan = decide(job(template=template), workload)
    assert [note.reason for note in steps(plan, Note)] == ["UpdatedWorkload"]
    assert "active" not in steps(plan, Patch)[0].patch["spec"]


@pytest.mark.rule("jobs A.5")
def test_only_one_workload_is_left() -> None:
    first = ready(created(job()))
    second = {**first, "metadata": {**first["metadata"], "name": "z", "uid": "uid-z"}}
    plan = decide(job(), first, second)
    assert [step.obj["metadata"]["name"] for step in steps(plan, Delete)] == ["z"]
    assert told(plan) == [("DeletedWorkload", "Deleted not matching Workload: ns/z")]


@pytest.mark.rule("kueue 9.8")
def test_long_messages_of_events_are_cut() -> None:
    workload = ready(admitted(created(job())))
    workload = status_of.evict(workload, "Preempted", "m" * 2000, NOW)
    plan = decide(running(template=pods()), workload)
    message = told(plan)[-1][1]
    assert len(message) == 1024
    assert message.endswith(" ...")


def test_a_job_being_deleted_lets_its_workload_go() -> None:
    workload = ready(created(job()))
    plan = decide(job(deletionTimestamp="now"), workload)
    assert names(plan) == ["Apply", "Patch"]
    assert steps(plan, Patch)[0].patch["metadata"]["finalizers"] is None
    other = {**workload, "metadata": {**workload["metadata"]}}
    other = owned_by(other, thing("batch/v1", "Job", "sample"))
    other["metadata"]["ownerReferences"][0]["uid"] = "of another"
    assert decide(job(deletionTimestamp="now"), other).steps == []


def test_creations_are_told() -> None:
    plan = decide(job())
    [made] = steps(plan, Create)
    name = made.obj["metadata"]["name"]
    assert told(plan) == [("CreatedWorkload", f"Created Workload: ns/{name}")]


@pytest.mark.rule("kueue 9.9")
def test_a_new_class_reaches_both_slices() -> None:
    elastic = {f"{K}/elastic-job": "true"}
    high = thing(KUEUE, "WorkloadPriorityClass", "high", cluster=True, value=9)
    low = thing(KUEUE, "WorkloadPriorityClass", "low", cluster=True, value=1)

    def sized(count: int, name: str) -> Object:
        return running(annotations=elastic, labels={f"{K}/priority-class": name}) | {
            "spec": {"suspend": False, "template": pods(), "parallelism": count}
        }

    first = ready(admitted(created(sized(2, "low"), low)))
    first["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    second = ready(created(sized(3, "low"), low, first))
    second["metadata"] |= {
        "name": "second",
        "uid": "uid-2",
        "creationTimestamp": "2026-01-01T00:00:01Z",
    }
    patched: set[str] = set()
    for _ in range(2):
        plan = decide(sized(3, "high"), low, high, first, second)
        for step in steps(plan, Patch):
            patched.add(step.obj["metadata"]["name"])
            step.obj["spec"] |= step.patch["spec"]
    assert patched == {first["metadata"]["name"], "second"}


@pytest.mark.rule("jobs A.5")
@pytest.mark.rule("kueue 9.4")
@pytest.mark.parametrize(
    ("suspended", "size", "fits"), [(False, 3, True), (False, 5, False), (True, 5, True)]
)
def test_a_running_job_has_the_size_that_was_admitted(
    suspended: bool, size: int, fits: bool
) -> None:
    def sized(count: int, suspend: bool) -> Object:
        spec = {"parallelism": count, "suspend": suspend}
        return job(annotations={f"{K}/job-min-parallelism": "2"}, spec=spec)

    workload = ready(admitted(created(sized(5, True)), main=3))
    plan = decide(sized(size, suspended), workload)
    deleted = [reason for reason, _ in told(plan) if reason == "DeletedWorkload"]
    assert deleted == ([] if fits else ["DeletedWorkload"])


@pytest.mark.parametrize(
    ("conditions", "is_urgent"),
    [((), False), (("Admitted",), True), (("Admitted", "Finished"), False)],
    ids=["new", "it may run", "it is over"],
)
def test_what_may_run_goes_before_what_is_new_and_what_is_over(
    conditions: tuple[str, ...], is_urgent: bool
) -> None:
    [operator] = controller.operators([batch_job.JOB], JobSettings())
    told = [{"type": each, "status": "True"} for each in conditions]
    workload = {**named("Workload", WORKLOAD.api_version, "w"), "status": {"conditions": told}}

    assert operator.is_urgent is not None
    assert operator.is_urgent(workload) is is_urgent
