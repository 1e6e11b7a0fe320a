"""ResourceQuotas: which resources and scopes they may name."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import resource_names
from fleetqueue.apiserver.builtin.checks import IMMUTABLE, Errors
from fleetqueue.apiserver.builtin.making import kind, part, without_status
from fleetqueue.apiserver.builtin.pod_resources import read, validate_amount
from fleetqueue.apiserver.strategy import Object, Strategy

EXISTENCE = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    }
)
QUOTA_NAMES = resource_names.STANDARD - {"storage"}
_COMPUTE = frozenset(
    {
        "pods",
        "cpu",
        "memory",
        "limits.cpu",
        "limits.memory",
        "requests.cpu",
        "requests.memory",
    }
)
_RESOURCES = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def validate_quota(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = _validate_amounts(spec.get("hard"), "spec.hard")
    scopes = spec.get("scopes") or []
    errors += _validate_scopes(scopes, spec)
    if spec.get("scopeSelector") is not None:
        errors += _validate_selector(spec)
    if old is not None and set(scopes) != set(part(old, "spec").get("scopes") or []):
        errors.append(fields.wrong("spec.scopes", scopes or None, IMMUTABLE))
    return errors


def validate_quota_status(obj: Object, old: Object) -> Errors:
    status = part(obj, "status")
    errors = _validate_amounts(status.get("hard"), "status.hard")
    return errors + _validate_amounts(status.get("used"), "status.used")


def _validate_amounts(listed: Mapping[str, str] | None, path: str) -> Errors:
    errors: Errors = []
    for name, amount in read(listed).items():
        at = f"{path}[{name}]"
        errors += resource_names.validate_resource_name(name, at)
        if "/" not in name and not _is_standard(name):
            errors.append(fields.wrong(at, name, "must be a standard resource for quota"))
        errors += validate_amount(name, amount, at)
    return errors


def _is_standard(name: str) -> bool:
    return name in QUOTA_NAMES or resource_names.is_huge_pages(name.removeprefix("requests."))


def _fits(scope: str, spec: Mapping[str, Any]) -> list[str]:
    """The resources of the quota that the scope cannot be applied to."""
    allowed = _RESOURCES.get(scope)
    if allowed is None:
        return []
    hard = spec.get("hard") or {}
    return [name for name in sorted(hard) if _is_standard(name) and name not in allowed]


def _validate_scopes(scopes: list[str], spec: Mapping[str, Any]) -> Errors:
    errors: Errors = []
    for scope in scopes:
        if scope not in SCOPES:
            errors.append(fields.wrong("spec.scopes", scopes, "unsupported scope"))
        why = "unsupported scope applied to resource"
        errors += [fields.wrong("spec.scopes", scopes, why) for _ in _fits(scope, spec)]
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            errors.append(fields.wrong("spec.scopes", scopes, "conflicting scopes"))
    return errors


def _validate_selector(spec: Mapping[str, Any]) -> Errors:
    path, errors, scopes = "spec.scopeSelector.matchExpressions", [], set()
    selector = spec["scopeSelector"]
    for requirement in selector.get("matchExpressions") or ():
        scope = requirement.get("scopeName", "")
        if scope not in SCOPES:
            errors.append(fields.wrong(f"{path}.scopeName", scope, "unsupported scope"))
        why = "unsupported scope applied to resource"
        errors += [fields.wrong(path, selector, why) for _ in _fits(scope, spec)]
        errors += _validate_operator(requirement, scope, path)
        scopes.add(scope)
    for pair in _CONFLICTS:
        if pair <= scopes:
            errors.append(fields.wrong(path, spec.get("scopes"), "conflicting scopes"))
    return errors


def _validate_operator(requirement: Mapping[str, Any], scope: str, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors: Errors = []
    if scope in SCOPES - {"PriorityClass", "VolumeAttributesClass"} and operator != "Exists":
        errors.append(fields.wrong(f"{path}.operator", operator, EXISTENCE))
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(fields.required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(fields.wrong(f"{path}.values", values, why))
    else:
        errors.append(fields.wrong(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ResourceQuota"): kind(
        validate_quota,
        prepare_create=without_status,
        validate_status=validate_quota_status,
        returns_deleted=True,
    ),
}
