"""Workload updates: what may not change while quota is reserved, and how the status may move."""

from typing import Any

from fleetqueue.api.field_errors import FieldError, required, wrong
from fleetqueue.api.kueue.templates import fill_templates, in_go_order
from fleetqueue.api.kueue.v1beta2.workload_status import Admission
from fleetqueue.api.kueue.validation.common import IMMUTABLE, check_immutable
from fleetqueue.api.kueue.validation.rules import Rules
from fleetqueue.api.kueue.workloads import (
    has_quota,
    is_replacement,
    pod_sets_of,
    scaled_down,
)
from fleetqueue.api.model import read, write
from fleetqueue.base import codec

Json = dict[str, Any]


def check_update(new: Json, old: Json, rules: Rules) -> list[FieldError]:
    was_reserved, is_reserved = has_quota(old), has_quota(new)
    return [
        *(_check_pod_sets(new, old, rules) if was_reserved else ()),
        *(_check_reclaimable(new, old, rules) if was_reserved and is_reserved else ()),
        *_check_admission(_status(new), _status(old)),
        *_check_ready_checks(_status(new), _status(old)),
        *_check_cluster_name(new, old, rules),
    ]


def _status(obj: Json) -> Json:
    return obj.get("status") or {}


def _check_pod_sets(new: Json, old: Json, rules: Rules) -> list[FieldError]:
    after, before = _as_written(new), _as_written(old)
    if len(after) != len(before):
        return [wrong("spec.podSets", [in_go_order(each) for each in after], IMMUTABLE)]
    errors: list[FieldError] = []
    for index, (left, right) in enumerate(zip(after, before, strict=True)):
        shrinks = left.get("count", 1) < right.get("count", 1)
        same = dict(left, count=right.get("count", 1))
        compared = same if shrinks and rules.elastic_jobs_via_workload_slices else left
        # The index is a plain path element here, and not in brackets.
        path = f"spec.podSets.{index}"
        errors += check_immutable(compared, right, path, shown=in_go_order(left))
    return errors


def _as_written(obj: Json) -> list[Json]:
    """The pod sets with the parts that Go writes even if they are empty, so that they compare."""
    spec: Json = codec.copy({"podSets": pod_sets_of(obj)})
    fill_templates(spec)
    return [{"name": "main", "count": 1} | pod_set for pod_set in spec["podSets"]]


def _check_reclaimable(new: Json, old: Json, rules: Rules) -> list[FieldError]:
    shrunk = scaled_down(new) if rules.elastic_jobs_via_workload_slices else set()
    after = {each["name"]: each["count"] for each in _status(new).get("reclaimablePods") or []}
    errors: list[FieldError] = []
    for entry in _status(old).get("reclaimablePods") or []:
        name, count = entry["name"], entry["count"]
        path = f"status.reclaimablePods[{name}]"
        if name in shrunk:
            continue
        if name not in after:
            errors.append(required(path, "cannot be removed"))
        elif after[name] < count:
            errors.append(wrong(f"{path}.count", after[name], f"cannot be less than {count}"))
    return errors


def _check_admission(new: Json, old: Json) -> list[FieldError]:
    """A reservation comes and goes as a whole; only where the pods go may be settled later."""
    after, before = new.get("admission"), old.get("admission")
    if not after or not before:
        return []
    shown = write(read(Admission, after))
    return check_immutable(_settled(after), _settled(before), "status.admission", shown=shown)


def _settled(admission: Json) -> Json:
    late = ("topologyAssignment", "delayedTopologyRequest")
    assignments = admission.get("podSetAssignments") or []
    return admission | {
        "podSetAssignments": [
            {name: value for name, value in each.items() if name not in late}
            for each in assignments
        ]
    }


def _check_ready_checks(new: Json, old: Json) -> list[FieldError]:
    before = {check["name"]: check for check in old.get("admissionChecks") or []}
    errors: list[FieldError] = []
    for index, check in enumerate(new.get("admissionChecks") or []):
        earlier = before.get(check["name"], {})
        if check["state"] == "Ready" and earlier.get("state") == "Ready":
            path = f"status.admissionChecks[{index}].podSetUpdates"
            updates = check.get("podSetUpdates") or []
            errors += check_immutable(updates, earlier.get("podSetUpdates") or [], path)
    return errors


def _check_cluster_name(new: Json, old: Json, rules: Rules) -> list[FieldError]:
    """A slice goes where the one went whose place it takes."""
    name, before = _status(new).get("clusterName"), _status(old)
    is_slice = rules.elastic_jobs_via_workload_slices and is_replacement(new)
    if not name or before.get("clusterName") or is_slice:
        return []
    if name in (before.get("nominatedClusterNames") or []):
        return []
    message = "when setting clusterName it must be one of the nominatedClusterNames"
    return [wrong("status.clusterName", name, message)]
