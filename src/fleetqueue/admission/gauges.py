"""How things stand, read off the ledger when somebody asks for the metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from fleetqueue.admission import counting, measuring
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import workloads
from fleetqueue.api.meta import Key
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.metrics.registry import Reading
from fleetqueue.queueing.amounts import UNLIMITED, FlavorResource, add_to, minus, total
from fleetqueue.queueing.fairness import Share, share
from fleetqueue.queueing.queues import Counts
from fleetqueue.queueing.quota import Node
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]
STATUSES = ("pending", "active", "terminating")
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class LocalFacts:
    """What a LocalQueue says that the ledger has no use for."""

    labels: Mapping[str, str] = field(default_factory=dict)
    active: str = "Unknown"
    """The status of its condition Active."""

    @classmethod
    def of(cls, obj: Json) -> "LocalFacts":
        found = status.find_condition(obj, "Active")
        active = "Unknown" if found is None else str(found["status"])
        return cls(obj["metadata"].get("labels") or {}, active)


@dataclass(slots=True)
class Tallies:
    """What is counted by the way, since nobody else keeps it."""

    finished: Counter[tuple[Key, str]] = field(default_factory=Counter)
    """By LocalQueue, and the ClusterQueue whose quota was held last, if any."""
    unadmitted: Counter[tuple[Key, str, str, str]] = field(default_factory=Counter)
    """The same, with reason and cause."""
    locals: dict[Key, LocalFacts] = field(default_factory=dict)
    skips: dict[str, int] = field(default_factory=dict)

    def follow(self, old: Json | None, new: Json | None) -> None:
        if old is not None:
            self._add(old, -1)
        if new is not None:
            self._add(new, 1)

    def is_told(self, local: Key, wanted: LabelSelector | None) -> bool:
        """Whether a LocalQueue has metrics."""
        facts = self.locals.get(local)
        return facts is not None and wanted is not None and wanted.matches(facts.labels)

    def _add(self, obj: Json, count: int) -> None:
        name = str((obj.get("spec") or {}).get("queueName") or "")
        home = Key(obj["metadata"].get("namespace") or "", name), measuring.cluster_queue(obj)
        if status.is_finished(obj):
            if not workloads.is_variant(obj):
                _change(self.finished, home, count)
        elif workloads.is_parent(obj):
            return
        elif (why := measuring.why_unadmitted(obj)) is not None:
            _change(self.unadmitted, (*home, *why), count)


class Gauges:
    """Costs nothing until somebody looks."""

    def __init__(self, ledger: Ledger, tallies: Tallies, settings: MetricSettings) -> None:
        self._ledger = ledger
        self._tallies = tallies
        self._settings = settings
        self._shares: dict[str, tuple[str, float]] = {}
        """By queue its cohort and weighted share as told last: those of deleted queues stay."""

    def readings(self) -> Iterator[Reading]:
        ledger = self._ledger
        for name in ledger.state.queues:
            yield from self._queue(name)
            if self._settings.tells_quota:
                yield from self._quota(name)
        for queue, count in self._tallies.skips.items():
            yield "admission_cycle_preemption_skips", (queue,), count
        yield from self._tallied()
        if ledger.settings.fair_sharing is not None:
            yield from self._weighted()
        if self._settings.tells_cohorts:
            for cohort in ledger.state.tree.cohorts.values():
                yield from self._cohort(cohort)
        if self._settings.local_queues is not None:
            yield from self._local_queues()

    # ClusterQueues

    def _queue(self, name: str) -> Iterator[Reading]:
        ledger = self._ledger
        queue, is_active = ledger.pending[name], ledger.is_active(name)
        yield from _pending("pending_workloads", (name,), queue.counts, is_active)
        yield from _pending("pending_scheduling_hashes", (name,), queue.hash_counts(), is_active)
        holders = ledger.state.holders.get(name, {})
        admitted = sum(each.is_admitted for each in holders.values())
        yield "reserving_active_workloads", (name,), len(holders)
        yield "admitted_active_workloads", (name,), admitted
        now = "active" if is_active else "pending"
        if name in ledger.terminating:
            now = "terminating"
        for each in STATUSES:
            yield "cluster_queue_status", (name, each), float(each == now)
        node = ledger.state.node(name)
        yield "cluster_queue_info", (name, *_above(node)), 1

    def _quota(self, name: str) -> Iterator[Reading]:
        ledger = self._ledger
        queue, reserved = ledger.state.queues[name], ledger.state.node(name).usage
        waiting = (each for each in ledger.holders(name) if not each.is_admitted)
        unused = counting.used_by(waiting)
        for at, quota in queue.quotas.items():
            labels = (queue.cohort, name, *at)
            used = minus(reserved.get(at, 0), unused.get(at, 0))
            yield "cluster_queue_resource_reservation", labels, _amount(reserved, at)
            yield "cluster_queue_resource_usage", labels, _units(at[1], used)
            yield "cluster_queue_nominal_quota", labels, _units(at[1], quota.nominal)
            yield "cluster_queue_borrowing_limit", labels, _limit(at[1], quota.borrowing_limit)
            yield "cluster_queue_lending_limit", labels, _limit(at[1], quota.lending_limit)
        wanted: Counter[str] = Counter(dict.fromkeys((at[1] for at in queue.quotas), 0))
        for workload, _ in ledger.pending[name].waiting():
            for each in workload.pod_sets:
                wanted.update(each.total())
        for resource, amount in wanted.items():
            yield "cluster_queue_resource_pending", (name, resource), _units(resource, amount)

    def _tallied(self) -> Iterator[Reading]:
        """Finished and unadmitted workloads, of queues that exist."""
        finished = Counter(dict.fromkeys(self._ledger.state.queues, 0))
        for (local, held), count in self._tallies.finished.items():
            finished[self._home(local, held)] += count
        for name in self._ledger.state.queues:
            yield "finished_workloads", (name,), finished[name]
        if not self._settings.tells_unadmitted:
            return
        found: Counter[tuple[str, str, str]] = Counter()
        for (local, held, reason, cause), count in self._tallies.unadmitted.items():
            found[self._home(local, held), reason, cause] += count
        for labels, count in found.items():
            if labels[0] in self._ledger.state.queues:
                yield "unadmitted_workloads", labels, count

    def _home(self, local: Key, held: str) -> str:
        known = self._ledger.local_queues.get(local)
        return held or ("" if known is None else known.cluster_queue)

    def _weighted(self) -> Iterator[Reading]:
        ledger = self._ledger
        for name, queue in ledger.state.queues.items():
            self._shares[name] = queue.cohort, _precise(share(ledger.state.node(name)))
        for name, (cohort, value) in self._shares.items():
            yield "cluster_queue_weighted_share", (name, cohort), value
        for node in ledger.state.tree.cohorts.values():
            yield "cohort_weighted_share", (node.name,), _precise(share(node))

    # Cohorts

    def _cohort(self, cohort: Node) -> Iterator[Reading]:
        tree = self._ledger.state.tree
        yield "cohort_info", (cohort.name, *_above(cohort)), 1
        below = [] if tree.has_cycle(cohort) else list(tree.queues_below(cohort))
        for at, amount in cohort.subtree.items():
            labels = (cohort.name, *at)
            yield "cohort_subtree_quota", labels, _units(at[1], amount)
            reserved = total(node.used(at) for node in below)
            yield "cohort_subtree_resource_reservations", labels, _units(at[1], reserved)
        holders = (each for node in below for each in self._ledger.holders(node.name))
        admitted = sum(each.is_admitted for each in holders)
        yield "cohort_subtree_admitted_active_workloads", (cohort.name,), admitted

    # LocalQueues

    def _local_queues(self) -> Iterator[Reading]:
        wanted, tallies = self._settings.local_queues, self._tallies
        told = {key: each for key, each in tallies.locals.items() if tallies.is_told(key, wanted)}
        waiting, holders = self._by_local()
        finished: Counter[Key] = Counter()
        for (local, _), count in tallies.finished.items():
            finished[local] += count
        for key, facts in told.items():
            labels = (key.name, key.namespace)
            known = self._ledger.local_queues.get(key)
            name = "" if known is None else known.cluster_queue
            counts = waiting.get(key, Counts())
            is_active = self._ledger.is_active(name)
            yield from _pending("local_queue_pending_workloads", labels, counts, is_active)
            yield "local_queue_finished_workloads", labels, finished[key]
            for each in ("True", "False", "Unknown"):
                yield "local_queue_status", (*labels, each), float(each == facts.active)
            if name in self._ledger.state.queues:
                yield from self._holding(labels, name, holders.get(key, ()))
            if self._ledger.usage is not None:
                past = self._ledger.state.share_of.get(key, 0.0)
                yield "local_queue_admission_fair_sharing_usage", (*labels, name), past
        yield from self._local_unadmitted(told)

    def _holding(
        self, labels: tuple[str, str], queue: str, holders: Iterable[Workload]
    ) -> Iterator[Reading]:
        holders = list(holders)
        admitted = [each for each in holders if each.is_admitted]
        yield "local_queue_reserving_active_workloads", labels, len(holders)
        yield "local_queue_admitted_active_workloads", labels, len(admitted)
        if self._settings.tells_quota:
            used = counting.used_by(admitted)
            reserved = counting.used_by(each for each in holders if not each.is_admitted)
            add_to(reserved, used)
            for at in self._ledger.state.queues[queue].quotas:
                places = (*labels, *at)
                yield "local_queue_resource_reservation", places, _amount(reserved, at)
                yield "local_queue_resource_usage", places, _amount(used, at)

    def _local_unadmitted(self, told: Iterable[Key]) -> Iterator[Reading]:
        if not self._settings.tells_unadmitted:
            return
        for (local, held, reason, cause), count in self._tallies.unadmitted.items():
            home = self._home(local, held)
            if local in told and home in self._ledger.state.queues:
                labels = (local.name, local.namespace, home, reason, cause)
                yield "local_queue_unadmitted_workloads", labels, count

    def _by_local(self) -> tuple[dict[Key, Counts], dict[Key, list[Workload]]]:
        active: Counter[Key] = Counter()
        parked: Counter[Key] = Counter()
        holders: dict[Key, list[Workload]] = {}
        for queue in self._ledger.pending.values():
            for workload, is_parked in queue.waiting():
                home = Key(workload.key.namespace, workload.local_queue)
                (parked if is_parked else active)[home] += 1
        for held in self._ledger.state.holders.values():
            for workload in held.values():
                home = Key(workload.key.namespace, workload.local_queue)
                holders.setdefault(home, []).append(workload)
        counts = {key: Counts(active[key], parked[key]) for key in {*active, *parked}}
        return counts, holders


def _pending(
    name: str, labels: tuple[str, ...], counts: Counts, is_active: bool
) -> Iterator[Reading]:
    """In a queue that admits nothing, nothing is tried."""
    yield name, (*labels, "active"), counts.active if is_active else 0
    yield name, (*labels, "inadmissible"), counts.parked if is_active else counts.pending


def _above(node: Node) -> tuple[str, str]:
    """The cohort above a queue or cohort, and the one above all."""
    if node.parent is None:
        return "", "" if node.is_queue else node.name
    return node.parent.name, node.root.name


def _precise(found: Share) -> float:
    return nan if found.is_infinite else found.precise


def _amount(amounts: Mapping[FlavorResource, int], at: FlavorResource) -> float:
    return _units(at[1], amounts.get(at, 0))


def _units(resource: str, amount: int) -> float:
    if amount >= UNLIMITED:
        return inf
    return amount / 1000 if resource == CPU else float(amount)


def _limit(resource: str, amount: int | None) -> float:
    return inf if amount is None else _units(resource, amount)


def _change(tally: Counter[Any], at: Any, by: int) -> None:
    tally[at] += by
    if not tally[at]:
        del tally[at]
