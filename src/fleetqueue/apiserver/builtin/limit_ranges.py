"""LimitRanges: how their limits complete one another, and which contradict."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import resource_names
from fleetqueue.apiserver.builtin.checks import Errors, wrongs
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.builtin.pod_resources import read
from fleetqueue.apiserver.strategy import Object, Strategy

TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_KINDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity(1)


def default_limit_range(obj: Object) -> None:
    for limit in part(obj, "spec").get("limits") or ():
        if limit.get("type") != "Container":
            continue
        default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
        own = limit.get("defaultRequest") or {}
        request = {**(limit.get("min") or {}), **default, **own}
        for name, amounts in (("default", default), ("defaultRequest", request)):
            if amounts:
                limit[name] = amounts


def validate_limit_range(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, limit in enumerate(part(obj, "spec").get("limits") or ()):
        path, of = f"spec.limits[{index}]", limit.get("type", "")
        errors += _validate_type(of, f"{path}.type")
        if of in seen:
            errors.append(fields.duplicate(f"{path}.type", of))
        seen.add(of)
        errors += _validate_limit(limit, of, path)
    return errors


def _validate_limit(limit: Mapping[str, Any], of: str, path: str) -> Errors:
    errors: Errors = []
    amounts = {name: read(limit.get(name)) for name in _KINDS}
    for name in _KINDS:
        if of == "Pod" and name in ("default", "defaultRequest"):
            if amounts[name]:
                why = "may not be specified when `type` is 'Pod'"
                errors.append(fields.forbidden(f"{path}.{name}", why))
            amounts[name] = {}
        for resource in amounts[name]:
            errors += _validate_name(of, resource, f"{path}.{name}[{resource}]")
    if of == "PersistentVolumeClaim" and "storage" not in amounts["min"] | amounts["max"]:
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(fields.required(f"{path}.limits", why))
    for resource in dict.fromkeys(key for name in _KINDS for key in amounts[name]):
        found = {name: amounts[name].get(resource) for name in _KINDS}
        errors += _validate_order(resource, found, path)
        errors += _validate_ratio(resource, found, path)
    return errors


def _validate_order(resource: str, found: Mapping[str, Quantity | None], path: str) -> Errors:
    low, high = found["min"], found["max"]
    default, request = found["default"], found["defaultRequest"]
    errors: Errors = []

    def check(a: Quantity | None, b: Quantity | None, at: str, shown: Any, why: str) -> None:
        if a is not None and b is not None and a > b:
            text = why.format(a, b)
            errors.append(fields.wrong(f"{path}.{at}[{resource}]", str(shown), text))

    check(low, high, "min", low, "min value {} is greater than max value {}")
    why = "min value {} is greater than default request value {}"
    check(low, request, "defaultRequest", request, why)
    why = "default request value {} is greater than max value {}"
    check(request, high, "defaultRequest", request, why)
    why = "default request value {} is greater than default limit value {}"
    check(request, default, "defaultRequest", request, why)
    check(low, default, "default", low, "min value {} is greater than default value {}")
    check(default, high, "default", high, "default value {} is greater than max value {}")
    is_fixed = not resource_names.is_overcommittable(resource)
    if is_fixed and default is not None and request is not None and default != request:
        why = f"default value {default} must equal to defaultRequest value {request} in {resource}"
        errors.append(fields.wrong(f"{path}.defaultRequest[{resource}]", str(request), why))
    return errors


def _validate_ratio(resource: str, found: Mapping[str, Quantity | None], path: str) -> Errors:
    ratio, low, high = found["maxLimitRequestRatio"], found["min"], found["max"]
    if ratio is None:
        return []
    at, errors = f"{path}.maxLimitRequestRatio[{resource}]", []
    if ratio < _ONE:
        errors.append(fields.wrong(at, str(ratio), f"ratio {ratio} is less than 1"))
    if low is not None and high is not None and low:
        most = high.milli_value() / low.milli_value()
        if ratio.milli_value() / 1000 > most:
            why = f"ratio {ratio} is greater than max/min = {most:f}"
            errors.append(fields.wrong(at, str(ratio), why))
    return errors


def _validate_type(of: str, path: str) -> Errors:
    if errors := wrongs(path, of, names.qualified_name(of)):
        return errors
    if "/" not in of and of not in TYPES:
        return [fields.wrong(path, of, "must be a standard limit type or fully qualified")]
    return []


def _validate_name(of: str, resource: str, path: str) -> Errors:
    if of in ("Pod", "Container"):
        return resource_names.validate_container_resource_name(resource, path)
    return resource_names.validate_resource_name(resource, path)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "LimitRange"): kind(
        validate_limit_range,
        default=default_limit_range,
        has_status=False,
        allow_create_on_update=True,
    ),
}
