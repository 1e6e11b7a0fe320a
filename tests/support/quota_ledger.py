"""What the stored states of workloads, in their order, say about quota: whether it was oversold
for a moment, given twice, or taken from somebody who had not been told to leave.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object

Held = tuple[str, str, int]
"""The ClusterQueue, the flavor, and how much cpu of it."""


@dataclass
class QuotaLedger:
    """Cohorts of queues that all have the same quota, in one flavor and resource."""

    cohorts: Mapping[str, str]
    """By ClusterQueue: its cohort."""
    nominal: int
    borrowed_max: int
    finished: set[str] = field(default_factory=set)
    evictions: set[str] = field(default_factory=set)
    admissions: int = 0
    problems: list[str] = field(default_factory=list)
    _held: dict[str, Held] = field(default_factory=dict)
    """By uid, as `finished` and `evictions` are."""

    def saw(self, obj: Object, *, is_gone: bool = False) -> None:
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
        if is_gone:
            self.problems.append(f"{name} is gone")
        if uid in self.finished and not status.is_finished(obj):
            self.problems.append(f"{name} was finished and is no more")
        if status.is_evicted(obj):
            self.evictions.add(uid)
        if status.is_finished(obj):
            self.finished.add(uid)
        if status.is_finished(obj) or not status.has_quota(obj):
            self._gave_back(obj)
        else:
            self._holds(obj)

    def has_admitted(self, count: int) -> bool:
        return self.admissions >= count

    def _gave_back(self, obj: Object) -> None:
        held = self._held.pop(obj["metadata"]["uid"], None)
        if held and not status.is_finished(obj) and not status.is_evicted(obj):
            self.problems.append(f"{obj['metadata']['name']} lost its quota and was not evicted")

    def _holds(self, obj: Object) -> None:
        name, uid, holds = obj["metadata"]["name"], obj["metadata"]["uid"], _held_by(obj)
        if uid not in self._held:
            self.admissions += 1
        if self._held.setdefault(uid, holds) != holds:
            self.problems.append(f"{name} held {self._held[uid]} and holds {holds}")
        self._add_up(name)

    def _add_up(self, name: str) -> None:
        queues: Counter[tuple[str, str]] = Counter()
        cohorts: Counter[tuple[str, str]] = Counter()
        for queue, flavor, amount in self._held.values():
            queues[queue, flavor] += amount
            cohorts[self.cohorts[queue], flavor] += amount
        sizes = Counter(self.cohorts.values())
        is_borrowed_well = max(queues.values()) <= self.nominal + self.borrowed_max
        if not is_borrowed_well or any(
            used > self.nominal * sizes[cohort] for (cohort, _), used in cohorts.items()
        ):
            self.problems.append(f"oversold by {name}: {dict(queues)}")


def _held_by(obj: Object) -> Held:
    admission = obj["status"]["admission"]
    assigned = admission["podSetAssignments"]
    (flavor,) = {each["flavors"]["cpu"] for each in assigned}
    amounts = [int(each["resourceUsage"]["cpu"]) for each in assigned]
    return admission["clusterQueue"], flavor, sum(amounts)
