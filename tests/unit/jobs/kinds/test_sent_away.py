"""What every kind keeps to when its jobs run on another cluster, here and there."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import ray, train_jobs
from tests.support.dispatched import handed, handed_example, patched, sight, started, workload_of
from tests.support.job_looks import (
    KINDS,
    NAMESPACE,
    NOW,
    QUEUE,
    SETTINGS,
    created,
    defaulted,
    job,
    pods,
    steps,
    thing,
)
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.base import paths
from fleetqueue.jobs import identity, names, webhook, workloads
from fleetqueue.jobs.kind import NotYet, Verdict
from fleetqueue.jobs.kinds import leader_worker_set, stateful_set
from fleetqueue.jobs.pod_sets import are_equivalent, pod_sets_of
from fleetqueue.jobs.serving.stateful_set import decide, decide_gone
from fleetqueue.jobs.settings import external_kind
from fleetqueue.kube.plan import Apply, Create, Look, Patch, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed

K = "kueue.x-k8s.io"
IDS = [each.framework for each in EXAMPLES]
ENDING = [each for each in EXAMPLES if each.done is not None]
BATCH = KINDS["batch/job"]


@pytest.mark.rule("KIND-6")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_pod_sets_have_the_names_that_everybody_reads(example: Example) -> None:
    made = handed_example(example)
    found = {each["name"]: each["count"] for each in pod_sets_of(example.kind, sight(made))}
    assert list(found.items()) == list(example.pod_sets.items())


@pytest.mark.rule("KIND-6")
def test_the_pod_sets_of_what_serves() -> None:
    template = {"size": 3, "workerTemplate": pods(), "leaderTemplate": pods()}
    spec = {"replicas": 2, "leaderWorkerTemplate": template}
    whole = thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "s", spec=spec)
    kind = leader_worker_set.JOB
    assert [each["name"] for each in pod_sets_of(kind, sight(whole))] == ["leader", "worker"]
    del template["leaderTemplate"]
    assert [each["name"] for each in pod_sets_of(kind, sight(whole))] == ["main"]
    other = thing("apps/v1", "StatefulSet", "s", spec={"template": pods()})
    [found] = pod_sets_of(stateful_set.JOB, sight(other))
    assert (found["name"], found["count"]) == ("main", 1)


@pytest.mark.rule("KIND-5")
@pytest.mark.rule("FLOW-38")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_job_that_is_run_elsewhere_is_let_go_here_too(example: Example) -> None:
    made = handed_example(example)
    running = started(example.kind, made, workload_of(example.kind, made))
    assert paths.get(running, example.kind.suspend) is False
    assert example.kind.runs_elsewhere is None


@pytest.mark.rule("KIND-1")
@pytest.mark.rule("AW-1")
@pytest.mark.parametrize("example", ENDING, ids=[each.framework for each in ENDING])
def test_how_jobs_end(example: Example) -> None:
    made = {**handed_example(example), "status": example.done}
    assert example.kind.verdict(sight(made)) == Verdict(example.message, True)


@pytest.mark.rule("RAY-2")
@pytest.mark.rule("RSV-1")
def test_what_never_ends() -> None:
    never = {name for name, kind in KINDS.items() if kind.finished is None}
    assert {"ray.io/raycluster", "ray.io/rayservice"} <= never
    assert KINDS["ray.io/rayservice"].suspend == "spec.rayClusterConfig.suspend"


@pytest.mark.rule("RAY-1")
def test_a_ray_job_of_somebody_elses_cluster_is_left_alone() -> None:
    kind = KINDS["ray.io/rayjob"]
    made = ray.ray_job_of(clusterSelector={"a": "b"})
    assert kind.skips(sight(made))
    assert not kind.skips(sight(ray.ray_job_of(ray.worker_group("a"))))


@pytest.mark.rule("JOB-4")
def test_a_job_that_stops_has_not_started() -> None:
    made = handed(BATCH, job()) | {"status": {"startTime": "x", "active": 1}}
    made["spec"]["suspend"] = False
    assert BATCH.stop is not None
    found = BATCH.stop(sight(made), None)
    [forgets] = [each for each in found if isinstance(each, Patch) and each.subresource]
    assert forgets.patch == {"status": {"startTime": None}}
    stopped = patched(made, found)
    assert stopped["spec"]["suspend"] is True


@pytest.mark.rule("EL-1")
def test_who_may_be_resized_on_a_worker() -> None:
    resized = {name for name, kind in KINDS.items() if kind.supports_slices}
    assert {"batch/job", "ray.io/raycluster"} <= resized


@pytest.mark.rule("EL-7")
def test_a_cluster_that_scales_itself_cannot_be_sent_away() -> None:
    made = ray.ray_cluster_of(ray.worker_group("a"), enableInTreeAutoscaling=True)
    given = handed(KINDS["ray.io/raycluster"], made, annotations={f"{K}/elastic-job": "true"})
    given["metadata"]["namespace"] = "ns"
    check = KINDS["ray.io/raycluster"].validate
    assert check is not None
    assert next(str(error) for error in check(sight(given), None)) == (
        "spec.enableInTreeAutoscaling: Forbidden: in-tree autoscaling is not supported for a"
        " MultiKueue-managed elastic RayCluster"
    )


# TrainJobs and their runtimes


def train_job() -> Object:
    [example] = [each for each in EXAMPLES if each.framework.endswith("trainjob")]
    return handed_example(example)


@pytest.mark.rule("TJ-2")
@pytest.mark.rule("S002-8")
def test_a_train_job_waits_for_its_runtime() -> None:
    kind, made = KINDS["trainer.kubeflow.org/trainjob"], train_job()
    with pytest.raises(NotYet, match="runtime 'torch-distributed' not found"):
        pod_sets_of(kind, replace(sight(made), source=Listed([])))
    made["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    runtime = train_jobs.runtime() | {"kind": "TrainingRuntime"}
    runtime["metadata"]["namespace"] = "default"
    [found] = pod_sets_of(kind, replace(sight(made), source=Listed([runtime])))
    assert (found["name"], found["count"]) == ("node", 2)


@pytest.mark.rule("TJ-3")
@pytest.mark.rule("S002-9")
def test_another_runtime_on_the_worker_makes_it_another_job() -> None:
    kind, made = KINDS["trainer.kubeflow.org/trainjob"], train_job()
    other = train_jobs.runtime()
    path = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].image"
    paths.set_in_place(other, path, "another")
    here = pod_sets_of(kind, sight(made))
    there = pod_sets_of(kind, replace(sight(made), source=Listed([other])))
    assert not are_equivalent(here, there)


@pytest.mark.rule("TJ-5")
def test_what_is_admitted_goes_into_the_queues_patch_while_the_job_waits() -> None:
    kind, made = KINDS["trainer.kubeflow.org/trainjob"], train_job()
    running = started(kind, made, workload_of(kind, made))
    [patch] = running["spec"]["runtimePatches"]
    assert patch["manager"] == f"{K}/manager"
    [entry] = paths.get(patch, "trainingRuntimeSpec.template.spec.replicatedJobs")
    pod_spec = entry["template"]["spec"]["template"]["spec"]
    assert pod_spec["nodeSelector"] == {"pool": "of-the-manager"}


# Names and notes


@pytest.mark.rule("NAME-3")
def test_the_workloads_of_an_elastic_job_are_told_apart_by_its_generation() -> None:
    def name(kind: str, made: Object, generation: int, **notes: str) -> str:
        annotations = {f"{K}/elastic-job": "true", **notes}
        given = handed(KINDS[kind], made, generation=generation, annotations=annotations)
        return workloads.workload_name(KINDS[kind], sight(given))

    found = name("batch/job", job(), 7)
    assert found == names.workload_name("Job", "batch", "sample", "uid-of-job", extra="7")
    cluster = ray.ray_cluster_of(ray.worker_group("a"))
    said = {f"{K}/raycluster-generation": "3"}
    assert name("ray.io/raycluster", cluster, 2, **said) == names.workload_name(
        "RayCluster", "ray.io", "c", "uid-of-job", extra="2_3"
    )


@pytest.mark.rule("NAME-5")
def test_the_name_for_a_pod_alone() -> None:
    made = thing("v1", "Pod", "p", spec=pods()["spec"])
    found = workloads.workload_name(KINDS["pod"], sight(made))
    assert found == names.workload_name("Pod", "", "p", "uid-p")


@pytest.mark.rule("PV-2")
def test_what_a_job_says_to_the_autoscaler_is_in_its_workload() -> None:
    notes = {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "9"}
    found = created(job(annotations=notes))
    assert notes.items() <= found["metadata"]["annotations"].items()


@pytest.mark.rule("EXT-3")
def test_nobody_here_writes_kinds_of_other_controllers() -> None:
    custom = external_kind("Custom.v1.example.com")
    settings = replace(SETTINGS, external=(custom,))
    assert custom not in [each.kind for each in webhook.webhooks([BATCH], settings)]


# StatefulSets


def stateful(replicas: int = 3, **more: Any) -> Object:
    spec = {"replicas": replicas, "template": pods()}
    made = thing("apps/v1", "StatefulSet", "db", labels=QUEUE, spec=spec, **more)
    return defaulted(made, framework="statefulset")


def see(made: Object, *around: Object) -> Plan:
    return decide(SETTINGS, Look(made, NOW, Listed([NAMESPACE, *around])))


def made_for(whole: Object) -> Object:
    [found] = steps(see(whole), Create)
    return {**found.obj, "metadata": {**found.obj["metadata"], "resourceVersion": "1", "uid": "w"}}


@pytest.mark.rule("STS-1")
@pytest.mark.rule("STS-2")
def test_one_workload_for_all_pods_of_a_set_and_none_for_a_mirror() -> None:
    workload = made_for(stateful())
    [reference] = workload["metadata"]["ownerReferences"]
    assert "controller" not in reference
    assert workload["spec"]["podSets"][0]["count"] == 3
    notes = workload["metadata"]["annotations"]
    assert notes[f"{K}/job-owner-gvk"] == "apps/v1, Kind=StatefulSet"
    assert notes[f"{K}/job-owner-name"] == "db"
    mirror = stateful()
    mirror["metadata"]["labels"] = {**QUEUE, f"{K}/multikueue-origin": "multikueue"}
    assert see(mirror).steps == []


@pytest.mark.rule("STS-4")
def test_a_set_of_nothing_holds_no_quota() -> None:
    workload = made_for(stateful())
    admission = {"clusterQueue": "cq", "podSetAssignments": []}
    reserved = status_of.reserve(workload, admission, NOW)
    [held] = steps(see(stateful(0), reserved), Apply)
    told = status_of.find_condition(held.obj, "QuotaReserved")
    assert told is not None
    assert (told["status"], told["reason"], told["message"]) == (
        "False",
        "OnHold",
        "StatefulSet scaled to zero; workload on hold",
    )
    on_hold = {**workload, "status": held.obj["status"]}
    [back] = steps(see(stateful(3), on_hold), Apply)
    told = status_of.find_condition(back.obj, "QuotaReserved")
    assert told is not None
    assert told["message"] == "Workload no longer on hold; waiting for quota reservation"


@pytest.mark.rule("STS-5")
@pytest.mark.rule("FLOW-64")
def test_when_a_set_is_gone_so_is_its_workload_but_no_copy() -> None:
    workload = made_for(stateful())
    copy = {**workload, "metadata": {**workload["metadata"], "name": "copy", "uid": "c"}}
    copy["metadata"]["labels"] = {f"{K}/multikueue-origin": "multikueue"}
    look = Look(stateful(), NOW, Listed([NAMESPACE, workload, copy]))
    over = [each.obj["metadata"]["name"] for each in steps(decide_gone(SETTINGS, look), Apply)]
    assert over == [workload["metadata"]["name"]]


@pytest.mark.rule("NAME-6")
@pytest.mark.parametrize("origin", ["", "multikueue"])
def test_only_a_mirror_is_named_after_the_set_of_its_manager(origin: str) -> None:
    made = stateful(annotations={f"{K}/multikueue-origin-uid": "there"})
    made["metadata"]["labels"] = {f"{K}/multikueue-origin": origin} if origin else {}
    assert identity.origin_uid(made) == ("there" if origin else made["metadata"]["uid"])


@pytest.mark.rule("PR-3")
def test_a_mirror_of_a_set_leaves_its_copy_alone() -> None:
    workload = made_for(stateful())
    mirror = stateful(annotations={f"{K}/multikueue-origin-uid": "uid-db"})
    mirror["metadata"]["uid"] = "there"
    labels = {f"{K}/multikueue-origin": "multikueue"}
    mirror["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "other", **labels}
    copy = {**workload, "metadata": {**workload["metadata"], "labels": labels}}
    copy["metadata"].pop("ownerReferences")
    assert see(mirror, copy).steps == []
    assert see(mirror, {**workload, "metadata": {**copy["metadata"], "labels": {}}}).steps


@pytest.mark.rule("DEP-1")
def test_each_pod_of_a_deployment_waits_for_itself() -> None:
    spec = {"replicas": 3, "template": pods()}
    made = thing("apps/v1", "Deployment", "web", labels=QUEUE, spec=spec)
    template = defaulted(made, framework="deployment")["spec"]["template"]
    assert template["metadata"]["annotations"][f"{K}/pod-suspending-parent"] == "deployment"
    labels = template["metadata"]["labels"]
    assert (labels[f"{K}/managed"], labels[f"{K}/queue-name"]) == ("true", "lq")
    assert not KINDS["deployment"].queues
