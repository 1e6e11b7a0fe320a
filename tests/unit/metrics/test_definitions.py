"""The table of metrics is the one that dashboards go by."""

import pytest

from fleetqueue.metrics.definitions import (
    CREATION,
    DEFINITIONS,
    LONG_WAIT,
    ROLE,
    WAIT,
    Kind,
    wait_buckets,
)
from fleetqueue.metrics.registry import Metrics

pytestmark = pytest.mark.rule("kueue 11.2")

# fmt: off
QUEUE_CLASS = ["cluster_queue", "priority_class"]
LOCAL_CLASS = ["name", "namespace", "priority_class"]
QUOTA = ["cohort", "cluster_queue", "flavor", "resource"]
TABLE = {
    "counter": {
        "admission_attempts_total": ["result"],
        "preemption_target_recomputations_total": ["cluster_queue", "result"],
        "quota_reserved_workloads_total": QUEUE_CLASS,
        "admitted_workloads_total": QUEUE_CLASS,
        "finished_workloads_total": QUEUE_CLASS,
        "evicted_workloads_total":
            ["cluster_queue", "reason", "underlying_cause", "priority_class"],
        "evicted_workloads_once_total":
            ["cluster_queue", "reason", "underlying_cause", "priority_class"],
        "preempted_workloads_total": ["preempting_cluster_queue", "reason"],
        "cohort_subtree_admitted_workloads_total": ["cohort", "priority_class"],
        "local_queue_quota_reserved_workloads_total": LOCAL_CLASS,
        "local_queue_admitted_workloads_total": LOCAL_CLASS,
        "local_queue_finished_workloads_total": LOCAL_CLASS,
        "local_queue_evicted_workloads_total":
            ["name", "namespace", "reason", "underlying_cause", "priority_class"],
    },
    "gauge": {
        "admission_cycle_preemption_skips": ["cluster_queue"],
        "build_info": ["git_version", "git_commit", "build_date", "go_version", "compiler",
                       "platform"],
        "pending_workloads": ["cluster_queue", "status"],
        "pending_scheduling_hashes": ["cluster_queue", "status"],
        "finished_workloads": ["cluster_queue"],
        "reserving_active_workloads": ["cluster_queue"],
        "admitted_active_workloads": ["cluster_queue"],
        "cluster_queue_status": ["cluster_queue", "status"],
        "unadmitted_workloads": ["cluster_queue", "reason", "underlying_cause"],
        "cluster_queue_info": ["cluster_queue", "parent_cohort", "root_cohort"],
        "cluster_queue_weighted_share": ["cluster_queue", "cohort"],
        "cluster_queue_resource_reservation": QUOTA,
        "cluster_queue_resource_usage": QUOTA,
        "cluster_queue_nominal_quota": QUOTA,
        "cluster_queue_borrowing_limit": QUOTA,
        "cluster_queue_lending_limit": QUOTA,
        "cluster_queue_resource_pending": ["cluster_queue", "resource"],
        "cohort_weighted_share": ["cohort"],
        "cohort_info": ["cohort", "parent_cohort", "root_cohort"],
        "cohort_subtree_quota": ["cohort", "flavor", "resource"],
        "cohort_subtree_resource_reservations": ["cohort", "flavor", "resource"],
        "cohort_subtree_admitted_active_workloads": ["cohort"],
        "local_queue_pending_workloads": ["name", "namespace", "status"],
        "local_queue_finished_workloads": ["name", "namespace"],
        "local_queue_reserving_active_workloads": ["name", "namespace"],
        "local_queue_admitted_active_workloads": ["name", "namespace"],
        "local_queue_status": ["name", "namespace", "active"],
        "local_queue_unadmitted_workloads":
            ["name", "namespace", "cluster_queue", "reason", "underlying_cause"],
        "local_queue_resource_reservation": ["name", "namespace", "flavor", "resource"],
        "local_queue_resource_usage": ["name", "namespace", "flavor", "resource"],
        "local_queue_admission_fair_sharing_usage": ["name", "namespace", "cluster_queue"],
    },
    "histogram": {
        "admission_attempt_duration_seconds": ["result"],
        "quota_reserved_wait_time_seconds": QUEUE_CLASS,
        "admission_wait_time_seconds": QUEUE_CLASS,
        "admission_checks_wait_time_seconds": QUEUE_CLASS,
        "ready_wait_time_seconds": QUEUE_CLASS,
        "admitted_until_ready_wait_time_seconds": QUEUE_CLASS,
        "execution_time_seconds": QUEUE_CLASS,
        "pods_ready_to_evicted_time_seconds": ["cluster_queue", "reason", "underlying_cause"],
        "workload_eviction_latency_seconds": ["cluster_queue", "reason"],
        "workload_creation_latency_seconds": ["job_kind"],
        "pod_scheduling_gate_removal_seconds": ["name", "cluster_queue", "is_group"],
        "local_queue_quota_reserved_wait_time_seconds": LOCAL_CLASS,
        "local_queue_admission_wait_time_seconds": LOCAL_CLASS,
        "local_queue_admission_checks_wait_time_seconds": LOCAL_CLASS,
        "local_queue_ready_wait_time_seconds": LOCAL_CLASS,
        "local_queue_admitted_until_ready_wait_time_seconds": LOCAL_CLASS,
        "local_queue_execution_time_seconds": LOCAL_CLASS,
    },
}
PLACED = ["namespace", "name"]
WORK_RESULTS = ["apply_status", "availability_status", "diff_reporting_status"]
PLACEMENT_TABLE = {
    "gauge": {
        "fleet_workload_placement_status_last_timestamp_seconds":
            [*PLACED, "generation", "conditionType", "status", "reason"],
        "fleet_workload_eviction_complete": ["name", "isCompleted", "isValid"],
        "fleet_workload_update_run_status_last_timestamp_seconds":
            [*PLACED, "state", "condition", "status", "reason", "failureType"],
        "scheduling_active_workers": [],
        "fleet_workload_max_concurrent_reconciles": ["controller"],
        "fleet_workload_active_workers": ["controller"],
    },
    "counter": {
        "join_result_counter": ["result"],
        "leave_result_counter": ["result"],
        "fleet_workload_reconcile_total": ["controller", "result"],
        "fleet_workload_reconcile_errors_total": ["controller"],
        "fleet_work_processing_requests_total": WORK_RESULTS,
        "fleet_manifest_processing_requests_total":
            [*WORK_RESULTS, "drift_detection_status", "diff_detection_status"],
    },
    "histogram": {
        "fleet_workload_update_run_approval_request_latency_seconds": [*PLACED, "taskType"],
        "fleet_workload_update_run_stage_cluster_updating_duration_seconds": PLACED,
        "scheduling_cycle_duration_milliseconds": ["is_failed", "needs_requeue"],
        "fleet_workload_reconcile_time_seconds": ["controller"],
        "work_apply_time_seconds": ["name"],
    },
}
# fmt: on
OF_QUEUES = [each for each in DEFINITIONS.values() if each.full_name.startswith("kueue_")]


