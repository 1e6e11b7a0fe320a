"""What one attempt to give flavors to a workload found: the choice for every pod set, everything
that was looked at on the way, and how that is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from fleetqueue.queueing.amounts import Amounts, FlavorResource, Requests, minus
from fleetqueue.queueing.workload import (
    Placement,
    PodSet,
    PodSetAssignment,
    Workload,
    usage_of,
)


class Mode(IntEnum):
    """How an attempt ended, worst first."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    """Fits once the preemptions of another workload are over."""
    FIT = 3


class Chance(IntEnum):
    """What quota says of a flavor, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """Preemption would be allowed, but there is nobody to preempt."""
    PREEMPT = 2
    """Somebody of the same queue has to go."""
    RECLAIM = 3
    """Only workloads of other queues have to go."""
    FIT = 4

    @property
    def mode(self) -> Mode:
        if self is Chance.FIT:
            return Mode.FIT
        return Mode.NO_FIT if self is Chance.NO_FIT else Mode.PREEMPT


class Cause(IntEnum):
    """Why a flavor does not do, the least severe first."""

    NONE = 0
    PLACES = 1
    QUOTA = 2
    MAXIMUM = 3
    FLAVOR = 4

    @property
    def reason(self) -> str:
        """What the condition says."""
        return _REASONS[self]


