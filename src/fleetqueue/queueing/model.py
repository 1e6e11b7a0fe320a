"""The queues, cohorts and flavors as decisions see them: small, frozen, in base units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fleetqueue.api.selectors import LabelSelector
from fleetqueue.queueing.amounts import FlavorResource

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quota:
    """What a queue or cohort owns of one resource in one flavor."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that get the same flavor, and the flavors to choose from, in order."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fungibility:
    """Whether the search goes on at a flavor that would do by borrowing or by preempting."""

    stops_at_borrowing: bool = True
    stops_at_preemption: bool = False
    prefers_preemption: bool = False
    """PreemptionOverBorrowing."""


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """Whom a workload of the queue may preempt."""

    within: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow: Literal["Never", "LowerPriority"] = "Never"
    borrow_priority_max: int | None = None


@dataclass(frozen=True, slots=True)
class CheckRule:
    """An admission check and the flavors it is for; None: all of them."""

    name: str
    flavors: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue's spec."""

    name: str
    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    fungibility: Fungibility = Fungibility()
    preemption: PreemptionRules = PreemptionRules()
    namespace_selector: LabelSelector | None = None
    """None selects no namespace."""
    checks: tuple[CheckRule, ...] = ()
    stop_policy: Literal["None", "Hold", "HoldAndDrain"] = "None"
    weight: float = 1.0
    is_usage_based: bool = False
    """UsageBasedAdmissionFairSharing."""
    concurrent: "ConcurrentAdmission | None" = None

    def group_of(self, resource: str) -> ResourceGroup | None:
        return next((group for group in self.groups if resource in group.resources), None)


@dataclass(frozen=True, slots=True)
class ConcurrentAdmission:
    """One variant of a workload per flavor; `last_acceptable` bounds what it may migrate to."""

    mode: Literal["TryPreferredFlavors", "RetainFirstAdmission"]
    last_acceptable: str = ""


@dataclass(frozen=True, slots=True)
class Cohort:
    """A Cohort's spec; one that is only named elsewhere has no quota and no parent."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor's spec."""

    name: str
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_taints: tuple[Json, ...] = ()
    tolerations: tuple[Json, ...] = ()
    topology: str = ""