@pytest.mark.parametrize("kind", list(Kind))
def test_names_types_and_labels_are_those_of_the_table(kind: Kind) -> None:
    known = {each.name: list(each.labels) for each in OF_QUEUES if each.kind is kind}

    assert known == TABLE[kind.value]


def test_all_but_build_info_end_with_the_role() -> None:
    without = [each.name for each in OF_QUEUES if each.all_labels[-1] != ROLE]

    assert without == ["build_info"]


def test_bounds_double_from_two_and_a_half_on() -> None:
    assert wait_buckets(5) == (1, 2.5, 5, 10, 20)
    assert (len(WAIT), WAIT[-1]) == (14, 10240)
    assert (len(LONG_WAIT), LONG_WAIT[-1]) == (16, 40960)
    assert (len(CREATION), CREATION[0], CREATION[-1]) == (11, 0.01, 10.24)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("admission_wait_time_seconds", LONG_WAIT),
        ("execution_time_seconds", LONG_WAIT),
        ("local_queue_execution_time_seconds", LONG_WAIT),
        ("local_queue_admission_wait_time_seconds", WAIT),
        ("quota_reserved_wait_time_seconds", WAIT),
        ("workload_eviction_latency_seconds", WAIT),
        ("workload_creation_latency_seconds", CREATION),
    ],
)
def test_histograms_have_their_bounds(name: str, bounds: tuple[float, ...]) -> None:
    assert DEFINITIONS[name].buckets == bounds


@pytest.mark.rule("MET-1")
@pytest.mark.parametrize("what", ["dispatched", "admitted"])
def test_those_of_dispatching_have_a_prefix_of_their_own(what: str) -> None:
    found = DEFINITIONS[f"multikueue_workloads_{what}_total"]

    assert found.full_name == f"multikueue_workloads_{what}_total"
    assert found.all_labels == ("cluster_queue", "cluster", ROLE)


def test_the_others_are_those_of_controllers_and_of_fleets() -> None:
    others = {each.full_name for each in DEFINITIONS.values() if each not in OF_QUEUES}

    assert others == {
        "multikueue_workloads_dispatched_total",
        "multikueue_workloads_admitted_total",
        "fleetqueue_manager_quota",
        "fleetqueue_worker_quota",
        "fleetqueue_worker_connected",
        "fleetqueue_worker_missing_kind",
        "controller_runtime_reconcile_total",
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_max_concurrent_reconciles",
        "controller_runtime_active_workers",
        "workqueue_depth",
        *(name for kind in PLACEMENT_TABLE.values() for name in kind),
    }


@pytest.mark.rule("kubefleet 10.1")
@pytest.mark.parametrize("kind", list(Kind))
def test_those_of_placements_are_called_as_in_kubefleet(kind: Kind) -> None:
    names = {name for table in PLACEMENT_TABLE.values() for name in table}
    known = {
        each.full_name: list(each.all_labels)
        for each in DEFINITIONS.values()
        if each.kind is kind and each.full_name in names
    }

    assert known == PLACEMENT_TABLE[kind.value]


@pytest.mark.rule("kubefleet 10.1")
@pytest.mark.parametrize("name", list(PLACEMENT_TABLE["histogram"]))
def test_those_of_placements_can_be_observed_and_counted(name: str) -> None:
    metrics = Metrics()

    metrics.observe(name, 1.0, *PLACEMENT_TABLE["histogram"][name])

    assert f"{name}_count{{".encode() in metrics.text()
