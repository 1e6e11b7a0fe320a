"""ClusterQueue's policy for concurrent admission: which queues may have one, and that it stays."""

from typing import Any

from fleetqueue.api.field_errors import FieldError, forbidden, too_many, unsupported, wrong
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.api.kueue.validation.rules import Rules

Json = dict[str, Any]

POLICY = "spec.concurrentAdmissionPolicy"
FLAVORS_MAX = 16


def check_concurrent_admission(spec: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    policy = spec.get("concurrentAdmissionPolicy")
    errors: list[FieldError] = []
    if old is not None:
        before = (old.get("spec") or {}).get("concurrentAdmissionPolicy")
        errors += check_immutable(policy, before, POLICY)
    if not rules.concurrent_admission or not policy:
        return errors
    return [*errors, *_check_queue(spec), *_check_migration(spec, policy["migration"])]


def _check_queue(spec: Json) -> list[FieldError]:
    """Which flavor comes first must be clear, and nobody may block those behind."""
    groups = spec.get("resourceGroups") or []
    errors: list[FieldError] = []
    if len(groups) != 1:
        message = "must have exactly one resource group with concurrentAdmissionPolicy"
        errors.append(wrong("spec.resourceGroups", len(groups), message))
    for index, group in enumerate(groups):
        if len(group["flavors"]) > FLAVORS_MAX:
            path = f"spec.resourceGroups[{index}].flavors"
            errors.append(too_many(path, len(group["flavors"]), FLAVORS_MAX))
    if spec.get("queueingStrategy") == "StrictFIFO":
        message = "must not be StrictFIFO with concurrentAdmissionPolicy"
        errors.append(wrong("spec.queueingStrategy", "StrictFIFO", message))
    return errors


def _check_migration(spec: Json, migration: Json) -> list[FieldError]:
    constraints = migration.get("constraints")
    if not constraints:
        return []
    path = f"{POLICY}.migration.constraints"
    errors: list[FieldError] = []
    if migration["mode"] != "TryPreferredFlavors":
        errors.append(forbidden(path, "may only be set with the mode TryPreferredFlavors"))
    flavors = [f["name"] for group in spec.get("resourceGroups") or [] for f in group["flavors"]]
    last = constraints.get("lastAcceptableFlavorName")
    if last and last not in flavors:
        errors.append(unsupported(f"{path}.lastAcceptableFlavorName", last, flavors))
    return errors
