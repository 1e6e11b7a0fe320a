"""Cycles in words: who waits, one line each, and what was decided about each.

A line is `name@queue cpu=2 memory=1Gi x3 min=1 priority=5 created=3`. Several pod sets are written
one after another with `+`, each with its name: `name@queue driver cpu=1 + worker cpu=1 x4`. What
is decided reads `name: admit on-demand`, `name: preempt low`, `name: wait WaitingForQuota`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import Requests, read_amount
from fleetqueue.queueing.assignment import Record
from fleetqueue.queueing.cycle import decide
from fleetqueue.queueing.model import Flavor, Fungibility, ResourceGroup
from fleetqueue.queueing.nomination import Head
from fleetqueue.queueing.plan import (
    Admit,
    Decision,
    Evict,
    FailPlace,
    Migrate,
    Place,
    Plan,
    Preempt,
    Wait,
)
from fleetqueue.queueing.settings import DEFAULTS, Settings
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import PodSet, Workload
from fleetqueue.testing import quota_pictures

NOW = datetime(2025, 1, 2, tzinfo=UTC)
_ABOUT = ("priority", "created", "min", "uid", "hash", "local")


@dataclass
class Scene:
    """A drawn state, the records that cycles left, and how many there were."""

    state: State
    records: dict[Key, Record | None] = field(default_factory=dict)
    cycles: int = 0

    def flavor(self, name: str, **said: Any) -> "Scene":
        """Says more about a flavor: `node_labels`, `node_taints`, `tolerations`, `topology`."""
        self.state.put_flavor(Flavor(name, **said))
        return self

    def groups(self, queue: str, *groups: str) -> "Scene":
        """Other resource groups: `cpu memory: spot on-demand`."""
        read = []
        for each in groups:
            resources, _, flavors = each.partition(":")
            read.append(ResourceGroup(tuple(resources.split()), tuple(flavors.split())))
        self.state.put_queue(replace(self.state.queues[queue], groups=tuple(read)))
        return self

    def fungibility(self, queue: str, **said: bool) -> "Scene":
        found = replace(self.state.queues[queue], fungibility=Fungibility(**said))
        self.state.put_queue(found)
        return self

    def plan(self, *waiting: str | Workload | Head) -> Plan:
        """One cycle; the next one is a second later."""
        now = NOW + timedelta(seconds=self.cycles)
        heads = [self._head(each, number) for number, each in enumerate(waiting)]
        self.cycles += 1
        plan = decide(self.state, heads, now, cycle=self.cycles)
        for each in plan.decisions:
            waits = each if isinstance(each, Wait) else getattr(each, "wait", None)
            self.records[each.workload.key] = waits.record if waits is not None else None
        return plan

    def cycle(self, *waiting: str | Workload | Head) -> list[str]:
        """One cycle in words, in the order in which it was decided."""
        return [told(each) for each in self.plan(*waiting).decisions]

    def carry_out(self, plan: Plan) -> None:
        """Admits, and takes their quota from those who are preempted."""
        for each in plan.decisions:
            if isinstance(each, Preempt):
                for target in each.targets:
                    self.state.release(target.workload.key)
        for each in plan.admitted():
            if each.replaced is not None:
                self.state.release(each.replaced.key)
            self.state.hold(each.held)

    def _head(self, waits: str | Workload | Head, number: int) -> Head:
        if isinstance(waits, Head):
            return waits
        workload = waiting(waits, number) if isinstance(waits, str) else waits
        return Head(workload, record=self.records.get(workload.key))


def scene(picture: str, running: str = "", settings: Settings = DEFAULTS) -> Scene:
    return Scene(quota_pictures.quota_tree(picture, settings).running(running).state)


def waiting(line: str, number: int = 0, **said: Any) -> Workload:
    head, *words = line.split()
    name, _, queue = head.partition("@")
    about = {key: value for key, value in map(_pair, words) if key in _ABOUT and key != "min"}
    created = NOW - timedelta(hours=1) + timedelta(seconds=float(about.get("created", number)))
    found = Workload(
        key=Key("default", name),
        uid=about.get("uid", name),
        local_queue=about.get("local", "main"),
        cluster_queue=queue,
        pod_sets=tuple(_pod_set(part.split()) for part in " ".join(words).split("+")),
        created_at=created,
        ordered_at=created,
        queued_at=created,
        priority=int(about.get("priority", 0)),
        hash=about.get("hash", ""),
    )
    return replace(found, **said)


def with_spec(workload: Workload, **spec: Any) -> Workload:
    """The same, with something in the specs of its pods."""
    return replace(workload, pod_sets=tuple(replace(each, spec=spec) for each in workload.pod_sets))


def told(decision: Decision) -> str:
    return f"{decision.workload.key.name}: {_what(decision)}"


def message(decision: Decision) -> str:
    """What the workload is told while it waits."""
    found = getattr(decision, "wait", decision)
    return str(found.message)


def _what(decision: Decision) -> str:
    match decision:
        case Admit():
            return f"admit {_flavors(decision.held)}".rstrip()
        case Preempt():
            names = sorted(each.workload.key.name for each in decision.targets)
            return f"preempt {' '.join(names)}"
        case Migrate():
            return f"migrate from {decision.target.key.name}"
        case Wait():
            return f"wait {decision.reason}".rstrip()
        case Place():
            return "place"
        case FailPlace():
            return "fail to place"
        case Evict():
            return f"evict {decision.reason}"


def _flavors(held: Workload) -> str:
    """Each pod set with its flavors, and with its count where that is less than asked for."""
    asked = {each.name: each.count for each in held.pod_sets}
    parts = []
    for each in held.assignments:
        names = "/".join(dict.fromkeys(each.flavors[name] for name in sorted(each.flavors)))
        fewer = f" x{each.count}" if each.count != asked[each.name] else ""
        parts.append(f"{names}{fewer}")
    return " + ".join(parts)


def _pod_set(words: Sequence[str]) -> PodSet:
    pairs = [_pair(word) for word in words]
    names = [key for key, value in pairs if not value and not _is_count(key)]
    counts = [int(key[1:]) for key, value in pairs if not value and _is_count(key)]
    least = next((int(value) for key, value in pairs if key == "min"), None)
    requests = _requests((key, value) for key, value in pairs if value and key not in _ABOUT)
    return PodSet(
        names[0] if names else "main",
        counts[0] if counts else 1,
        requests,
        requests,
        {},
        count_min=least,
    )


def _requests(pairs: Iterable[tuple[str, str]]) -> Requests:
    return {key: read_amount(key, value) for key, value in pairs}


def _is_count(word: str) -> bool:
    return word[0] == "x" and word[1:].isdigit()


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value


def usage(state: State) -> Mapping[str, Mapping[Any, int]]:
    """What every queue and cohort uses, zeros left out."""
    nodes = {**state.tree.cohorts, **state.tree.queues}
    return {
        name: {at: amount for at, amount in node.usage.items() if amount}
        for name, node in nodes.items()
    }
