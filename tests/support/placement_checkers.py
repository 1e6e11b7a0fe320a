"""What must never be seen while objects are placed on members, looked for in every state that any
API server stores; and what must hold, and not be left, when all is over.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.apiserver.log import Row
from fleetqueue.base import codec
from fleetqueue.fleet.decide import bindings
from fleetqueue.kube import finalizers
from fleetqueue.kube.resources import Object

HUB = "hub"
WRITE_SECONDS = 3.0
"""The slowest write to the hub: delayed in bad weather, or sent again to a server that is busy."""
Name = tuple[str, str, str]
"""Kind, namespace and name."""
OURS = {
    "configmaps",
    "namespaces",
    "works",
    "appliedworks",
    "clusterresourceplacements",
    "resourceplacements",
    "clusterresourcebindings",
    "resourcebindings",
    "clusterresourcesnapshots",
    "resourcesnapshots",
    "clusterschedulingpolicysnapshots",
    "schedulingpolicysnapshots",
}
INTERNAL = OURS - {
    "configmaps",
    "namespaces",
    "clusterresourceplacements",
    "resourceplacements",
}
"""What goes with its placement."""


class Rows(dict[int, Row]):
    """The rows of one server's log; whatever is stored is looked at."""

    def __init__(self, rows: Mapping[int, Row], cluster: str, seen: "Seen") -> None:
        super().__init__(rows)
        self._cluster = cluster
        self._seen = seen

    def __setitem__(self, revision: int, row: Row) -> None:
        super().__setitem__(revision, row)
        if _plural(row) in OURS:
            self._seen.saw(self._cluster, codec.decode(row.value), is_gone=row.is_delete)

    def objects(self, plurals: Iterable[str]) -> list[Object]:
        """All that exist of some kinds."""
        wanted = set(plurals)
        found: dict[tuple[str, str], Row] = {}
        for revision in sorted(self):
            row = self[revision]
            if _plural(row) in wanted:
                found[row.resource, row.key] = row
        return [codec.decode(row.value) for row in found.values() if not row.is_delete]


