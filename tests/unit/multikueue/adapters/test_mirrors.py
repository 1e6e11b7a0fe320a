"""What is created on a worker for a job of any kind, and what comes back from it."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.support import ray
from tests.support.dispatched import (
    SETTINGS_OF_MANAGER as SETTINGS,
)
from tests.support.dispatched import handed, handed_example, patched, sight, started, workload_of
from tests.support.job_looks import KINDS, job, with_settings
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.base import paths
from fleetqueue.jobs import starting
from fleetqueue.jobs.matching import are_equivalent
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying
from fleetqueue.multikueue.adapters.registry import adapters

K = "kueue.x-k8s.io"
IDS = [each.framework for each in EXAMPLES]
BATCH = KINDS["batch/job"]
PREBUILT = f"{K}/prebuilt-workload-name"
KNOWN = {each.framework: each for each in adapters(SETTINGS).values()}


def mirrored(framework: str, made: Object, workload: Object) -> Object:
    return KNOWN[framework].mirror(made, workload, SETTINGS)


def copying(made: Object, mirror: Object, **more: Any) -> Copying:
    return Copying(more.pop("workload", {}), made, mirror, more.pop("settings", SETTINGS), **more)


@pytest.mark.rule("FLOW-39")
@pytest.mark.rule("FLOW-40")
@pytest.mark.rule("FLOW-41")
@pytest.mark.rule("S003-17")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_mirror_says_whose_it_is_and_whose_workload_waits_for_it(example: Example) -> None:
    made = handed_example(example)
    made["metadata"] |= {"finalizers": ["f"], "ownerReferences": [{}], "annotations": {"a": "b"}}
    mirror = mirrored(example.framework, made, workload_of(example.kind, made))
    assert mirror["metadata"] == {
        "name": made["metadata"]["name"],
        "namespace": "default",
        "labels": {
            f"{K}/queue-name": "lq",
            f"{K}/multikueue-origin": "multikueue",
            PREBUILT: "workload-of-job",
        },
        "annotations": {"a": "b", PREBUILT: "workload-of-job"},
    }
    assert "status" not in mirror
    assert (mirror["apiVersion"], mirror["kind"]) == (made["apiVersion"], made["kind"])


@pytest.mark.rule("FLOW-40")
def test_a_name_that_cannot_be_a_label_is_an_annotation_alone() -> None:
    made = handed(BATCH, job())
    long = "job-" + "x" * 80
    mirror = mirrored("batch/job", made, workload_of(BATCH, made, long))
    assert PREBUILT not in mirror["metadata"]["labels"]
    assert mirror["metadata"]["annotations"][PREBUILT] == long


@pytest.mark.rule("IMP-16")
@pytest.mark.rule("S002-7")
@pytest.mark.rule("FLOW-43")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_mirror_has_nothing_of_what_was_admitted_here(example: Example) -> None:
    kind = example.kind
    made = handed_example(example)
    workload = workload_of(kind, made)
    running = started(kind, made, workload)
    assert "of-the-manager" in str(running)
    mirror = mirrored(example.framework, running, workload)
    assert "of-the-manager" not in str(mirror)
    assert f"{K}/podset" not in str(mirror)
    assert paths.get(mirror, kind.managed_by) is None
    assert paths.get(mirror, kind.suspend) is True
    arrived = {**mirror, "metadata": {**mirror["metadata"], "uid": "there"}}
    assert are_equivalent(pod_sets_of(kind, sight(arrived)), workload["spec"]["podSets"])


@pytest.mark.rule("S001-4")
def test_fields_that_nobody_here_knows_are_sent_along() -> None:
    made = handed(BATCH, job(spec={"ofTheFuture": {"x": 1}}))
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    assert mirror["spec"]["ofTheFuture"] == {"x": 1}


def served_job() -> Object:
    """A Job as an API server gives it back."""
    own = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "job-name": "sample"}
    kept = {"batch.kubernetes.io/job-name": "sample", "mine": "x"}
    made = handed(BATCH, job())
    made["spec"]["template"]["metadata"]["labels"] = {**own, **kept}
    made["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    return made


@pytest.mark.rule("FLOW-41")
def test_a_job_is_sent_without_what_its_own_pods_are_known_by() -> None:
    made = served_job()
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    assert "selector" not in mirror["spec"]
    assert mirror["spec"]["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/job-name": "sample",
        "mine": "x",
    }


def test_a_job_that_chose_its_pods_itself_still_does() -> None:
    made = served_job()
    made["spec"]["manualSelector"] = True
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    assert mirror["spec"]["selector"] == made["spec"]["selector"]


@pytest.mark.rule("IMP-16")
def test_a_job_that_was_admitted_in_part_is_sent_whole() -> None:
    few = {f"{K}/job-min-parallelism": "1"}
    made = handed(BATCH, job(spec={"parallelism": 4}), annotations=few)
    workload = workload_of(BATCH, made)
    running = {**made, "spec": {**made["spec"], "suspend": False, "parallelism": 2}}
    assert mirrored("batch/job", running, workload)["spec"]["parallelism"] == 4


@pytest.mark.rule("IMP-16")
def test_a_job_that_is_being_stopped_is_sent_without_the_mark() -> None:
    made = handed(BATCH, job(), annotations={f"{K}/stopping": "true"})
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    assert f"{K}/stopping" not in mirror["metadata"]["annotations"]


@pytest.mark.rule("TJ-4")
@pytest.mark.rule("TJ-1")
def test_the_patches_of_others_stay_in_a_train_job() -> None:
    kind = KINDS["trainer.kubeflow.org/trainjob"]
    [example] = [each for each in EXAMPLES if each.framework == kind.framework]
    made = handed_example(example)
    assert [each["manager"] for each in made["spec"]["runtimePatches"]] == [f"{K}/manager"]
    workload = workload_of(kind, made)
    assert "runtimePatches" not in mirrored(kind.framework, made, workload)["spec"]
    other = {"manager": "somebody.else/x"}
    made["spec"]["runtimePatches"].append(other)
    assert mirrored(kind.framework, made, workload)["spec"]["runtimePatches"] == [other]


# Status


@pytest.mark.rule("KF-1")
@pytest.mark.rule("KIND-3")
@pytest.mark.rule("RAY-3")
@pytest.mark.rule("S003-18")
@pytest.mark.parametrize(
    "example", [each for each in EXAMPLES if each.framework != "batch/job"], ids=IDS[1:]
)
def test_the_whole_status_comes_back_whatever_the_job_is_doing(example: Example) -> None:
    made = handed_example(example)
    adapter = KNOWN[example.framework]
    told = copying(made, {**made, "status": example.running})
    assert adapter.copy(told) == Copied(example.running)
    same = {**made, "status": example.running}
    assert adapter.copy(copying(same, same)) == Copied()


@pytest.mark.rule("KIND-3")
@pytest.mark.parametrize("is_suspended", [True, False])
def test_a_mirror_that_nobody_has_looked_at_yet_takes_nothing_back(is_suspended: bool) -> None:
    made = handed(BATCH, job()) | {"status": {"conditions": [SUSPENDED], "startTime": "then"}}
    mirror = {name: part for name, part in made.items() if name != "status"}
    made["spec"]["suspend"] = is_suspended
    assert KNOWN["batch/job"].copy(copying(made, mirror)) == Copied()


SUSPENDED = {"type": "Suspended", "status": "True"}
OURS = {
    **SUSPENDED,
    "reason": "MultiKueueAdapter",
    "message": "Set by MultiKueue adapter",
    "lastProbeTime": "t",
    "lastTransitionTime": "t",
}
RUNS = {"active": 2, "startTime": "x"}
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.rule("JOB-1")
@pytest.mark.rule("JOB-2")
@pytest.mark.rule("JOB-3")
@pytest.mark.parametrize(
    ("local", "remote", "status", "expected"),
    [
        pytest.param(False, False, RUNS, Copied(RUNS), id="both run"),
        pytest.param(False, True, {"active": 1}, Copied({"active": 1}), id="it stops there"),
        pytest.param(True, True, {"active": 0}, Copied({"active": 0}), id="both wait"),
        pytest.param(True, False, DONE, Copied(DONE), id="it has ended there"),
        pytest.param(
            True, False, RUNS, Copied({"conditions": [OURS]}, is_postponed=True), id="not yet"
        ),
        pytest.param(
            True, False, {}, Copied({"conditions": [OURS]}, is_postponed=True), id="nobody tells"
        ),
        pytest.param(True, True, {}, Copied(), id="both wait and nobody tells"),
    ],
)
def test_when_a_job_shows_what_its_mirror_does(
    local: bool, remote: bool, status: Object, expected: Copied
) -> None:
    made = handed(BATCH, job(spec={"suspend": local}))
    made["spec"]["suspend"] = local
    mirror = {**made, "spec": {**made["spec"], "suspend": remote}, "status": status}
    mirror["metadata"] = {**mirror["metadata"], "creationTimestamp": "t"}
    assert KNOWN["batch/job"].copy(copying(made, mirror)) == expected


@pytest.mark.rule("JOB-2")
def test_a_job_that_is_suspended_already_says_so_once() -> None:
    made = handed(BATCH, job()) | {"status": {"conditions": [SUSPENDED]}}
    mirror = {**made, "spec": {**made["spec"], "suspend": False}, "status": RUNS}
    assert KNOWN["batch/job"].copy(copying(made, mirror)) == Copied(is_postponed=True)
    resumed = made | {"status": {"conditions": [{**SUSPENDED, "status": "False"}]}}
    found = KNOWN["batch/job"].copy(copying(resumed, mirror)).status
    assert found is not None
    assert [each["status"] for each in found["conditions"]] == ["True"]


@pytest.mark.rule("FLOW-52")
def test_the_last_status_is_copied_in_any_case() -> None:
    made = handed(BATCH, job())
    mirror = {**made, "spec": {**made["spec"], "suspend": False}, "status": RUNS}
    assert KNOWN["batch/job"].copy(copying(made, mirror, is_final=True)) == Copied(RUNS)


@pytest.mark.rule("JOB-2")
def test_nobody_moves_the_start_of_a_job_that_runs() -> None:
    made = handed(BATCH, job()) | {"status": {"startTime": "first"}}
    made["spec"]["suspend"] = False
    mirror = {**made, "status": {"active": 0}}
    found = KNOWN["batch/job"].copy(copying(made, mirror))
    assert found == Copied({"active": 0, "startTime": "first"})


@pytest.mark.rule("IMP-13")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_the_activity_of_a_lost_worker_can_be_taken_back(example: Example) -> None:
    kind, adapter = example.kind, KNOWN[example.framework]
    made = handed_example(example)
    running = {**made, "status": example.running}
    assert kind.is_active(sight(running))
    found = adapter.reset(running)
    assert found is not None
    assert not kind.is_active(sight({**made, "status": found}))
    assert adapter.reset({**made, "status": found}) is None
    assert adapter.reset(made) is None


@pytest.mark.rule("IMP-13", "FLOW-55")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_the_end_of_a_job_is_not_taken_back(example: Example) -> None:
    """Whatever it still tells of a run."""
    adapter = KNOWN[example.framework]
    running = {**handed_example(example), "status": example.running}
    assert adapter.without_run(running, SETTINGS) == adapter.reset(running)
    if example.done is not None:
        ended = {**running, "status": {**example.running, **example.done}}
        assert adapter.without_run(ended, SETTINGS) is None


@pytest.mark.rule("IMP-13")
def test_a_job_that_was_stopped_without_its_worker_says_that_it_is_suspended() -> None:
    resumed = {**SUSPENDED, "status": "False"}
    stopped = handed(BATCH, job()) | {"status": {"conditions": [resumed]}}
    running = {**stopped, "spec": {**stopped["spec"], "suspend": False}}
    adapter = KNOWN["batch/job"]

    found = adapter.reset(stopped)

    assert found is not None
    [condition] = found["conditions"]
    assert condition == {**SUSPENDED, "reason": "JobSuspended", "message": "Job suspended"}
    assert adapter.reset({**stopped, "status": found}) is None
    assert adapter.reset(running) is None


# Elastic jobs and what is served


def elastic(kind: str, made: Object) -> Object:
    return handed(KINDS[kind], made, annotations={f"{K}/elastic-job": "true"})


def resized(made: Object, count: int, **metadata: Any) -> Object:
    spec = {**made["spec"], "parallelism": count, "suspend": False}
    return {**made, "metadata": {**made["metadata"], **metadata}, "spec": spec}


@pytest.mark.rule("EL-3")
@pytest.mark.rule("EL-4")
@pytest.mark.rule("JOB-6")
def test_a_mirror_grows_when_the_workload_of_that_size_is_there() -> None:
    made = elastic("batch/job", job(spec={"parallelism": 2}))
    first = workload_of(BATCH, made, "first")
    mirror = mirrored("batch/job", made, first)
    grown = resized(made, 4, generation=3)
    second = workload_of(BATCH, grown, "second")
    forward = KNOWN["batch/job"].forward
    assert forward(copying(made, mirror, workload=first)) is None
    assert forward(copying(grown, mirror, workload=first)) is None
    patch = forward(copying(grown, mirror, workload=second))
    assert patch == {
        "metadata": {"labels": {PREBUILT: "second"}, "annotations": {PREBUILT: "second"}},
        "spec": {"parallelism": 4},
    }


@pytest.mark.rule("EL-5")
def test_a_mirror_shrinks_with_its_workload() -> None:
    made = elastic("batch/job", job(spec={"parallelism": 4}))
    first = workload_of(BATCH, made, "first")
    mirror = mirrored("batch/job", made, first)
    shrunk = resized(made, 3)
    forward = KNOWN["batch/job"].forward
    assert forward(copying(shrunk, mirror, workload=first)) is None
    follows = workload_of(BATCH, shrunk, "first")
    assert forward(copying(shrunk, mirror, workload=follows)) == {"spec": {"parallelism": 3}}


@pytest.mark.rule("EL-3")
def test_an_indexed_job_keeps_both_sizes_equal() -> None:
    sizes = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    made = elastic("batch/job", job(spec=sizes))
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    grown = resized(made, 3)
    grown["spec"]["completions"] = 3
    patch = KNOWN["batch/job"].forward(
        copying(grown, mirror, workload=workload_of(BATCH, grown, "second"))
    )
    assert patch is not None
    assert patch["spec"] == {"parallelism": 3, "completions": 3}


@pytest.mark.rule("KIND-4")
def test_the_size_of_a_job_that_is_not_elastic_is_never_told() -> None:
    made = handed(BATCH, job(spec={"parallelism": 2}))
    mirror = mirrored("batch/job", made, workload_of(BATCH, made))
    grown = resized(made, 3)
    told = copying(grown, mirror, workload=workload_of(BATCH, grown, "second"))
    assert KNOWN["batch/job"].forward(told) is None
    off = replace(SETTINGS, jobs=with_settings(slices=False))
    elastic_one = elastic("batch/job", grown)
    assert KNOWN["batch/job"].forward(replace(told, job=elastic_one, settings=off)) is None


@pytest.mark.rule("EL-3")
def test_a_mirror_starts_with_the_size_of_its_workload() -> None:
    made = elastic("batch/job", job(spec={"parallelism": 2}))
    grown = resized(made, 5)
    assert mirrored("batch/job", grown, workload_of(BATCH, made))["spec"]["parallelism"] == 2
    cluster = elastic("ray.io/raycluster", ray.ray_cluster_of(ray.worker_group("a", 2)))
    bigger = elastic("ray.io/raycluster", ray.ray_cluster_of(ray.worker_group("a", 5)))
    workload = workload_of(KINDS["ray.io/raycluster"], cluster)
    [group] = mirrored("ray.io/raycluster", bigger, workload)["spec"]["workerGroupSpecs"]
    assert group["replicas"] == 2


@pytest.mark.rule("EL-6")
def test_a_ray_cluster_is_resized_by_the_names_of_its_groups() -> None:
    kind = KINDS["ray.io/raycluster"]
    groups = [ray.worker_group("a", 1), ray.worker_group("b", 1), ray.worker_group("c", 1)]
    made = elastic(kind.framework, ray.ray_cluster_of(*groups))
    mirror = mirrored(kind.framework, made, workload_of(kind, made))
    mirror["metadata"]["resourceVersion"] = "33"
    wanted = [
        ray.worker_group("b", 2, numOfHosts=2),
        ray.worker_group("a", 3),
        ray.worker_group("new", 9),
    ]
    grown = elastic(kind.framework, ray.ray_cluster_of(*wanted))
    second = workload_of(kind, grown, "second")
    forward = KNOWN[kind.framework].forward
    patch = forward(copying(grown, mirror, workload=second))
    assert patch is not None
    sizes = [
        (each["groupName"], each["replicas"], each["numOfHosts"])
        for each in patch["spec"]["workerGroupSpecs"]
    ]
    assert sizes == [("a", 3, 1), ("b", 2, 2), ("c", 1, 1)]
    assert patch["metadata"]["resourceVersion"] == "33"
    assert patch["metadata"]["annotations"] == {PREBUILT: "second"}
    assert forward(copying(grown, mirror, workload=workload_of(kind, made))) is None


@pytest.mark.rule("EL-6")
def test_a_ray_cluster_that_groups_its_pods_otherwise_is_resized_too() -> None:
    kind = KINDS["ray.io/raycluster"]
    made = elastic(kind.framework, ray.ray_cluster_of(ray.worker_group("a", 1, numOfHosts=2)))
    workload = workload_of(kind, made)
    mirror = mirrored(kind.framework, made, workload)
    other = elastic(kind.framework, ray.ray_cluster_of(ray.worker_group("a", 2, numOfHosts=1)))
    patch = KNOWN[kind.framework].forward(copying(other, mirror, workload=workload))
    assert patch is not None
    [group] = patch["spec"]["workerGroupSpecs"]
    assert (group["replicas"], group["numOfHosts"]) == (2, 1)


@pytest.mark.rule("RSV-2")
@pytest.mark.rule("KIND-4")
def test_a_service_tells_its_mirror_what_to_serve_and_nothing_else() -> None:
    kind, adapter = KINDS["ray.io/rayservice"], KNOWN["ray.io/rayservice"]
    made = handed(kind, ray.ray_service_of(ray.worker_group("a", 1), serveConfigV2="one"))
    mirror = mirrored(kind.framework, made, workload_of(kind, made))
    assert adapter.forward(copying(made, mirror)) is None
    changed = {**made, "spec": {**made["spec"], "serveConfigV2": "two", "other": 1}}
    assert adapter.forward(copying(changed, mirror)) == {"spec": {"serveConfigV2": "two"}}
    gates = replace(SETTINGS.gates, spec_sync=False)
    off = replace(SETTINGS, gates=gates)
    assert adapter.forward(copying(changed, mirror, settings=off)) is None


@pytest.mark.rule("JOB-5")
def test_jobs_of_kubernetes_are_deleted_in_the_background() -> None:
    def propagation(adapter: Adapter) -> str | None:
        return adapter.propagation

    found = {name for name, adapter in KNOWN.items() if propagation(adapter) == "Background"}
    assert found == {"batch/job"}


@pytest.mark.rule("IMP-16")
def test_a_job_that_was_started_and_stopped_is_sent_as_it_was() -> None:
    made = served_job()
    workload = workload_of(BATCH, made)
    running = started(BATCH, made, workload)
    stop = partial(starting.stop, BATCH, sight(running), workload)
    stopped = patched(running, stop("why", "Why"))
    assert mirrored("batch/job", stopped, workload) == mirrored("batch/job", made, workload)
