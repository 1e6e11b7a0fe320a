"""Watches what happens to workloads, queues and pods, and measures it: the one place that does.

Counters and histograms follow changes; gauges are worked out when somebody looks (`gauges`).
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from fleetqueue.admission import kinds, measuring
from fleetqueue.admission.gauges import Gauges, LocalFacts, Tallies
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.admission.pod_workloads import INDEX, workload_of
from fleetqueue.admission.scheduler import Scheduler
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import Resource, key_of
from fleetqueue.metrics.custom_labels import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, CustomLabels
from fleetqueue.metrics.registry import FOLLOWER, Metrics
from fleetqueue.queueing.assignment import Mode
from fleetqueue.queueing.plan import Admit, Evict, FailPlace, Place, Plan, Preempt, Wait
from fleetqueue.queueing.queues import Requeue

Json = dict[str, Any]
SUCCESS, INADMISSIBLE = "success", "inadmissible"
GATES = (labels.ADMISSION_GATE, labels.TOPOLOGY_GATE, labels.ELASTIC_JOB_GATE)


class Observer:
    """Told of changes by informers, and of cycles by the scheduler."""

    def __init__(
        self,
        ledger: Ledger,
        metrics: Metrics,
        settings: MetricSettings,
        now: Callable[[], datetime],
    ) -> None:
        self.tallies = Tallies()
        self.metrics = metrics
        self._ledger = ledger
        self.sees_pods = False
        self._settings = settings
        self._now = now
        self._preempting: dict[Key, str] = {}
        """By victim, the ClusterQueue for which it was chosen to go."""
        metrics.custom = CustomLabels(settings.custom)
        metrics.sources.append(Gauges(ledger, self.tallies, settings).readings)

    # Workloads

    def workload(self, old: Json | None, new: Json | None, *, is_news: bool = True) -> None:
        """`is_news`: it happened now, rather than before we began to look."""
        self.tallies.follow(old, new)
        if new is None:
            if old is not None:
                self._preempting.pop(key_of(old), None)
        elif is_news and self._counts:
            self._measure(old, new)
            self._measure_preemption(old, new)

    @property
    def _counts(self) -> bool:
        """Only who works counts, or each replica would count the same."""
        return self.metrics.role() != FOLLOWER

    def _measure(self, old: Json | None, new: Json) -> None:
        found = list(measuring.measure(old, new, self._now(), self._settings))
        if not found:
            return
        queue, local = self._queue(old, new), _local_queue(new)
        is_told = self.tallies.is_told(local, self._settings.local_queues)
        for each in found:
            self._note(each, new, each.name, queue)
            if each.is_local and is_told:
                self._note(each, new, f"local_queue_{each.name}", local.name, local.namespace)
            if each.name == "admitted_workloads_total":
                self._count_cohorts(queue, each.labels, new)

    def _note(self, what: measuring.Measurement, obj: Json, name: str, *whose: str) -> None:
        labels = (*whose, *what.labels)
        if what.seconds is None:
            self.metrics.count(name, *labels, workload=obj)
        else:
            self.metrics.observe(name, what.seconds, *labels, workload=obj)

    def _queue(self, old: Json | None, new: Json) -> str:
        """The ClusterQueue that the change concerns: one that was held, or that of its queue."""
        held = measuring.cluster_queue(new) or measuring.cluster_queue(old or {})
        local = self._ledger.local_queues.get(_local_queue(new))
        return held or ("" if local is None else local.cluster_queue)

    def _count_cohorts(self, queue: str, more: tuple[str, ...], obj: Json) -> None:
        node = self._ledger.state.tree.queues.get(queue)
        if node is not None and self._settings.tells_cohorts:
            for cohort in list(node.ancestry())[1:]:
                labels = (cohort.name, *more)
                self.metrics.count("cohort_subtree_admitted_workloads_total", *labels, workload=obj)

    def _measure_preemption(self, old: Json | None, new: Json) -> None:
        reason = measuring.preemption_reason(old, new)
        if reason:
            by = self._preempting.pop(key_of(new), "")
            self.metrics.count("preempted_workloads_total", by, reason)

    def created(self, job: Json, now: datetime) -> None:
        """A workload was made for a job."""
        is_new = job["metadata"].get("generation", 1) == 1
        if is_new and self._counts and self._settings.tells_creation:
            waited = (now - parse_time(job["metadata"]["creationTimestamp"])).total_seconds()
            self.metrics.observe("workload_creation_latency_seconds", waited, job["kind"])

    # Queues

    def cluster_queue(self, old: Json | None, new: Json | None) -> None:
        self.metrics.custom.put(CLUSTER_QUEUE, _name(old, new), new)
        if old is not None and new is None:
            name = old["metadata"]["name"]
            self.metrics.remove(cluster_queue=name)
            self.metrics.remove(preempting_cluster_queue=name)
            self.tallies.skips.pop(name, None)

    def cohort(self, old: Json | None, new: Json | None) -> None:
        self.metrics.custom.put(COHORT, _name(old, new), new)

    def local_queue(self, old: Json | None, new: Json | None) -> None:
        self.metrics.custom.put(LOCAL_QUEUE, _name(old, new), new)
        if new is not None:
            self.tallies.locals[key_of(new)] = LocalFacts.of(new)
        elif old is not None:
            key = key_of(old)
            self.tallies.locals.pop(key, None)
            self.metrics.remove("local_queue_", name=key.name, namespace=key.namespace)

    # Pods

    def pod(self, old: Json | None, new: Json | None, find: Callable[[Json], Json | None]) -> None:
        """How long its gates stayed after its workload, which `find` knows, was admitted."""
        if old is None or new is None or not self._counts:
            return
        gone = _gates(old) - _gates(new)
        workload = find(new) if gone else None
        admitted = workload and status.find_condition(workload, status.ADMITTED)
        if not workload or not admitted or admitted["status"] != "True":
            return
        waited = (self._now() - parse_time(admitted["lastTransitionTime"])).total_seconds()
        whose = (measuring.cluster_queue(workload), "true" if group_of(new) else "false")
        for gate in sorted(gone):
            self.metrics.observe("pod_scheduling_gate_removal_seconds", waited, gate, *whose)

    # Cycles

    def cycle(self, plan: Plan) -> None:
        is_success = any(isinstance(each, Admit | Place | Evict) for each in plan.decisions)
        result = SUCCESS if is_success else INADMISSIBLE
        spent = (self._now() - plan.decided_at).total_seconds()
        self.metrics.count("admission_attempts_total", result)
        self.metrics.observe("admission_attempt_duration_seconds", spent, result)
        for queue, outcome in plan.recomputed:
            self.metrics.count("preemption_target_recomputations_total", queue, outcome)
        skipped = Counter(
            each.workload.cluster_queue
            for each in plan.decisions
            if isinstance(each, Wait) and _was_skipped(each)
        )
        for each in plan.decisions:
            self.tallies.skips[each.workload.cluster_queue] = 0
            if isinstance(each, Preempt | FailPlace):
                for target in each.targets:
                    self._preempting[target.workload.key] = each.workload.cluster_queue
        self.tallies.skips.update(skipped)


def observe(cluster: Cluster, observer: Observer, scheduler: Scheduler) -> None:
    """From now on. What informers find when they begin is old, and not counted."""
    workloads = cluster.informer(kinds.WORKLOAD)

    def workload(old: Json | None, new: Json | None) -> None:
        observer.workload(old, new, is_news=workloads.has_synced)
        if old is None and new is not None and workloads.has_synced:
            job = _owner(cluster, new)
            if job is not None:
                observer.created(job, cluster.clock.now())

    workloads.listen(workload)
    for kind, listener in (
        (kinds.CLUSTER_QUEUE, observer.cluster_queue),
        (kinds.LOCAL_QUEUE, observer.local_queue),
        (kinds.COHORT, observer.cohort),
    ):
        informer: Informer[Any] = cluster.informer(kind)
        informer.listen(listener)
    observe_pods(cluster, observer)
    scheduler.on_cycle.append(observer.cycle)


def observe_pods(cluster: Cluster, observer: Observer) -> None:
    """Where something follows them, which may be said later than that queues are observed."""
    if observer.sees_pods or kinds.POD not in cluster.followed():
        return
    observer.sees_pods = True
    cluster.informer(kinds.WORKLOAD, indexes={INDEX.name: INDEX.values})
    find = partial(workload_of, Caches(cluster))
    cluster.informer(kinds.POD).listen(lambda old, new: observer.pod(old, new, find))


def _owner(cluster: Cluster, workload: Json) -> Json | None:
    """The job that a workload was made for, where its kind is followed: the owner that controls it,
    or, of many that do not, the last that came, since all had to be there.
    """
    owners = workload["metadata"].get("ownerReferences") or ()
    known = {(kind.api_version, kind.kind): kind for kind in cluster.followed()} if owners else {}
    namespace = workload["metadata"]["namespace"]
    found = []
    for owner in [each for each in owners if each.get("controller")] or owners:
        kind = known.get((owner["apiVersion"], owner["kind"]))
        job = None if kind is None else _cached(cluster, kind, owner["name"], namespace)
        if job is not None:
            found.append(job)
    return max(found, key=lambda job: str(job["metadata"]["creationTimestamp"]), default=None)


def _cached(cluster: Cluster, kind: Resource, name: str, namespace: str) -> Json | None:
    return cluster.cached(kind, name, namespace if kind.namespaced else "")


def _was_skipped(wait: Wait) -> bool:
    """It had victims, and others came first."""
    found = wait.assignment
    is_skip = wait.requeue is Requeue.FAILED_AFTER_NOMINATION
    return is_skip and found is not None and found.mode is Mode.PREEMPT


def _name(old: Json | None, new: Json | None) -> tuple[str, ...]:
    """As the labels of metrics have it: the name, and the namespace where there is one."""
    metadata = (new or old or {})["metadata"]
    return tuple(metadata[each] for each in ("name", "namespace") if metadata.get(each))


def _local_queue(obj: Json) -> Key:
    name = (obj.get("spec") or {}).get("queueName") or ""
    return Key(obj["metadata"].get("namespace") or "", name)


def _gates(pod: Json) -> set[str]:
    found = (pod.get("spec") or {}).get("schedulingGates") or ()
    return {each["name"] for each in found if each["name"] in GATES}
