"""Measurements reach the right series, and those of what is gone go."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.metric_settings import MetricSettings, read_settings
from fleetqueue.admission.observing import Observer
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.api import selectors
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import gates
from fleetqueue.api.kueue.config import read_configuration
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.metrics.registry import FOLLOWER, STANDALONE, Metrics
from fleetqueue.queueing.assignment import Assignment
from fleetqueue.queueing.plan import Decision, FailPlace, Plan, Preempt, Wait
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import Workload
from support.looking import Series, read_series

pytestmark = pytest.mark.rule("kueue 11.2")
Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOME = Key("team", "main")


class Observed:
    """An observer without a cluster."""

    def __init__(self, settings: MetricSettings | None = None, role: str = STANDALONE) -> None:
        self.ledger = Ledger(Settings(), ReadingRules(), lambda: NOW)
        self.metrics = Metrics(lambda: role)
        self.observer = Observer(
            self.ledger, self.metrics, settings or MetricSettings(), lambda: NOW
        )
        self.ledger.put_local_queue(HOME, LocalQueue("queue"))
        self.observer.local_queue(None, local_queue())

    def told(self) -> Series:
        return Series(read_series(self.metrics.text().decode()))


def local_queue(**labels: str) -> Json:
    metadata = {"name": HOME.name, "namespace": HOME.namespace, "labels": labels}
    return {"metadata": metadata, "spec": {"clusterQueue": "queue"}}


def workload(name: str = "w") -> Json:
    metadata = {"name": name, "namespace": "team", "creationTimestamp": format_time(NOW)}
    return {"metadata": metadata, "spec": {"queueName": "main", "podSets": []}}


def admitted(name: str = "w") -> Json:
    return status.reserve(workload(name), {"clusterQueue": "queue"}, NOW)


def test_what_was_so_before_is_not_counted() -> None:
    seen = Observed()
    seen.observer.workload(None, admitted(), is_news=False)

    assert seen.told().value("admitted_workloads_total", cluster_queue="queue") is None


def test_a_follower_does_not_count() -> None:
    seen = Observed(role=FOLLOWER)
    seen.observer.workload(workload(), admitted())
    seen.observer.created(made_at(NOW), NOW)

    assert seen.told().value("admitted_workloads_total", cluster_queue="queue") is None
    assert seen.told().value("workload_creation_latency_seconds_count", job_kind="Job") is None


def made_at(when: datetime, kind: str = "Job") -> Json:
    return {"kind": kind, "metadata": {"creationTimestamp": format_time(when), "generation": 1}}


def test_a_finished_workload_without_admission_belongs_to_the_queue_of_its_queue() -> None:
    seen = Observed()
    seen.observer.workload(workload(), status.finish(workload(), "Failed", "", NOW))

    assert seen.told().value("finished_workloads_total", cluster_queue="queue") == 1


def test_local_queues_are_told_where_they_are_selected() -> None:
    wanted = MetricSettings(local_queues=selectors.parse_labels("team=a"))
    seen = Observed(wanted)
    seen.observer.workload(workload(), admitted())
    assert seen.told().of(name="main") == set()

    seen.observer.local_queue(local_queue(), local_queue(team="a"))
    seen.observer.workload(workload("x"), admitted("x"))
    assert seen.told().value("local_queue_admitted_workloads_total", name="main") == 1


@pytest.mark.parametrize(
    ("metrics", "on", "matches"),
    [
        ({}, {}, True),
        ({"localQueueMetrics": {"enable": False}}, {}, None),
        ({}, {"LocalQueueMetrics": False}, None),
        ({"localQueueMetrics": {"localQueueSelector": {"matchLabels": {"a": "b"}}}}, {}, False),
    ],
)
@pytest.mark.rule("kueue 10.1")
def test_which_local_queues_have_metrics(metrics: Json, on: Json, matches: bool | None) -> None:
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config = read_configuration({**kind, "metrics": metrics})
    found = read_settings(config, gates.resolve(on)).local_queues

    assert (None if found is None else found.matches({})) is matches


def test_the_series_of_deleted_queues_go() -> None:
    seen = Observed()
    seen.observer.workload(None, workload())
    seen.observer.workload(workload(), admitted())
    seen.metrics.count("preempted_workloads_total", "queue", "InClusterQueue")

    seen.observer.cluster_queue({"metadata": {"name": "queue"}}, None)
    told = seen.told()
    assert told.of(cluster_queue="queue") == set()
    assert told.of(preempting_cluster_queue="queue") == set()
    assert told.value("local_queue_admitted_workloads_total", name="main") == 1

    seen.observer.local_queue(local_queue(), None)
    assert seen.told().of(name="main") == set()


BY = Workload(Key("team", "by"), "by", "main", "other", (), NOW, NOW, NOW)
VICTIM = Workload(Key("team", "w"), "w", "main", "queue", (), NOW, NOW, NOW)
WAIT = Wait(BY, "WaitingForPreemptedWorkloads", "", Requeue.PENDING_PREEMPTION)
TARGETS = (Target(VICTIM, "InCohortReclamation"),)


@pytest.mark.parametrize(
    "decision",
    [
        Preempt(BY, Assignment(()), TARGETS, WAIT, WAIT),
        FailPlace(BY, Assignment(()), "no places", TARGETS),
    ],
    ids=["for quota", "for places, later"],
)
def test_preemption_names_the_queue_for_which_room_is_made(decision: Decision) -> None:
    seen = Observed()
    seen.observer.cycle(Plan((decision,), NOW, 1))

    old = admitted()
    seen.observer.workload(old, status.preempt(old, "InCohortReclamation", "", NOW))

    labels = {"preempting_cluster_queue": "other", "reason": "InCohortReclamation"}
    assert seen.told().value("preempted_workloads_total", **labels) == 1


def test_cycles_are_counted_by_whether_anything_was_admitted() -> None:
    seen = Observed()
    started = NOW - timedelta(seconds=2)
    recomputed = (("queue", "deferred_fit"),)
    seen.observer.cycle(Plan((), started, 1, recomputed))

    told = seen.told()
    assert told.value("admission_attempts_total", result="inadmissible") == 1
    assert told.value("admission_attempts_total", result="success") is None
    assert told.value("admission_attempt_duration_seconds_sum", result="inadmissible") == 2
    labels = {"cluster_queue": "queue", "result": "deferred_fit"}
    assert told.value("preemption_target_recomputations_total", **labels) == 1


def test_the_way_from_job_to_workload_is_measured_for_new_jobs() -> None:
    seen = Observed()
    made = format_time(NOW - timedelta(seconds=1))
    job = {"kind": "Job", "metadata": {"creationTimestamp": made, "generation": 1}}
    seen.observer.created(job, NOW)
    seen.observer.created({**job, "metadata": {**job["metadata"], "generation": 2}}, NOW)  # type: ignore[dict-item]

    told = seen.told()
    assert told.value("workload_creation_latency_seconds_count", job_kind="Job") == 1
    assert told.value("workload_creation_latency_seconds_sum", job_kind="Job") == 1


GROUP = {"kueue.x-k8s.io/pod-group-name": "w"}


@pytest.mark.parametrize("gate", ["admission", "topology", "elastic-job"])
@pytest.mark.parametrize(
    ("more", "is_group"),
    [({}, "false"), ({"labels": GROUP}, "true"), ({"annotations": GROUP}, "true")],
    ids=["no group", "a group by label", "a group by annotation"],
)
def test_a_gate_that_is_taken_away_is_measured(gate: str, more: Json, is_group: str) -> None:
    seen = Observed()
    at = NOW - timedelta(seconds=4)
    found = status.reserve(workload(), {"clusterQueue": "queue"}, at)
    metadata = {"name": "pod", "namespace": "team", **more}
    gates_ = [{"name": f"kueue.x-k8s.io/{gate}"}, {"name": "example.com/other"}]
    old = {"metadata": metadata, "spec": {"schedulingGates": gates_}}
    new = {"metadata": metadata, "spec": {"schedulingGates": gates_[1:]}}
    seen.observer.pod(old, new, lambda pod: found)
    seen.observer.pod(old, old, lambda pod: found)

    labels = {"name": f"kueue.x-k8s.io/{gate}", "cluster_queue": "queue", "is_group": is_group}
    told = seen.told()
    assert told.value("pod_scheduling_gate_removal_seconds_count", **labels) == 1
    assert told.value("pod_scheduling_gate_removal_seconds_sum", **labels) == 4


CUSTOM = [
    {"name": "team", "sourceLabelKey": "team"},
    {"name": "cost", "sourceAnnotationKey": "cost", "sourceKind": "ClusterQueue"},
    {
        "name": "stage",
        "sourceLabelKey": "stage",
        "sourceKind": "Workload",
        "trackedValues": ["prod"],
    },
]


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.rule("kueue 10.1")
def test_users_add_labels_of_their_own(is_on: bool) -> None:
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config = read_configuration({**kind, "metrics": {"customLabels": CUSTOM}})
    settings = read_settings(config, gates.resolve({"CustomMetricLabels": is_on}))
    seen = Observed(settings)
    told = {"name": "queue", "labels": {"team": "a"}, "annotations": {"cost": "9"}}
    seen.observer.cluster_queue(None, {"metadata": told})
    seen.observer.local_queue(None, local_queue(team="b"))
    for name, stage in (("x", "prod"), ("y", "test")):
        old = workload(name)
        old["metadata"]["labels"] = {"stage": stage}
        seen.observer.workload(old, status.reserve(old, {"clusterQueue": "queue"}, NOW))

    found = seen.told()
    queue = [labels for labels, _ in found["kueue_admitted_workloads_total"]]
    local = [labels for labels, _ in found["kueue_local_queue_admitted_workloads_total"]]
    [status_] = [
        labels
        for labels, value in found["kueue_local_queue_status"]
        if labels["active"] == "Unknown"
    ]
    if not is_on:
        assert not any(name.startswith("custom_") for each in queue for name in each)
        return
    assert [(each["custom_team"], each["custom_cost"]) for each in queue] == [("a", "9")] * 2
    untracked = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
    assert {each["custom_stage"] for each in queue} == {"prod", untracked}
    assert {each["custom_team"] for each in local} == {"b"}
    assert "custom_cost" not in local[0]
    assert status_["custom_team"] == "b"
    assert "custom_stage" not in status_

    seen.observer.cluster_queue({"metadata": told}, None)
    assert "kueue_admitted_workloads_total" not in seen.told()
