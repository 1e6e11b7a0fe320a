"""The shape of variants: the workload that one flavor gets of a parent, its name, and what of the
parent it has to follow.
"""

import re
from typing import Any

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import labels, workload_names, workloads
from fleetqueue.kube.plan import child

Json = dict[str, Any]
GATE = labels.CONCURRENT_ADMISSION_PREEMPTION_GATE
_HASH = re.compile(rf"-[0-9a-f]{{{workload_names.HASH_LENGTH}}}$")
_FOLLOWED_NOTES = (labels.ADMISSION_GATED_BY, labels.PRIORITY_BOOST)
"""Annotations that are also taken away where the parent loses them."""
_FOLLOWED_ALWAYS = ("priority", "priorityClassRef")
"""What of the spec may change while quota is held."""


def variant_name(parent: Json, flavor: str, length_max: int = workload_names.LENGTH_MAX) -> str:
    metadata = parent["metadata"]
    start = f"{_HASH.sub('', metadata['name'])}-variant-{flavor}"
    told = ("Workload", kinds.WORKLOAD.group, metadata["name"], metadata["uid"], flavor)
    return workload_names.hashed(start, *told, length_max=length_max)


def flavor_of(variant: Json) -> str:
    return workloads.annotations_of(variant).get(labels.WORKLOAD_ALLOWED_RESOURCE_FLAVORS) or ""


def new_variant(parent: Json, flavor: str, *, is_active: bool, name: str) -> Json:
    marks = dict(parent["metadata"].get("labels") or {})
    marks.pop(labels.CONCURRENT_ADMISSION_PARENT, None)
    metadata: Json = {"name": name, "annotations": _notes(parent, flavor)}
    if marks:
        metadata["labels"] = marks
    return child(kinds.WORKLOAD, parent, metadata, spec=_spec(parent, is_active=is_active))


def difference(parent: Json, variant: Json) -> Json:
    """The patch that makes a variant what the parent is by now; empty where it is. One that holds
    quota keeps what quota was given for.
    """
    patch: Json = {}
    before, wanted = variant["spec"], _spec(parent, is_active=variant["spec"].get("active", True))
    if workloads.has_quota(variant):
        before = {name: before[name] for name in _FOLLOWED_ALWAYS if name in before}
        wanted = {name: wanted[name] for name in _FOLLOWED_ALWAYS if name in wanted}
    if spec := _changes(before, wanted):
        patch["spec"] = spec
    had = workloads.annotations_of(variant)
    told = _notes(parent, flavor_of(variant))
    kept = {name: value for name, value in had.items() if name not in _FOLLOWED_NOTES}
    if notes := _changes(had, {**kept, **told}):
        patch["metadata"] = {"annotations": notes}
    return patch


def _spec(parent: Json, *, is_active: bool) -> Json:
    gates = [each for each in parent["spec"].get("preemptionGates") or () if each["name"] != GATE]
    return {**parent["spec"], "active": is_active, "preemptionGates": [*gates, {"name": GATE}]}


def _notes(parent: Json, flavor: str) -> dict[str, str]:
    notes = workloads.annotations_of(parent)
    return {**notes, labels.WORKLOAD_ALLOWED_RESOURCE_FLAVORS: flavor}


def _changes(before: Json, wanted: Json) -> Json:
    """As a merge patch."""
    changed = {name: value for name, value in wanted.items() if before.get(name) != value}
    return changed | {name: None for name in before if name not in wanted}
