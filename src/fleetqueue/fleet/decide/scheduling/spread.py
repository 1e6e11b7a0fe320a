"""Keeps the numbers of clusters per topology domain close to each other."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from fleetqueue.fleet.decide.scheduling.affinity import labels_of

Json = dict[str, Any]
VIOLATION_SCORE = -1000
"""For a cluster that violates a constraint which is only a wish."""


class Spread:
    """All constraints of a policy, given the clusters of the fleet and those that are picked."""

    def __init__(
        self, constraints: Iterable[Json], clusters: Sequence[Json], picked: Collection[str]
    ) -> None:
        self._constraints = [_Constraint(each, clusters, picked) for each in constraints]

    def __bool__(self) -> bool:
        return bool(self._constraints)

    def problem(self, cluster: Json) -> str:
        """Why the cluster must not be picked next; "" where it may be."""
        for each in self._constraints:
            if each.is_strict and each.is_violated(cluster):
                shown = f'"{each.key}" (max skew {each.skew_max})'
                return f"violated doNotSchedule topology spread constraint {shown}"
        return ""

    def score(self, cluster: Json) -> int:
        return sum(each.score(cluster) for each in self._constraints)


class _Constraint:
    def __init__(self, told: Json, clusters: Iterable[Json], picked: Collection[str]) -> None:
        self.key = str(told.get("topologyKey") or "")
        self.skew_max = int(told.get("maxSkew") or 1)
        self.is_strict = told.get("whenUnsatisfiable") != "ScheduleAnyway"
        self._counts = _counts(self.key, clusters, picked)
        self._skews = {count: _skews(count, self._counts) for count in self._counts.values()}

    def is_violated(self, cluster: Json) -> bool:
        found = self._skews_at(cluster)
        return found is not None and found[0] > self.skew_max

    def score(self, cluster: Json) -> int:
        found = self._skews_at(cluster)
        if found is None:
            return 0
        skew, change = found
        return VIOLATION_SCORE if skew > self.skew_max else -change

    def _skews_at(self, cluster: Json) -> tuple[int, int] | None:
        domain = labels_of(cluster).get(self.key)
        return None if domain is None else self._skews[self._counts[domain]]


def _counts(key: str, clusters: Iterable[Json], picked: Collection[str]) -> Counter[str]:
    """Picked clusters by domain; domains without any count too."""
    counts: Counter[str] = Counter()
    for each in clusters:
        domain = labels_of(each).get(key)
        if domain is not None:
            counts[domain] += each["metadata"]["name"] in picked
    return counts


def _skews(count: int, counts: Counter[str]) -> tuple[int, int]:
    """The skew after one more in a domain that has so many, and by how much that is more."""
    ordered = sorted(counts.values())
    least, most = ordered[0], ordered[-1]
    if least == most:
        change = 1
    elif count == least and ordered[1] != least:
        change = -1
    else:
        change = int(count == most)
    return most - least + change, change
