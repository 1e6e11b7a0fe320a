"""ClusterQueue and Cohort: whether their quotas make sense."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.field_errors import FieldError, duplicate, unsupported, wrong
from fleetqueue.api.kueue.validation.common import (
    check_label_name,
    check_not_negative,
)
from fleetqueue.api.kueue.validation.concurrent_admission import check_concurrent_admission
from fleetqueue.api.kueue.validation.rules import Rules
from fleetqueue.api.quantity import Quantity

Json = dict[str, Any]

GROUPS = "spec.resourceGroups"
FLAVORS_MAX = 256
RESOURCES_MAX = 256
COMBINATIONS_MAX = 512
SMALLEST_WEIGHT = Quantity.of("1n")


def validate_cluster_queue(obj: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    spec: Json = obj.get("spec") or {}
    has_cohort = bool(spec.get("cohortName"))
    limits = Limits(has_cohort, "must be nil when cohort is empty", lending_within_nominal=True)
    groups = spec.get("resourceGroups") or []
    return [
        *check_groups(groups, limits),
        *_check_selector(spec),
        *_check_preemption(spec),
        *_check_fungibility(spec),
        *check_weight(spec),
        *_check_totals(groups),
        *_check_on_flavors(spec, old, rules),
        *check_concurrent_admission(spec, old, rules),
    ]


def validate_cohort(obj: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    spec: Json = obj.get("spec") or {}
    limits = Limits(bool(spec.get("parentName")), "must be nil when parent is empty")
    return [*check_groups(spec.get("resourceGroups") or [], limits), *check_weight(spec)]


@dataclass(frozen=True)
class Limits:
    """Whether borrowing and lending have a counterpart, and what to say where they have none."""

    has_parent: bool
    orphan_message: str
    lending_within_nominal: bool = False


@dataclass
class _Seen:
    resources: set[str] = field(default_factory=set)
    flavors: set[str] = field(default_factory=set)


def check_groups(groups: Sequence[Json], limits: Limits) -> list[FieldError]:
    seen = _Seen()
    errors: list[FieldError] = []
    for index, group in enumerate(groups):
        path = f"{GROUPS}[{index}]"
        errors += _check_covered(group["coveredResources"], seen, f"{path}.coveredResources")
        errors += _check_flavors(group, seen, limits, f"{path}.flavors")
    return errors


def _check_covered(covered: Sequence[str], seen: _Seen, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, name in enumerate(covered):
        errors += check_label_name(name, f"{path}[{index}]")
        if name in seen.resources:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.resources.add(name)
    return errors


def _check_flavors(group: Json, seen: _Seen, limits: Limits, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, flavor in enumerate(group["flavors"]):
        pairs = zip(flavor["resources"], group["coveredResources"], strict=False)
        for place, (resource, covered) in enumerate(pairs):
            at = f"{path}[{index}].resources[{place}]"
            errors += _check_quota(resource, covered, limits, at)
        if flavor["name"] in seen.flavors:
            errors.append(duplicate(f"{path}[{index}].name", flavor["name"]))
        seen.flavors.add(flavor["name"])
    return errors


def _check_quota(quota: Json, covered: str, limits: Limits, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if quota["name"] != covered:
        message = "must match the name in coveredResources"
        errors.append(wrong(f"{path}.name", quota["name"], message))
    errors += check_not_negative(quota["nominalQuota"], f"{path}.nominalQuota")
    for name in ("borrowingLimit", "lendingLimit"):
        if quota.get(name) is not None:
            errors += _check_limit(quota, name, limits, f"{path}.{name}")
    return errors


def _check_limit(quota: Json, name: str, limits: Limits, path: str) -> list[FieldError]:
    limit = Quantity.of(quota[name])
    errors = check_not_negative(quota[name], path)
    if not limits.has_parent:
        errors.append(wrong(path, str(limit), limits.orphan_message))
    is_bounded = name == "lendingLimit" and limits.lending_within_nominal
    if is_bounded and limit > Quantity.of(quota["nominalQuota"]):
        errors.append(wrong(path, str(limit), "must be less than or equal to the nominalQuota"))
    return errors


def check_weight(spec: Json) -> list[FieldError]:
    given = (spec.get("fairSharing") or {}).get("weight")
    if given is None:
        return []
    path, weight = "spec.fairSharing.weight", Quantity.of(given)
    if weight.sign() > 0 and weight <= SMALLEST_WEIGHT:
        return [wrong(path, str(weight), "When not 0, weight must be > 10e-9")]
    return check_not_negative(given, path)


def _check_selector(spec: Json) -> list[FieldError]:
    faults = selectors.validate_object(spec.get("namespaceSelector"), "spec.namespaceSelector")
    return [FieldError(*fault) for fault in faults]


def _check_preemption(spec: Json) -> list[FieldError]:
    preemption = spec.get("preemption") or {}
    policy = (preemption.get("borrowWithinCohort") or {}).get("policy", "Never")
    if preemption.get("reclaimWithinCohort", "Never") != "Never" or policy == "Never":
        return []
    message = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
    return [wrong("spec.preemption", preemption, message)]


def _check_fungibility(spec: Json) -> list[FieldError]:
    fungibility = spec.get("flavorFungibility") or {}
    preference = fungibility.get("preference")
    words = [fungibility.get(name) for name in ("whenCanBorrow", "whenCanPreempt")]
    if not preference or words == ["TryNextFlavor", "TryNextFlavor"]:
        return []
    message = (
        f'preference "{preference}" requires both whenCanBorrow and whenCanPreempt'
        " to be TryNextFlavor"
    )
    return [wrong("spec.flavorFungibility.preference", preference, message)]


def _check_totals(groups: Sequence[Json]) -> list[FieldError]:
    flavors = sum(len(group["flavors"]) for group in groups)
    resources = sum(len(group["coveredResources"]) for group in groups)
    what = "across all resourceGroups must be"
    errors: list[FieldError] = []
    if flavors > FLAVORS_MAX:
        text = f"total number of flavors {what} ≤ {FLAVORS_MAX}, got {flavors}"
        errors.append(wrong(GROUPS, flavors, text))
    if resources > RESOURCES_MAX:
        text = f"total number of covered resources {what} ≤ {RESOURCES_MAX}, got {resources}"
        errors.append(wrong(GROUPS, resources, text))
    for index, group in enumerate(groups):
        errors += _check_combinations(group, f"{GROUPS}[{index}]")
    return errors


def _check_combinations(group: Json, path: str) -> list[FieldError]:
    count = len(group["flavors"]) * len(group["coveredResources"])
    if count <= COMBINATIONS_MAX:
        return []
    what = "number of flavor-resource combinations in a resourceGroup must be"
    return [wrong(path, count, f"{what} ≤ {COMBINATIONS_MAX}, got {count}")]


def _check_on_flavors(spec: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    """Checks that are asked for certain flavors must name flavors of this queue."""
    flavors = _flavor_names(spec)
    accepted = _accepted_before(spec, old, rules)
    errors: list[FieldError] = []
    for index, check in enumerate(_checks(spec)):
        on_flavors = check.get("onFlavors") or []
        if accepted.get(check["name"]) == frozenset(on_flavors):
            continue
        path = f"spec.admissionChecksStrategy.admissionChecks[{index}].onFlavors"
        errors += [
            unsupported(f"{path}[{place}]", name, flavors)
            for place, name in enumerate(on_flavors)
            if name not in flavors
        ]
    return errors


def _accepted_before(spec: Json, old: Json | None, rules: Rules) -> dict[str, frozenset[str]]:
    """Rules of the old queue that are not judged again, as long as its flavors are the same."""
    old_spec: Json = (old or {}).get("spec") or {}
    if old is None or rules.reject_updates_to_cq_with_invalid_on_flavors:
        return {}
    if set(_flavor_names(old_spec)) != set(_flavor_names(spec)):
        return {}
    return {check["name"]: frozenset(check.get("onFlavors") or ()) for check in _checks(old_spec)}


def _flavor_names(spec: Json) -> list[str]:
    groups: Iterable[Json] = spec.get("resourceGroups") or []
    return [flavor["name"] for group in groups for flavor in group["flavors"]]


def _checks(spec: Json) -> list[Json]:
    return (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or []
