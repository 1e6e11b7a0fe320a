"""What of a cluster a policy reads, and what of a cluster changed: properties and namespaces, which
change all the time, make nobody choose again who does not read them.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.properties import RESOURCE_PREFIX
from fleetqueue.fleet.decide.scheduling import affinity, decisions, eligibility, taints
from fleetqueue.fleet.decide.snapshots import is_latest

Json = dict[str, Any]
EVERYTHING, LABELS, TAINTS, NAMESPACES = "everything", "labels", "taints", "namespaces"
ELIGIBILITY = "eligibility"
RARE = frozenset({EVERYTHING, LABELS, TAINTS})
"""Whoever may be concerned chooses again, also where the cluster is one that he has."""
_USAGES = {"capacity": "total", "allocatable": "allocatable", "available": "available"}


def read_by(snapshot: Json) -> Iterable[str]:
    """Under which aspects the latest policy snapshot of a placement is found, when a cluster
    changes: all of them under EVERYTHING, the others only where a further cluster is welcome.
    """
    if not is_latest(snapshot):
        return
    yield EVERYTHING
    policy = snapshot["spec"].get("policy") or {}
    kind = policy.get("placementType") or "PickAll"
    if kind != "PickAll" and decisions.is_fulfilled(snapshot):
        return
    yield from (ELIGIBILITY, LABELS, TAINTS)
    if kind != "PickFixed":
        yield from _aspects(policy, bool(snapshot["metadata"].get("namespace")))


def judges_placed(snapshot: Json) -> bool:
    """Whether clusters that a placement has already are looked at again: they count for which it
    gets next, or it says of each that it names how it is.
    """
    policy = snapshot["spec"].get("policy") or {}
    is_fixed = policy.get("placementType") == "PickFixed"
    return is_fixed or bool(policy.get("topologySpreadConstraints"))


def changes(old: Json | None, new: Json | None, now: datetime) -> set[str]:
    """The aspects in which a cluster changed, as far as the scheduler reacts to them."""
    if new is None:
        return {EVERYTHING}
    if old is None or new["metadata"].get("deletionTimestamp"):
        return set()
    found = set(_changed_properties(old, new))
    if affinity.labels_of(old) != affinity.labels_of(new):
        found.add(LABELS)
    if _lost_taint(old, new):
        found.add(TAINTS)
    if (_status(old).get("namespaces") or {}) != (_status(new).get("namespaces") or {}):
        found.add(NAMESPACES)
    if eligibility.problem(old, now) and not eligibility.problem(new, now):
        found.add(ELIGIBILITY)
    return found


def _aspects(policy: Json, is_namespaced: bool) -> Iterable[str]:
    if is_namespaced:
        yield NAMESPACES
    yield from {
        str(expression.get("name") or "")
        for term in affinity.required_terms(policy)
        for expression in affinity.expressions(term)
    }


def _lost_taint(old: Json, new: Json) -> bool:
    """Whether a taint went or became another; one that was added keeps nobody waiting."""
    left = list(taints.taints_of(new))
    return any(each not in left for each in taints.taints_of(old))


def _changed_properties(old: Json, new: Json) -> Iterable[str]:
    yield from _differing(_properties(old), _properties(new))
    was, now = _usage(old), _usage(new)
    for usage, name in _USAGES.items():
        for resource in _differing(was.get(usage) or {}, now.get(usage) or {}):
            yield f"{RESOURCE_PREFIX}{name}-{resource}"


def _properties(cluster: Json) -> dict[str, Any]:
    """Values only: the times of observation change with every heartbeat."""
    found = _status(cluster).get("properties") or {}
    return {name: each.get("value") for name, each in found.items()}


def _usage(cluster: Json) -> Json:
    return _status(cluster).get("resourceUsage") or {}


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


def _status(cluster: Json) -> Json:
    return cluster.get("status") or {}
