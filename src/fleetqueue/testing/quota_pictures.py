"""Trees of queues drawn in words, what runs in them, and questions about them: one line a case.

A line with deeper lines below it is a cohort, and so is `name/`; any other is a queue:

    lab              weight=2
      nlp     gpu=4  borrow=2
      vision  gpu=8  lend=4    spot:gpu=2  within=LowerPriority  reclaim=Any

`borrow` and `lend` limit the resource before them; without a flavor it is the flavor `default`.
A workload is `name@queue gpu=2 priority=5 boost=1 created=3 reserved=4 local=team evicted`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import (
    UNLIMITED,
    Amounts,
    FlavorResource,
    minus,
    plus,
    print_amount,
    read_quota,
)
from fleetqueue.queueing.model import (
    ClusterQueue,
    Cohort,
    Flavor,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from fleetqueue.queueing.preemption.search import find_targets
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.settings import DEFAULTS, Settings
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import PodSet, PodSetAssignment, Workload

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
_LIMITS = {"borrow": "borrowing_limit", "lend": "lending_limit"}
_RULES = {
    "within": "within",
    "reclaim": "reclaim",
    "while-borrowing": "borrow",
    "threshold": "borrow_priority_max",
}
_ABOUT_WORKLOADS = ("priority", "boost", "created", "reserved", "local", "uid", "job")


def quota_tree(picture: str, settings: Settings = DEFAULTS) -> "Pictured":
    """The queues and cohorts of the picture, with nothing in use."""
    pictured = Pictured(State(settings))
    for drawn in _lines(picture):
        drawn.put_into(pictured.state)
    return pictured


def workload(line: str, number: int = 0) -> Workload:
    """A workload that would use, or uses, what the line says; `number` is its turn by default."""
    head, *words = line.split()
    name, _, queue = head.partition("@")
    said = dict(_pair(word) for word in words)
    amounts = {
        _place(key): read_quota(_place(key)[1], value)
        for key, value in said.items()
        if key not in _ABOUT_WORKLOADS and value
    }
    created = EPOCH + timedelta(seconds=float(said.get("created", number)))
    reserved = said.get("reserved", str(number))
    assigned, pods = _assigned(amounts)
    return Workload(
        key=Key("default", name),
        uid=said.get("uid", name),
        local_queue=said.get("local", "main"),
        cluster_queue=queue,
        pod_sets=pods,
        created_at=created,
        ordered_at=created,
        queued_at=created,
        priority=int(said.get("priority", 0)),
        boost=int(said.get("boost", 0)),
        job_uid=said.get("job", ""),
        assignments=assigned,
        reserved_at=None if reserved == "never" else EPOCH + timedelta(seconds=float(reserved)),
        is_admitted=True,
        is_evicted="evicted" in said,
    )


class Pictured:
    """A state that was drawn. Questions leave it as it is."""

    def __init__(self, state: State) -> None:
        self.state = state

    def using(self, in_use: str) -> "Pictured":
        """Adds usage that belongs to no workload: `nlp=4 vision:spot:gpu=1`."""
        for queue, at, amount in self._amounts(in_use):
            self.state.node(queue).add({at: amount})
        self.state.keep()
        return self

    def running(self, lines: str | Iterable[str]) -> "Pictured":
        """Workloads that hold quota, one a line or between `;`, reserved in that order."""
        listed = lines.replace(";", "\n").splitlines() if isinstance(lines, str) else lines
        for number, line in enumerate(each for each in listed if each.strip()):
            self.state.hold(workload(line, number))
        return self

    def ask(self, asks: str) -> str:
        """`fit`, `borrow <amount>`, `wait` or `never`, for one amount in one queue."""
        ((queue, at, amount),) = self._amounts(asks)
        node = self.state.node(queue)
        if amount > node.potential(at):
            return "never"
        if not node.fits({at: amount}):
            return "wait"
        beyond = minus(plus(node.used(at), amount), max(node.used(at), node.quota(at).nominal))
        return f"borrow {print_amount(at[1], beyond)}" if beyond > 0 else "fit"

    def targets(self, line: str, places: str = "") -> list[Target]:
        """Whom the workload would preempt; for everything it wants, or for the places named."""
        pending = replace(workload(line, 1000), reserved_at=None, assignments=())
        wanted = dict(workload(line).usage())
        at = frozenset(_place(each) for each in places.split()) or frozenset(wanted)
        return find_targets(self.state, pending, wanted, at)

    def preempt(self, line: str, places: str = "") -> str:
        """The same in words: `low-1 InClusterQueue, low-2 InClusterQueue`, or `nobody`."""
        found = self.targets(line, places)
        return ", ".join(f"{each.workload.key.name} {each.reason}" for each in found) or "nobody"

    def _amounts(self, text: str) -> Iterator[tuple[str, FlavorResource, int]]:
        for word in text.split():
            where, value = _pair(word)
            queue, _, place = where.partition(":")
            at = _place(place) if place else self._only_place()
            yield queue, at, read_quota(at[1], value)

    def _only_place(self) -> FlavorResource:
        nodes = (*self.state.tree.queues.values(), *self.state.tree.cohorts.values())
        (at,) = {at for node in nodes for at in node.quotas}
        return at


@dataclass(slots=True)
class _Drawn:
    depth: int
    name: str
    words: list[tuple[str, str]]
    parent: str = ""
    is_cohort: bool = False
    quotas: dict[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    rules: dict[str, Any] = field(default_factory=dict)
    is_usage_based: bool = False

    def read(self) -> None:
        at: FlavorResource = ("", "")
        for key, value in self.words:
            if key in _LIMITS:
                limit = _amount(at, value)
                self.quotas[at] = replace(self.quotas[at], **{_LIMITS[key]: limit})
            elif key in _RULES:
                self.rules[_RULES[key]] = int(value) if key == "threshold" else value
            elif key == "weight":
                self.weight = float(value)
            elif key == "usage-based":
                self.is_usage_based = True
            else:
                at = _place(key)
                self.quotas[at] = Quota(_amount(at, value))

    def put_into(self, state: State) -> None:
        if self.is_cohort:
            state.put_cohort(Cohort(self.name, self.parent, self.quotas, self.weight))
            return
        for flavor, _ in self.quotas:
            state.put_flavor(Flavor(flavor))
        state.put_queue(
            ClusterQueue(
                self.name,
                self.parent,
                _groups(self.quotas),
                self.quotas,
                preemption=PreemptionRules(**self.rules),
                weight=self.weight,
                is_usage_based=self.is_usage_based,
            )
        )


def _lines(picture: str) -> list[_Drawn]:
    above: list[_Drawn] = []
    found: list[_Drawn] = []
    for line in picture.splitlines():
        if not line.strip():
            continue
        name, *words = line.split()
        depth = len(line) - len(line.lstrip())
        drawn = _Drawn(depth, name.rstrip("/"), [_pair(word) for word in words])
        drawn.is_cohort = name.endswith("/")
        above = [each for each in above if each.depth < depth]
        if above:
            drawn.parent = above[-1].name
            above[-1].is_cohort = True
        above.append(drawn)
        found.append(drawn)
        drawn.read()
    return found


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value


def _place(key: str) -> FlavorResource:
    flavor, _, resource = key.rpartition(":")
    return flavor or "default", resource


def _amount(at: FlavorResource, value: str) -> int:
    return UNLIMITED if value == "unlimited" else read_quota(at[1], value)


def _groups(quotas: Mapping[FlavorResource, Quota]) -> tuple[ResourceGroup, ...]:
    resources = tuple(dict.fromkeys(resource for _, resource in quotas))
    flavors = tuple(dict.fromkeys(flavor for flavor, _ in quotas))
    return (ResourceGroup(resources, flavors),) if quotas else ()


def _assigned(amounts: Amounts) -> tuple[tuple[PodSetAssignment, ...], tuple[PodSet, ...]]:
    """One pod set for each flavor, since a set has but one flavor for a resource."""
    by_flavor: dict[str, dict[str, int]] = {}
    for (flavor, resource), amount in amounts.items():
        by_flavor.setdefault(flavor, {})[resource] = amount
    assigned = tuple(
        PodSetAssignment(name, 1, dict.fromkeys(usage, flavor), usage)
        for name, flavor, usage in (
            (f"set-{flavor}", flavor, usage) for flavor, usage in by_flavor.items()
        )
    )
    pods = tuple(PodSet(each.name, 1, each.usage, each.usage, {}) for each in assigned)
    return assigned, pods