_REASONS = {
    Cause.NONE: "",
    Cause.PLACES: "TopologyPlacementFailed",
    Cause.QUOTA: "WaitingForQuota",
    Cause.MAXIMUM: "ExceedsMaxQuota",
    Cause.FLAVOR: "NoMatchingFlavor",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One resource against the quota of one flavor."""

    resource: str
    needed: int
    """What earlier pod sets and this one need together."""
    free: int
    """What the queue does not use of its own."""
    borrowable: int
    """What it could use beyond that."""
    chance: Chance
    borrowing: int = 0
    """How far up the tree the quota has to come from; 0: it is the queue's own."""
    why: str = ""
    cause: Cause = Cause.NONE


@dataclass(frozen=True, slots=True)
class Attempt:
    """One flavor that was looked at."""

    flavor: str
    chance: Chance
    borrowing: int = 0
    reasons: tuple[str, ...] = ()
    cause: Cause = Cause.NONE
    trials: tuple[Trial, ...] = ()


Attempts: TypeAlias = tuple[Attempt, ...]
"""The flavors of one resource group that were looked at, in order."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The flavor that a resource of a pod set gets."""

    flavor: str
    chance: Chance
    borrowing: int = 0
    tried: int = -1
    """The place of the last flavor that was tried in its group; -1: that was the last one."""


@dataclass(frozen=True, slots=True)
class PodSetResult:
    """What was found for a pod set."""

    pod_set: PodSet
    count: int
    requests: Requests
    """In all, for that many pods."""
    choices: Mapping[str, Choice] = field(default_factory=dict)
    attempts: tuple[Attempts, ...] = ()
    """By resource group."""
    reasons: tuple[str, ...] = ()
    """Why it does not fit; empty where it does."""
    error: str = ""
    """What kept the search from being finished."""
    cause: Cause = Cause.NONE
    """A cause that is no flavor's."""
    has_failed: bool = False
    """No flavors at all, or none with room for its pods."""
    placement: Placement | None = None
    is_delayed: bool = False

    @property
    def name(self) -> str:
        return self.pod_set.name

    @property
    def mode(self) -> Mode:
        if self.has_failed or self.error:
            return Mode.NO_FIT
        return min((each.chance.mode for each in self.choices.values()), default=Mode.FIT)

    @property
    def message(self) -> str:
        if self.error:
            return f"failed to assign flavors to pod set {self.name}: {self.error}"
        if not self.reasons:
            return ""
        return f"couldn't assign flavors to pod set {self.name}: {', '.join(sorted(self.reasons))}"

    def worst_cause(self) -> Cause:
        """The most severe over its resource groups, each of which goes by its best flavor; unless
        there is one that no flavor is to blame for.
        """
        by_group = [
            min((each.cause for each in attempts), default=Cause.FLAVOR)
            for attempts in self.attempts
        ]
        return self.cause or max(by_group, default=Cause.NONE)

    def held(self) -> PodSetAssignment:
        return PodSetAssignment(
            self.name,
            self.count,
            {resource: choice.flavor for resource, choice in self.choices.items()},
            {resource: self.requests[resource] for resource in self.choices},
            self.placement,
            self.is_delayed,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """How far the search came, so that the next attempt goes on from there."""

    tried: Mapping[str, Mapping[str, int]]
    """By pod set and resource."""
    hash: str
    generation: int
    """The queue's, when it was made."""
    cycle: int

    @property
    def has_more(self) -> bool:
        """Whether flavors are left to try."""
        return any(at != -1 for each in self.tried.values() for at in each.values())

    def start(self, pod_set: str, resource: str) -> int:
        return self.tried.get(pod_set, {}).get(resource, -1) + 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """What was found for all pod sets; those after one without any flavor are not looked at."""

    pod_sets: tuple[PodSetResult, ...]
    replaced: Workload | None = None
    """Who holds quota now that this one gets instead: an older slice, or the workload itself."""
    is_deferred: bool = False
    mode: Mode = field(init=False)
    """The worst of all pod sets."""

    def __post_init__(self) -> None:
        worst = min((each.mode for each in self.pod_sets), default=Mode.FIT)
        is_late = self.is_deferred and worst is Mode.FIT
        object.__setattr__(self, "mode", Mode.DEFERRED_FIT if is_late else worst)

    @property
    def borrowing(self) -> int:
        return max(
            (choice.borrowing for each in self.pod_sets for choice in each.choices.values()),
            default=0,
        )

    @property
    def message(self) -> str:
        failed = next((each for each in self.pod_sets if each.error), None)
        if failed is not None:
            return failed.message
        return "; ".join(each.message for each in self.pod_sets if each.reasons)

    @property
    def cause(self) -> Cause:
        """Why nothing fits: the most severe of all pod sets, also of those that could preempt; no
        attempt at all means that no flavor matches.
        """
        found = max((each.worst_cause() for each in self.pod_sets), default=Cause.NONE)
        return found or Cause.FLAVOR

    @property
    def flavors(self) -> dict[str, dict[str, str]]:
        """By pod set and resource."""
        return {
            each.name: {resource: choice.flavor for resource, choice in each.choices.items()}
            for each in self.pod_sets
        }

    @property
    def counts(self) -> dict[str, int]:
        return {each.name: each.count for each in self.pod_sets}

    def held(self) -> tuple[PodSetAssignment, ...]:
        return tuple(each.held() for each in self.pod_sets)

    def usage(self) -> Amounts:
        return usage_of(self.held())

    def charge(self) -> Amounts:
        """What is needed on top of what is held already."""
        return charge_of(self.usage(), self.replaced)

    def contested(self) -> frozenset[FlavorResource]:
        """Where somebody has to go."""
        return frozenset(
            (choice.flavor, resource)
            for each in self.pod_sets
            for resource, choice in each.choices.items()
            if choice.chance.mode is Mode.PREEMPT
        )

    def record(self, workload: Workload, generation: int, cycle: int) -> Record:
        tried = {
            each.name: {resource: choice.tried for resource, choice in each.choices.items()}
            for each in self.pod_sets
        }
        return Record(tried, workload.hash, generation, cycle)

    def with_results(self, changed: Iterable[PodSetResult]) -> "Assignment":
        by_name = {each.name: each for each in changed}
        return replace(self, pod_sets=tuple(by_name.get(each.name, each) for each in self.pod_sets))


def charge_of(usage: Amounts, replaced: Workload | None) -> Amounts:
    if replaced is None:
        return usage
    before = replaced.usage()
    return {at: max(0, minus(amount, before.get(at, 0))) for at, amount in usage.items()}
