"""Every metric of queues and placements: its name, type, labels and buckets, and what it tells."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

PREFIX = "kueue_"
ROLE = "replica_role"
"""The last label of every metric but `build_info`."""
DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric; `name` goes without the prefix that those of queues have."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = DEFAULT_BUCKETS
    has_role: bool = True
    prefix: str = PREFIX

    @property
    def full_name(self) -> str:
        return self.prefix + self.name

    @property
    def all_labels(self) -> tuple[str, ...]:
        return (*self.labels, ROLE) if self.has_role else self.labels


def wait_buckets(count: int) -> tuple[float, ...]:
    """1, 2.5, and from there on twice as long each time."""
    return (1.0, *(2.5 * 2.0**power for power in range(count - 1)))


WAIT, LONG_WAIT = wait_buckets(14), wait_buckets(16)
CREATION = tuple(0.01 * 2.0**power for power in range(11))
QUEUE = ("cluster_queue",)
QUEUE_STATUS = ("cluster_queue", "status")
QUEUE_CLASS = ("cluster_queue", "priority_class")
EVICTION = ("cluster_queue", "reason", "underlying_cause", "priority_class")
QUOTA = ("cohort", "cluster_queue", "flavor", "resource")
COHORT_QUOTA = ("cohort", "flavor", "resource")
LOCAL = ("name", "namespace")
LOCAL_CLASS = (*LOCAL, "priority_class")
LOCAL_QUOTA = (*LOCAL, "flavor", "resource")
MULTIKUEUE = ("cluster_queue", "cluster")


def _counter(name: str, labels: tuple[str, ...], text: str) -> Definition:
    return Definition(name, Kind.COUNTER, labels, text)


def _gauge(name: str, labels: tuple[str, ...], text: str) -> Definition:
    return Definition(name, Kind.GAUGE, labels, text)


def _histogram(
    name: str, labels: tuple[str, ...], text: str, buckets: tuple[float, ...] = DEFAULT_BUCKETS
) -> Definition:
    return Definition(name, Kind.HISTOGRAM, labels, text, buckets)


_CYCLE = (
    _counter("admission_attempts_total", ("result",), "Cycles, by whether any workload got quota."),
    _histogram("admission_attempt_duration_seconds", ("result",), "How long a cycle decided."),
    _gauge("admission_cycle_preemption_skips", QUEUE, "Workloads that had victims in the last "
           "cycle and were left for later because of other queues."),
    _counter("preemption_target_recomputations_total", ("cluster_queue", "result"),
             "Searches for other victims, where the first ones were taken, by what came of it."),
    replace(_gauge("build_info", ("git_version", "git_commit", "build_date", "go_version",
                                  "compiler", "platform"), "What runs here; always 1."),
            has_role=False),
)  # fmt: skip

_WORKLOADS = (
    _gauge("pending_workloads", QUEUE_STATUS, "Workloads that wait: active ones are tried, "
           "inadmissible ones wait for a change."),
    _gauge("pending_scheduling_hashes", QUEUE_STATUS, "How many different workloads wait."),
    _gauge("finished_workloads", QUEUE, "Workloads that are finished and still exist."),
    _gauge("reserving_active_workloads", QUEUE, "Workloads that hold quota."),
    _gauge("admitted_active_workloads", QUEUE, "Workloads that are admitted and not finished."),
    _gauge("unadmitted_workloads", ("cluster_queue", "reason", "underlying_cause"),
           "Workloads that are not admitted, by why not."),
    _counter("quota_reserved_workloads_total", QUEUE_CLASS, "Workloads that got quota."),
    _histogram("quota_reserved_wait_time_seconds", QUEUE_CLASS, "From queued to quota.", WAIT),
    _counter("admitted_workloads_total", QUEUE_CLASS, "Workloads that were admitted."),
    _histogram("admission_wait_time_seconds", QUEUE_CLASS, "From queued to admitted.", LONG_WAIT),
    _histogram("admission_checks_wait_time_seconds", QUEUE_CLASS,
               "From quota to admitted, of workloads with checks.", WAIT),
    _histogram("ready_wait_time_seconds", QUEUE_CLASS, "From queued to all pods ready.", WAIT),
    _histogram("admitted_until_ready_wait_time_seconds", QUEUE_CLASS,
               "From admitted to all pods ready.", WAIT),
    _counter("finished_workloads_total", QUEUE_CLASS, "Workloads that finished."),
    _histogram("execution_time_seconds", QUEUE_CLASS,
               "How long finished workloads were admitted, all times together.", LONG_WAIT),
    _histogram("pods_ready_to_evicted_time_seconds",
               ("cluster_queue", "reason", "underlying_cause"),
               "From all pods ready to evicted.", WAIT),
    _counter("evicted_workloads_total", EVICTION, "Evictions."),
    _counter("evicted_workloads_once_total", EVICTION,
             "Evictions that were the first of their reason and cause for a workload."),
    _histogram("workload_eviction_latency_seconds", ("cluster_queue", "reason"),
               "From evicted to quota released.", WAIT),
    _counter("preempted_workloads_total", ("preempting_cluster_queue", "reason"),
             "Workloads that were evicted to make room."),
    _histogram("workload_creation_latency_seconds", ("job_kind",),
               "From the creation of a job to that of its workload.", CREATION),
    _histogram("pod_scheduling_gate_removal_seconds", ("name", "cluster_queue", "is_group"),
               "From admitted to the gate of a pod taken away."),
)  # fmt: skip

_QUEUES = (
    _gauge("cluster_queue_status", QUEUE_STATUS, "1 for the status that the queue has."),
    _gauge("cluster_queue_info", ("cluster_queue", "parent_cohort", "root_cohort"),
           "Where the queue stands; always 1."),
    _gauge("cluster_queue_weighted_share", ("cluster_queue", "cohort"),
           "What the queue borrows in proportion to its weight; NaN where that is infinite."),
    _gauge("cluster_queue_resource_reservation", QUOTA, "Quota that workloads hold."),
    _gauge("cluster_queue_resource_usage", QUOTA, "Quota that admitted workloads hold."),
    _gauge("cluster_queue_nominal_quota", QUOTA, "Quota that the queue owns."),
    _gauge("cluster_queue_borrowing_limit", QUOTA, "What the queue may borrow."),
    _gauge("cluster_queue_lending_limit", QUOTA, "What the queue lends at most."),
    _gauge("cluster_queue_resource_pending", ("cluster_queue", "resource"),
           "What the waiting workloads ask for."),
    _gauge("cohort_weighted_share", ("cohort",), "The same of a cohort, for fair sharing."),
    _gauge("cohort_info", ("cohort", "parent_cohort", "root_cohort"),
           "Where the cohort stands; always 1."),
    _gauge("cohort_subtree_quota", COHORT_QUOTA, "Quota that the cohort and all below it share."),
    _gauge("cohort_subtree_resource_reservations", COHORT_QUOTA,
           "Quota that workloads hold in the cohort and below it."),
    _counter("cohort_subtree_admitted_workloads_total", ("cohort", "priority_class"),
             "Workloads that were admitted in the cohort and below it."),
    _gauge("cohort_subtree_admitted_active_workloads", ("cohort",),
           "Workloads that are admitted in the cohort and below it."),
)  # fmt: skip

_OF_LOCAL_QUEUES = (
    _gauge("local_queue_pending_workloads", (*LOCAL, "status"), "Workloads that wait."),
    _gauge("local_queue_finished_workloads", LOCAL, "Finished workloads that still exist."),
    _gauge("local_queue_reserving_active_workloads", LOCAL, "Workloads that hold quota."),
    _gauge("local_queue_admitted_active_workloads", LOCAL, "Workloads that are admitted."),
    _gauge("local_queue_status", (*LOCAL, "active"), "1 for the status of the condition Active."),
    _gauge("local_queue_unadmitted_workloads",
           (*LOCAL, "cluster_queue", "reason", "underlying_cause"),
           "Workloads that are not admitted, by why not."),
    _gauge("local_queue_resource_reservation", LOCAL_QUOTA, "Quota that workloads hold."),
    _gauge("local_queue_resource_usage", LOCAL_QUOTA, "Quota that admitted workloads hold."),
    _gauge("local_queue_admission_fair_sharing_usage", (*LOCAL, "cluster_queue"),
           "What the queue used in the past, in proportion to its weight."),
    _counter("local_queue_quota_reserved_workloads_total", LOCAL_CLASS,
             "Workloads that got quota."),
    _counter("local_queue_admitted_workloads_total", LOCAL_CLASS, "Workloads that were admitted."),
    _counter("local_queue_finished_workloads_total", LOCAL_CLASS, "Workloads that finished."),
    _counter("local_queue_evicted_workloads_total",
             (*LOCAL, "reason", "underlying_cause", "priority_class"), "Evictions."),
    _histogram("local_queue_quota_reserved_wait_time_seconds", LOCAL_CLASS,
               "From queued to quota.", WAIT),
    _histogram("local_queue_admission_wait_time_seconds", LOCAL_CLASS,
               "From queued to admitted.", WAIT),
    _histogram("local_queue_admission_checks_wait_time_seconds", LOCAL_CLASS,
               "From quota to admitted, of workloads with checks.", WAIT),
    _histogram("local_queue_ready_wait_time_seconds", LOCAL_CLASS,
               "From queued to all pods ready.", WAIT),
    _histogram("local_queue_admitted_until_ready_wait_time_seconds", LOCAL_CLASS,
               "From admitted to all pods ready.", WAIT),
    _histogram("local_queue_execution_time_seconds", LOCAL_CLASS,
               "How long finished workloads were admitted, all times together.", LONG_WAIT),
)  # fmt: skip

_OF_FLEETS = (
    _counter("multikueue_workloads_dispatched_total", MULTIKUEUE, "Workloads sent to a cluster."),
    _counter("multikueue_workloads_admitted_total", MULTIKUEUE, "Workloads a cluster admitted."),
)

_OF_FLEET_QUOTA = (
    _gauge("fleetqueue_manager_quota", ("cluster_queue", "resource"),
           "Nominal quota of a queue whose workloads go to workers, over its flavors."),
    _gauge("fleetqueue_worker_quota", (*MULTIKUEUE, "resource"),
           "Nominal quota that a worker has for those workloads, over queues and flavors."),
    _gauge("fleetqueue_worker_connected", ("cluster",), "Whether a worker is connected."),
    _gauge("fleetqueue_worker_missing_kind", ("cluster", "kind"),
           "Kinds of jobs that a connected worker does not have, or does not let us see."),
)  # fmt: skip

_OF_CONTROLLERS = (
    _counter("controller_runtime_reconcile_total", ("controller", "result"),
             "Looks at objects, by what came of them."),
    _counter("controller_runtime_reconcile_errors_total", ("controller",), "Looks that failed."),
    _gauge("controller_runtime_max_concurrent_reconciles", ("controller",), "Workers."),
    _gauge("controller_runtime_active_workers", ("controller",), "Workers at work."),
    _gauge("workqueue_depth", ("name",), "Objects that wait for a worker."),
)  # fmt: skip

PLACED = ("namespace", "name")
WORK_RESULTS = ("apply_status", "availability_status", "diff_reporting_status")
_OF_PLACEMENTS = (
    _gauge("fleet_workload_placement_status_last_timestamp_seconds",
           (*PLACED, "generation", "conditionType", "status", "reason"),
           "When a placement came to the first of its conditions that is not true."),
    _gauge("fleet_workload_eviction_complete", ("name", "isCompleted", "isValid"),
           "When an eviction came to where it is."),
    _gauge("fleet_workload_update_run_status_last_timestamp_seconds",
           (*PLACED, "state", "condition", "status", "reason", "failureType"),
           "When an update run came to where it is."),
    _histogram("fleet_workload_update_run_approval_request_latency_seconds",
               (*PLACED, "taskType"), "From asking for an approval to getting it.",
               (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0)),
    _histogram("fleet_workload_update_run_stage_cluster_updating_duration_seconds", PLACED,
               "How long one cluster of a stage took.",
               (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)),
    _histogram("scheduling_cycle_duration_milliseconds", ("is_failed", "needs_requeue"),
               "How long one choice of clusters took.",
               (10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0, 50000.0)),
    _gauge("scheduling_active_workers", (), "Choices of clusters under way."),
    _counter("fleet_workload_reconcile_total", ("controller", "result"),
             "Looks at changed resources, by what came of them."),
    _counter("fleet_workload_reconcile_errors_total", ("controller",), "Looks that failed."),
    _histogram("fleet_workload_reconcile_time_seconds", ("controller",), "How long a look took."),
    _gauge("fleet_workload_max_concurrent_reconciles", ("controller",), "Workers."),
    _gauge("fleet_workload_active_workers", ("controller",), "Workers at work."),
    _histogram("work_apply_time_seconds", ("name",), "How long a member took over a Work."),
    _counter("fleet_work_processing_requests_total", WORK_RESULTS, "Works that were looked at."),
    _counter("fleet_manifest_processing_requests_total",
             (*WORK_RESULTS, "drift_detection_status", "diff_detection_status"),
             "Manifests that were looked at."),
    _counter("join_result_counter", ("result",), "How often a member joined."),
    _counter("leave_result_counter", ("result",), "How often a member left."),
)  # fmt: skip


def _all() -> Iterator[Definition]:
    for group in (_CYCLE, _WORKLOADS, _QUEUES, _OF_LOCAL_QUEUES):
        yield from group
    for each in (*_OF_FLEETS, *_OF_FLEET_QUOTA):
        yield replace(each, prefix="")
    for each in (*_OF_CONTROLLERS, *_OF_PLACEMENTS):
        yield replace(each, prefix="", has_role=False)


DEFINITIONS: Mapping[str, Definition] = {each.name: each for each in _all()}
