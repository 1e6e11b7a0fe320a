"""Who runs a job whose queue sends its workloads to other clusters, and when that is said."""

from typing import Any

import pytest
from tests.support.job_looks import (
    KINDS,
    KUEUE,
    SETTINGS,
    defaulted,
    refusals,
    sight,
    thing,
    with_settings,
)
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.base import paths
from fleetqueue.jobs import managing
from fleetqueue.jobs.kind import JobKind
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.resources import Object

K = "kueue.x-k8s.io"
OURS = f"{K}/multikueue"
IDS = [each.framework for each in EXAMPLES]
TRAINING = [f"kubeflow.org/{name}job" for name in ("tf", "pytorch", "xgboost", "paddle", "jax")]
LOCAL_QUEUE = thing(KUEUE, "LocalQueue", "lq", spec={"clusterQueue": "cq"})
STRATEGY = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}
CLUSTER_QUEUE = thing(KUEUE, "ClusterQueue", "cq", cluster=True, spec=STRATEGY)
CHECK = thing(KUEUE, "AdmissionCheck", "c", cluster=True, spec={"controllerName": OURS})
AROUND = (LOCAL_QUEUE, CLUSTER_QUEUE, CHECK)


def made(kind: JobKind, value: str | None = None, *, queue: str = "lq") -> Object:
    [example] = [each for each in EXAMPLES if each.framework == kind.framework]
    labels = {f"{K}/queue-name": queue} if queue else {}
    found = example.job(labels, namespace="ns", uid="u")
    return found if value is None else dict(paths.with_value(found, kind.managed_by, value))


def manager(
    kind: JobKind,
    value: str | None,
    *around: Object,
    settings: JobSettings = SETTINGS,
    **more: Any,
) -> Any:
    found = defaulted(
        made(kind, value, **more), *around, framework=kind.framework, settings=settings
    )
    return paths.get(found, kind.managed_by)


@pytest.mark.rule("MB-1")
@pytest.mark.rule("MB-2")
@pytest.mark.rule("MB-4")
@pytest.mark.rule("S000-8")
@pytest.mark.rule("S000-11")
@pytest.mark.rule("S001-2")
@pytest.mark.rule("S002-4")
@pytest.mark.rule("TJ-1")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_job_of_such_a_queue_is_handed_over_when_it_is_made(example: Example) -> None:
    kind = example.kind
    assert manager(kind, None, *AROUND) == OURS
    assert manager(kind, kind.own_name, *AROUND) == OURS
    for other in ("example.com/other", ""):
        assert manager(kind, other, *AROUND) == other
    both = defaulted(made(kind), *AROUND, framework=kind.framework)
    assert paths.get(both, kind.suspend) is True


@pytest.mark.rule("MB-1")
@pytest.mark.rule("GATE-1")
@pytest.mark.rule("S000-10")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_who_is_not_handed_over(example: Example) -> None:
    kind = example.kind
    local = {**CHECK, "spec": {"controllerName": "acme.io/x"}}
    for around in (
        (),
        (LOCAL_QUEUE,),
        (LOCAL_QUEUE, CLUSTER_QUEUE),
        (CLUSTER_QUEUE, CHECK),
        (LOCAL_QUEUE, CLUSTER_QUEUE, local),
    ):
        assert manager(kind, None, *around) is None
    assert manager(kind, None, *AROUND, queue="") is None
    assert manager(kind, None, *AROUND, settings=with_settings(multikueue=False)) is None


@pytest.mark.rule("RAY-1")
def test_who_is_left_alone_is_not_handed_over_either() -> None:
    job = made(KINDS["ray.io/rayjob"])
    job["spec"] = {"entrypoint": "x", "clusterSelector": {"ray.io/cluster": "c"}}
    found = defaulted(job, *AROUND, framework="ray.io/rayjob")
    assert found["spec"] == job["spec"]
    assert "managedBy" not in found["spec"]


