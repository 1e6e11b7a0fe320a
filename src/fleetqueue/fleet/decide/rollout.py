"""Which bindings of a placement change now, which are taken away, and which have to wait, so that
never more clusters than allowed are without what is placed, and never more than allowed have it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.fleet.decide import bindings, conditions, shares

Json = dict[str, Any]
STARTED = (
    conditions.TRUE,
    "RolloutStarted",
    "Detected the new changes on the resources and started the rollout process",
)
BLOCKED = (
    conditions.FALSE,
    "RolloutNotStartedYet",
    "The resources cannot be updated to the latest because of the rollout strategy",
)
CLEANUP_SECONDS = 5.0
UNAVAILABLE_SECONDS_MAX = 100 * 365 * 86400.0
"""Nobody waits longer, and dates end somewhere."""
"""How soon a cluster is looked at again that an earlier binding has not left yet."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the strategy of a placement allows, in numbers of clusters."""

    target: int
    unavailable_max: int
    surge_max: int
    unavailable_seconds: float
    """How long something that nobody can track counts as unavailable."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many bindings are what."""

    ready: int
    going: int
    """Ready, but on their way out: they may be gone at any moment."""
    can_be_ready: int


@dataclass(slots=True)
class Rollout:
    """What to do now; each binding is in one list at most."""

    changed: list[Json] = field(default_factory=list)
    """They get the latest resources."""
    removed: list[Json] = field(default_factory=list)
    blocked: list[Json] = field(default_factory=list)
    """They would change but must wait."""
    current: list[Json] = field(default_factory=list)
    """They have the latest resources."""
    seconds: float | None = None
    """Look again then, though nothing may happen meanwhile."""


def limits_of(placement: Json, found: Iterable[Json]) -> Limits:
    """`placement` has its defaults filled in."""
    rolling = placement["spec"]["strategy"].get("rollingUpdate") or {}
    target = target_of(placement["spec"]["policy"], found)
    return Limits(
        target,
        shares.rounded_up(rolling["maxUnavailable"], target),
        shares.rounded_up(rolling["maxSurge"], target),
        min(float(rolling["unavailablePeriodSeconds"]), UNAVAILABLE_SECONDS_MAX),
    )


def target_of(policy: Json, found: Iterable[Json]) -> int:
    """How many clusters shall have the resources in the end."""
    match policy["placementType"]:
        case "PickFixed":
            return len(policy.get("clusterNames") or ())
        case "PickN":
            return int(policy.get("numberOfClusters") or 0)
    wanted = (BindingState.SCHEDULED, BindingState.BOUND)
    return len({bindings.target_cluster(each) for each in found if bindings.state(each) in wanted})


def removals_allowed(limits: Limits, counts: Counts) -> int:
    """How many ready clusters may be touched without falling below the minimum."""
    return max(0, counts.ready - counts.going - (limits.target - limits.unavailable_max))


def additions_allowed(limits: Limits, counts: Counts) -> int:
    """How many clusters may get the resources for the first time."""
    return max(0, limits.target + limits.surge_max - counts.can_be_ready)


def plan(
    found: Sequence[Json], limits: Limits, is_current: Callable[[Json], bool], now: datetime
) -> Rollout:
    """`is_current` says whether a binding has the latest resources and overrides."""
    sorted_out = _Sorted(limits, is_current, now)
    busy = _clusters_being_left(found)
    for binding in sorted(found, key=_order):
        sorted_out.add(binding, bindings.target_cluster(binding) in busy)
    return sorted_out.rollout()


def conditions_with(binding: Json, told: tuple[str, str, str], now: datetime) -> list[Json] | None:
    """The binding's conditions once they say this of the rollout; None where they do already."""
    generation = int(binding["metadata"].get("generation") or 0)
    type = PlacementAspect.ROLLOUT_STARTED
    new = conditions.make(type, *told, generation=generation, now=now)
    known = (binding.get("status") or {}).get("conditions")
    if conditions.says_same(conditions.find(known, type), new):
        return None
    return conditions.put(known, new)


class _Sorted:
    """Bindings by what could be done with them."""

    def __init__(self, limits: Limits, is_current: Callable[[Json], bool], now: datetime) -> None:
        self._limits, self._is_current, self._now = limits, is_current, now
        self._unscheduled: list[Json] = []
        self._unused: list[Json] = []
        self._failed: list[Json] = []
        self._outdated: list[Json] = []
        self._unbound: list[Json] = []
        self._current: list[Json] = []
        self._ready = self._going = self._can_be_ready = 0
        self._waits: list[float] = []
        self._is_cleaning_up = False

    def add(self, binding: Json, is_being_left: bool) -> None:
        is_ready = self._count(binding)
        if bindings.is_deleting(binding):
            self._going += is_ready
        elif _was_never_used(binding):
            self._unused.append(binding)
        elif bindings.state(binding) == BindingState.UNSCHEDULED:
            self._unscheduled.append(binding)
        elif bindings.state(binding) == BindingState.BOUND and self._is_current(binding):
            self._current.append(binding)
        elif is_being_left:
            self._is_cleaning_up = True
        elif bindings.state(binding) == BindingState.SCHEDULED:
            self._unbound.append(binding)
        elif bindings.has_failed(binding):
            self._failed.append(binding)
        else:
            self._outdated.append(binding)

    def rollout(self) -> Rollout:
        counts = Counts(self._ready, self._going, self._can_be_ready)
        removals = removals_allowed(self._limits, counts)
        additions = additions_allowed(self._limits, counts)
        # With nothing wanted there is no minimum that a removal could break.
        free = removals if self._limits.target else len(self._unscheduled)
        removed = self._unscheduled[:free]
        updates = max(0, removals - len(removed))
        return Rollout(
            changed=[*self._failed, *self._outdated[:updates], *self._unbound[:additions]],
            removed=[*self._unused, *removed],
            blocked=[*self._outdated[updates:], *self._unbound[additions:]],
            current=self._current,
            seconds=self._look_again(
                is_done=len(removed) == len(self._unscheduled)
                and len(self._outdated) <= updates
                and len(self._unbound) <= additions
            ),
        )

    def _count(self, binding: Json) -> bool:
        """Whether it is ready; only what is or was delivered can be."""
        if bindings.state(binding) == BindingState.SCHEDULED or _was_never_used(binding):
            return False
        span = self._limits.unavailable_seconds
        seconds = bindings.seconds_until_ready(binding, self._now, span)
        self._can_be_ready += bindings.can_be_ready(binding)
        self._ready += seconds == 0.0
        if seconds:
            self._waits.append(seconds)
        return seconds == 0.0

    def _look_again(self, is_done: bool) -> float | None:
        if self._is_cleaning_up:
            return CLEANUP_SECONDS
        if is_done:
            return None
        return min([*self._waits, self._limits.unavailable_seconds]) or None


def _was_never_used(binding: Json) -> bool:
    """Whether its cluster was given up before it got anything: no limit has to do with that, and
    two of them would keep a placement of one cluster from ever beginning.
    """
    is_out = bindings.state(binding) == BindingState.UNSCHEDULED
    return is_out and not bindings.resource_snapshot(binding)


def _clusters_being_left(found: Iterable[Json]) -> set[str]:
    """What a binding on its way out delivered may still be there."""
    return {bindings.target_cluster(each) for each in found if bindings.is_deleting(each)}


def _order(binding: Json) -> tuple[str, str]:
    return bindings.target_cluster(binding), str(binding["metadata"]["name"])
