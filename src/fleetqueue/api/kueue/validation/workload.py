"""Workload: its pod sets, its reservation, its checks, and what may no longer change."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.field_errors import FieldError, not_found, required, wrong
from fleetqueue.api.field_errors import unsupported as not_supported
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.admission_gates import check_gates, check_gates_update
from fleetqueue.api.kueue.validation.common import (
    NEGATIVE,
    check_annotations,
    check_label_name,
    check_labels,
    check_tolerations,
)
from fleetqueue.api.kueue.validation.pod_sets import check_pod_sets
from fleetqueue.api.kueue.validation.rules import Rules
from fleetqueue.api.kueue.validation.workload_update import check_update
from fleetqueue.api.kueue.workloads import (
    annotations_of,
    has_quota,
    is_elastic,
    pod_set_counts,
)
from fleetqueue.api.quantity import Quantity

Json = dict[str, Any]

INT32_MAX = 2**31 - 1


def validate_workload(obj: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    errors = [
        *check_pod_sets(obj, rules),
        *_check_annotations(obj, old, rules),
        *_check_admission(obj, old),
        *_check_conditions(obj),
        *_check_reclaimable(obj, old),
        *_check_admission_checks(obj),
    ]
    return errors if old is None else [*errors, *check_update(obj, old, rules)]


def _check_annotations(obj: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    annotations = annotations_of(obj)
    errors: list[FieldError] = []
    if rules.admission_gated_by:
        errors += check_gates(annotations)
        if old is not None:
            errors += check_gates_update(annotations, annotations_of(old))
    boost = annotations.get(labels.PRIORITY_BOOST)
    if rules.priority_boost and boost is not None and not _is_int32(boost):
        path = f"metadata.annotations[{labels.PRIORITY_BOOST}]"
        errors.append(wrong(path, boost, "must be a signed 32-bit integer"))
    return errors


def _is_int32(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit() and -INT32_MAX - 1 <= int(text) <= INT32_MAX


def _check_admission(obj: Json, old: Json | None) -> list[FieldError]:
    if not has_quota(obj):
        return []
    path, admission = "status.admission", obj["status"].get("admission")
    if admission:
        assignments = admission.get("podSetAssignments") or []
        return _check_assignments(assignments, obj, f"{path}.podSetAssignments")
    if old is not None and has_quota(old) and not old["status"].get("admission"):
        return []
    return [required(path, "must be set while the QuotaReserved condition is true")]


def _check_assignments(assignments: Sequence[Json], obj: Json, path: str) -> list[FieldError]:
    names = pod_set_counts(obj)
    errors: list[FieldError] = []
    for index, assignment in enumerate(assignments):
        if assignment["name"] not in names:
            errors.append(not_found(f"{path}[{index}].name", assignment["name"]))
        if count := assignment.get("count"):
            errors += _check_usage(assignment, count, f"{path}[{index}].resourceUsage")
    return errors


def _check_usage(assignment: Json, count: int, path: str) -> list[FieldError]:
    """Every pod of a set uses the same, so that the sum can be divided by their number."""
    errors: list[FieldError] = []
    for name, usage in sorted((assignment.get("resourceUsage") or {}).items()):
        quantity = Quantity.of(usage)
        amount = quantity.milli_value() if name == "cpu" else quantity.value()
        if amount % count:
            message = f"is not a multiple of {count}"
            errors.append(wrong(f"{path}[{name}]", str(quantity), message))
    return errors


def _check_conditions(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or []):
        path = f"status.conditions[{index}]"
        errors += check_label_name(condition["type"], f"{path}.type")
        if condition.get("observedGeneration", 0) < 0:
            value = condition["observedGeneration"]
            errors.append(wrong(f"{path}.observedGeneration", value, NEGATIVE))
    return errors


def _check_reclaimable(obj: Json, old: Json | None) -> list[FieldError]:
    counts = pod_set_counts(obj)
    known = _reclaimable(old) if old is not None and is_elastic(obj) else {}
    errors: list[FieldError] = []
    for name, count in _reclaimable(obj).items():
        path = f"status.reclaimablePods[{name}]"
        if name not in counts:
            errors.append(not_supported(f"{path}.name", name, counts))
        elif count > counts[name] and known.get(name) != count:
            message = f"should be less or equal to {counts[name]}"
            errors.append(wrong(f"{path}.count", count, message))
    return errors


def _reclaimable(obj: Json) -> dict[str, int]:
    entries = (obj.get("status") or {}).get("reclaimablePods") or []
    return {entry["name"]: entry["count"] for entry in entries}


def _check_admission_checks(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, check in enumerate((obj.get("status") or {}).get("admissionChecks") or []):
        path = f"status.admissionChecks[{index}].podSetUpdates"
        for place, update in enumerate(check.get("podSetUpdates") or []):
            errors += _check_pod_set_update(update, obj, f"{path}[{place}]")
    return errors


def _check_pod_set_update(update: Json, obj: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names = pod_set_counts(obj)
    if update["name"] not in names:
        errors.append(not_supported(f"{path}.name", update["name"], names))
    errors += check_annotations(update.get("annotations") or {}, f"{path}.annotations")
    errors += check_labels(update.get("labels") or {}, f"{path}.labels")
    errors += check_labels(update.get("nodeSelector") or {}, f"{path}.nodeSelector")
    errors += check_tolerations(update.get("tolerations") or [], f"{path}.tolerations")
    return errors