@pytest.mark.rule("MB-1")
def test_a_default_queue_counts_like_one_that_was_named() -> None:
    default = thing(KUEUE, "LocalQueue", "default", spec={"clusterQueue": "cq"})
    kind = KINDS["batch/job"]
    assert manager(kind, None, default, CLUSTER_QUEUE, CHECK, queue="") == OURS


@pytest.mark.rule("MB-6")
@pytest.mark.rule("S000-7")
@pytest.mark.rule("S000-8")
@pytest.mark.parametrize("framework", TRAINING)
def test_the_gate_of_training_jobs(framework: str) -> None:
    kind, off = KINDS[framework], with_settings(training_managed_by=False)
    assert manager(kind, None, *AROUND, settings=off) is None
    for value in (OURS, kind.own_name):
        assert refusals(made(kind, value), framework=framework, settings=off) == [
            "spec.runPolicy.managedBy: Forbidden:"
            " may be set only with the feature gate JobManagedBy"
        ]
        assert refusals(made(kind, value), framework=framework) == []
    assert refusals(made(kind), framework=framework, settings=off) == []


@pytest.mark.rule("MB-6")
def test_the_gate_is_for_training_jobs_alone() -> None:
    off = with_settings(training_managed_by=False)
    for framework in KINDS.keys() - set(TRAINING):
        if KINDS[framework].managed_by:
            assert manager(KINDS[framework], None, *AROUND, settings=off) == OURS


@pytest.mark.rule("MB-3")
@pytest.mark.rule("S000-13")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_who_runs_a_job_never_changes(example: Example) -> None:
    kind = example.kind

    def told(new: str | None, old: str | None) -> list[str]:
        before = made(kind, old)
        found = refusals(made(kind, new), old=before, framework=kind.framework)
        return [text for text in found if "managedBy" in text]

    for new, old in ((OURS, None), (None, OURS), ("example.com/x", OURS)):
        assert told(new, old) == [
            f'{kind.managed_by}: Invalid value: "{new or ""}": field is immutable'
        ]
    assert told(OURS, OURS) == []


@pytest.mark.rule("MB-3")
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_job_is_handed_over_when_it_is_made_or_never(example: Example) -> None:
    assert not example.kind.defaults_updates


# fmt: off
DISPATCHED = {  #                             conditions               worker  check      answer
    "waits for quota":                        ("",                     "",     "Pending", True),
    "waits for a worker":                     ("-Admitted",            "",     "Pending", True),
    "has a worker":                           ("Admitted",             "w",    "Ready",   True),
    "has a worker, and a new check":          ("Admitted",             "w",    "Pending", True),
    "has a worker, and no check any more":    ("Admitted",             "w",    "",        True),
    "was put out":                            ("Admitted Evicted",     "",     "Pending", True),
    "ready without a worker":                 ("Admitted",             "",     "Ready",   True),
    "ran here when the check came":           ("Admitted",             "",     "Pending", False),
    "ran here, was evicted once before":      ("Admitted -Evicted",    "",     "Pending", False),
    "runs here":                              ("Admitted",             "",     "",        False),
}
# fmt: on


@pytest.mark.rule("ROLE-1")
@pytest.mark.rule("POD-1")
@pytest.mark.parametrize(
    ("conditions", "worker", "check", "answer"), DISPATCHED.values(), ids=DISPATCHED.keys()
)
def test_who_is_run_by_another_cluster(
    conditions: str, worker: str, check: str, answer: bool
) -> None:
    told = [
        {"type": each.removeprefix("-"), "status": "False" if each[0] == "-" else "True"}
        for each in conditions.split()
    ]
    checks = [{"name": "c", "state": check}] if check else []
    status = {"conditions": told, "clusterName": worker, "admissionChecks": checks}
    workload = thing(KUEUE, "Workload", "w", status=status)
    seen = sight(thing("v1", "Pod", "p"), CHECK)
    assert managing.is_dispatched(seen, workload) is answer
