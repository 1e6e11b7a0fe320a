"""What the scheduler looks at in one cycle, with the bindings sorted into classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.fleet.decide import bindings, snapshots

Json = dict[str, Any]


@dataclass(slots=True)
class Classes:
    """The bindings of a placement; each is in one class."""

    deleting: list[Json] = field(default_factory=list)
    dangling: list[Json] = field(default_factory=list)
    """Their cluster is gone or going; or, after a write whose answer was lost, it has another."""
    unscheduled: dict[str, Json] = field(default_factory=dict)
    obsolete: dict[str, Json] = field(default_factory=dict)
    """They rest on an earlier policy."""
    scheduled: dict[str, Json] = field(default_factory=dict)
    bound: dict[str, Json] = field(default_factory=dict)

    @property
    def present(self) -> dict[str, Json]:
        """What the present policy holds on to, by cluster."""
        return {**self.scheduled, **self.bound}


@dataclass(frozen=True, slots=True)
class Situation:
    """A placement's latest policy snapshot, its bindings, and all clusters of the fleet."""

    snapshot: Json
    clusters: Sequence[Json]
    bindings: Sequence[Json]
    now: datetime
    namespace: str = ""
    """Of the placement; "" where it is cluster-scoped."""

    @property
    def policy(self) -> Json:
        return self.snapshot["spec"].get("policy") or {}

    @property
    def policy_name(self) -> str:
        return str(self.snapshot["metadata"]["name"])

    @property
    def number_wanted(self) -> int:
        """How many clusters a PickN policy asks for."""
        return number_annotated(self.snapshot, labels.NUMBER_OF_CLUSTERS)

    def classes(self) -> Classes:
        leaving = {
            name_of(each) for each in self.clusters if each["metadata"].get("deletionTimestamp")
        }
        there = {name_of(each) for each in self.clusters} - leaving
        return classify(self.bindings, self.policy_name, there)


def classify(found: Iterable[Json], policy_name: str, there: set[str]) -> Classes:
    """`there` are the clusters that are in the fleet and not about to leave."""
    classes = Classes()
    held: set[str] = set()
    for binding in sorted(found, key=_rank):
        cluster = bindings.target_cluster(binding)
        if bindings.is_deleting(binding):
            classes.deleting.append(binding)
        elif bindings.state(binding) == BindingState.UNSCHEDULED:
            classes.unscheduled.setdefault(cluster, binding)
        elif cluster not in there or cluster in held:
            classes.dangling.append(binding)
        else:
            held.add(cluster)
            _class_of(classes, binding, policy_name)[cluster] = binding
    return classes


def name_of(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def number_annotated(obj: Json, annotation: str) -> int:
    text = snapshots.annotation(obj, annotation)
    return int(text) if text.isascii() and text.isdecimal() else 0


def _rank(binding: Json) -> tuple[bool, str, str]:
    """Of two for one cluster, the one that delivers comes first, then the older one."""
    metadata = binding["metadata"]
    is_bound = bindings.state(binding) == BindingState.BOUND
    return not is_bound, str(metadata.get("creationTimestamp") or ""), name_of(binding)


def _class_of(classes: Classes, binding: Json, policy_name: str) -> dict[str, Json]:
    if bindings.policy_snapshot(binding) != policy_name:
        return classes.obsolete
    is_bound = bindings.state(binding) == BindingState.BOUND
    return classes.bound if is_bound else classes.scheduled