@dataclass
class Seen:
    """All that was seen on all clusters, and what was wrong with it."""

    now: Callable[[], float]
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often things happened that this is all about."""
    touched: set[tuple[str, Name]] = field(default_factory=set)
    """By member: what somebody edited there by hand."""
    _contents: dict[Name, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """All that the hub ever had under a name."""
    _selected: dict[str, set[Name]] = field(default_factory=lambda: defaultdict(set))
    """By the base of the works' names: all that a placement ever selected."""
    _known: dict[str, list[tuple[float, Object]]] = field(default_factory=lambda: defaultdict(list))
    """The same: the placement as the hub's controllers have known it, and since when."""
    _bindings: dict[str, dict[str, Object]] = field(default_factory=lambda: defaultdict(dict))

    def saw(self, cluster: str, obj: Object, *, is_gone: bool) -> None:
        kind = obj["kind"]
        if cluster != HUB:
            if kind in ("ConfigMap", "Namespace") and not is_gone:
                self._check_placed(cluster, obj)
        elif kind in ("ConfigMap", "Namespace"):
            if not is_gone:
                self._contents[name_of(obj)].append(obj.get("data"))
        elif kind in ("ClusterResourcePlacement", "ResourcePlacement"):
            self.counts["placements gone"] += is_gone
        elif kind in ("ClusterResourceSnapshot", "ResourceSnapshot"):
            self._note_selected(obj)
        elif kind in ("ClusterResourceBinding", "ResourceBinding"):
            self._note_binding(obj, is_gone)

    def hub_learned(self, placement: Object) -> None:
        """The controllers of the hub have this placement in their cache from now on."""
        self._known[base_of(placement)].append((self.now(), placement))

    def _note_selected(self, snapshot: Object) -> None:
        metadata = snapshot["metadata"]
        placement = metadata["labels"]["kubernetes-fleet.io/parent-CRP"]
        base = naming.work_base(placement, metadata.get("namespace", ""))
        for manifest in snapshot["spec"].get("selectedResources") or ():
            self._selected[base].add(name_of(manifest))

    def _check_placed(self, cluster: str, obj: Object) -> None:
        """Whatever a member has from the hub was selected by a placement, and said on the hub."""
        name = name_of(obj)
        for owner in obj["metadata"].get("ownerReferences") or ():
            if owner["kind"] != "AppliedWork":
                continue
            base = owner["name"].rpartition("-")[0]
            self.counts["placed"] += 1
            if name not in self._selected[base]:
                self.problems.append(f"{cluster} has {name} of {base}, which never selected it")
            known = self._contents[name]
            if (cluster, name) not in self.touched and obj.get("data") not in known:
                self.problems.append(f"{cluster} has {name} with {obj.get('data')}")

    def _note_binding(self, obj: Object, is_gone: bool) -> None:
        placement = obj["metadata"]["labels"]["kubernetes-fleet.io/parent-CRP"]
        base = naming.work_base(placement, obj["metadata"].get("namespace", ""))
        known = self._bindings[base]
        before = known.pop(obj["metadata"]["name"], None)
        if before is not None and _is_moved(before, obj):
            self._check_touched(base, before, "updated")
        if before is not None and _is_taken_away(before, obj, is_gone):
            self._check_touched(base, before, "removed")
        if not is_gone:
            known[obj["metadata"]["name"]] = obj

    def _check_touched(self, base: str, before: Object, how: str) -> None:
        """A cluster that is well is given something new, or let go, only while enough others are
        well. With the placement goes everything at once.
        """
        rested_on = self._rested_on(base)
        self.counts[how] += 1
        if not _is_well(before) or any(finalizers.is_deleting(each) for each in rested_on):
            return
        others = list(self._bindings[base].values())
        well = sum(_is_well(each) and not bindings.is_deleting(each) for each in others)
        least, target = min(_limits(each, [before, *others]) for each in rested_on)
        if well < least:
            self.problems.append(
                f"{base}: {before['metadata']['name']} was {how} with {well} others well, and"
                f" {least} of {target} must be"
            )

    def _rested_on(self, base: str) -> list[Object]:
        """What the placement may have said when a write was decided on that is stored now.

        Only its users write it. What they ask for holds from the moment when the hub can know of
        it, and not for writes that are under way then: no server stores two objects at once.
        """
        known, oldest = self._known[base], self.now() - WRITE_SECONDS
        past = sum(since <= oldest for since, _ in known)
        # The last of those before is what it said at the oldest of these moments.
        del known[: max(0, past - 1)]
        return [placement for _, placement in known]


def name_of(obj: Object) -> Name:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]


def base_of(placement: Object) -> str:
    metadata = placement["metadata"]
    return naming.work_base(metadata["name"], metadata.get("namespace", ""))


def is_owned(obj: Object) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(each["kind"] == "AppliedWork" for each in owners)


def _is_moved(before: Object, now: Object) -> bool:
    """Whether a bound binding was pointed at another snapshot."""
    was, names = before["spec"], ("resourceSnapshotName",)
    is_bound = bindings.state(before) == "Bound"
    return is_bound and any(was.get(each) != now["spec"].get(each) for each in names)


def _is_taken_away(before: Object, now: Object, is_gone: bool) -> bool:
    """Whether what it delivered is to go from its cluster."""
    return not bindings.is_deleting(before) and (is_gone or bindings.is_deleting(now))


def _is_well(binding: Object) -> bool:
    return bindings.is_available(binding)


def _limits(placement: Object, found: Iterable[Object]) -> tuple[int, int]:
    """How many clusters must be well, of how many."""
    target = _target(placement, found)
    return target - _share(placement, target), target


def _target(placement: Object, found: Iterable[Object]) -> int:
    policy = placement["spec"].get("policy") or {}
    if policy.get("placementType") == "PickN":
        return int(policy["numberOfClusters"])
    if policy.get("placementType") == "PickFixed":
        return len(policy["clusterNames"])
    kept = [each for each in found if bindings.state(each) in ("Scheduled", "Bound")]
    return sum(not bindings.is_deleting(each) for each in kept)


def _share(placement: Object, target: int) -> int:
    strategy = placement["spec"].get("strategy") or {}
    said = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    if isinstance(said, str) and said.endswith("%"):
        return ceil(int(said[:-1]) * target / 100)
    return int(said)


def _plural(row: Row) -> str:
    return row.resource.partition(".")[0]
