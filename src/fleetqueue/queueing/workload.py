"""A workload as decisions see it: what its pods ask for, its place in the order, what it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import Amounts, FlavorResource, Requests, add_to, times

NOTHING: Mapping[FlavorResource, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """How close to each other the pods of a set must, or should, be."""

    required: str = ""
    preferred: str = ""
    is_unconstrained: bool = False
    slice_level: str = ""
    slice_size: int = 0
    layers: tuple[tuple[str, int], ...] = ()
    """Nested slices, coarse to fine: level and size."""
    group: str = ""

    @property
    def is_explicit(self) -> bool:
        """Whether a place is asked for, rather than only told how pods are numbered."""
        asks = self.required or self.preferred or self.slice_level or self.layers
        return bool(asks or self.is_unconstrained)


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods from one template."""

    name: str
    count: int
    """Those that still need resources: the set's pods less the reclaimable ones."""
    requests: Requests
    """What quota has to cover for one pod."""
    pod_requests: Requests
    """What one pod takes on its node."""
    spec: Mapping[str, Any]
    """The pod template's spec, for selectors, affinity and tolerations."""
    count_min: int | None = None
    topology: TopologyRequest | None = None

    def total(self, count: int | None = None) -> Requests:
        pods = self.count if count is None else count
        return {name: times(amount, pods) for name, amount in self.requests.items()}


@dataclass(frozen=True, slots=True)
class Domain:
    """A place in a topology, by the values of its levels, and how many pods are there."""

    values: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the pods of a set are: the labels of the levels, and the domains in order."""

    levels: tuple[str, ...]
    domains: tuple[Domain, ...]


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """What a pod set was given."""

    name: str
    count: int
    flavors: Mapping[str, str]
    """The flavor of each resource."""
    usage: Requests
    """What its pods use in all, reclaimable ones left out."""
    placement: Placement | None = None
    is_delayed: bool = False
    """The placement is chosen later, when the checks are ready."""


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """One Workload; a change of the object makes a new one."""

    key: Key
    uid: str
    local_queue: str
    cluster_queue: str
    """The queue it waits in, or holds quota of."""
    pod_sets: tuple[PodSet, ...]
    created_at: datetime
    ordered_at: datetime
    """What its place among equals goes by: see `order.queue_order_time`."""
    queued_at: datetime
    """Since when it waits, for wait times in events and metrics."""
    priority: int = 0
    boost: int = 0
    priority_class: str = ""
    job_uid: str = ""
    generation: int = 1
    hash: str = ""
    """Workloads with the same one get the same answer; "" where that is not used."""
    assignments: tuple[PodSetAssignment, ...] = ()
    """What it holds; empty while it waits."""
    reserved_at: datetime | None = None
    is_admitted: bool = False
    is_evicted: bool = False
    is_ready: bool = False
    """PodsReady."""
    has_failed_checks: bool = False
    """A check says Retry or Rejected."""
    has_closed_gate: bool = False
    """A preemption gate keeps it from preempting others."""
    waits_until: datetime | None = None
    """When its back-off ends."""
    may_requeue: bool = True
    """False while its Requeued condition is."""
    replaces: Key | None = None
    """The older slice whose place it asks for; whether it gets that, see `continues`."""
    slice_name: str = ""
    """The name of the first slice of its job, where that is elastic."""
    controller_uid: str = ""
    origin: str = ""
    """Of the copy of a workload on another cluster: what that cluster calls itself."""
    allowed_flavors: frozenset[str] | None = None
    """For a variant of a workload that tries several flavors at once."""
    flavor_rank: int = 0
    """Among variants, how wanted its flavor is: less goes first."""
    parent_uid: str = ""
    """The workload whose variant it is."""
    unhealthy_nodes: tuple[str, ...] = ()
    needs_second_pass: bool = False
    tolerations: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Per pod set, what its checks add."""
    node_selectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Per pod set, what its checks add."""
    is_single_pod: bool = False
    """Owned by exactly one plain pod."""
    _usage: Mapping[FlavorResource, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        used = usage_of(self.assignments) if self.assignments else NOTHING
        object.__setattr__(self, "_usage", used)

    @property
    def effective_priority(self) -> int:
        return self.priority + self.boost

    @property
    def has_quota(self) -> bool:
        return self.reserved_at is not None

    @property
    def is_slice(self) -> bool:
        """Of an elastic job."""
        return bool(self.slice_name)

    def continues(self, former: "Workload") -> bool:
        """Whether both are slices of one job, so that this one may take the place of the other."""
        name = former.slice_name or former.key.name
        if (former.key.namespace, name) != (self.key.namespace, self.slice_name):
            return False
        if self.origin != former.origin:
            return False
        # A copy has no owner until the job arrives and takes it, one slice after the other.
        is_untaken = bool(self.origin) and not (self.controller_uid and former.controller_uid)
        return is_untaken or self.controller_uid == former.controller_uid

    def usage(self) -> Mapping[FlavorResource, int]:
        """The quota it holds."""
        return self._usage


def usage_of(assignments: Sequence[PodSetAssignment]) -> Amounts:
    total: Amounts = {}
    for each in assignments:
        add_to(
            total,
            {
                (flavor, resource): each.usage[resource]
                for resource, flavor in each.flavors.items()
                if resource in each.usage
            },
        )
    return total
