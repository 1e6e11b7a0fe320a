"""Requests and limits of containers and pods: rules, sums over a pod, its quality of service."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.api.quantity import Quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import resource_names
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

Amounts = dict[str, Quantity]

_COMPUTE = ("cpu", "memory")


def validate_requirements(
    resources: Mapping[str, Any],
    path: str,
    claim_names: Iterable[str],
    *,
    check_name: Callable[[str, str], Errors] = resource_names.validate_container_resource_name,
    any_page_multiple: bool = False,
) -> Errors:
    limits, requests = read(resources.get("limits")), read(resources.get("requests"))
    errors: Errors = []
    for kind, listed in (("limits", limits), ("requests", requests)):
        for name, amount in listed.items():
            below = f"{path}.{kind}[{name}]"
            errors += check_name(name, below) + validate_amount(name, amount, below)
            if kind == "requests":
                errors += _validate_against_limit(name, amount, limits, path)
            if not any_page_multiple:
                errors += _validate_pages(name, amount, below)
    named = limits.keys() | requests.keys()
    if any(map(resource_names.is_huge_pages, named)) and not named & set(_COMPUTE):
        errors.append(fields.forbidden(path, "HugePages require cpu or memory"))
    return errors + _validate_claims(resources.get("claims") or [], claim_names, f"{path}.claims")


def validate_amount(name: str, amount: Quantity, path: str) -> Errors:
    """Not negative, and whole where things are counted."""
    errors: Errors = []
    if amount.sign() < 0:
        errors.append(fields.wrong(path, str(amount), "must be greater than or equal to 0"))
    if resource_names.is_whole(name) and amount.milli_value() % 1000:
        errors.append(fields.wrong(path, str(amount), "must be an integer"))
    return errors


def validate_pod_level(spec: Mapping[str, Any], claim_names: Iterable[str], path: str) -> Errors:
    """Resources of the pod as a whole, which its containers share."""
    resources = spec.get("resources")
    if resources is None:
        return []
    if (spec.get("os") or {}).get("name") == "windows":
        return [fields.forbidden(path, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.get("claims") is not None:
        why = "claims may not be set for Resources at pod-level"
        errors.append(fields.forbidden(f"{path}.claims", why))
    check = resource_names.validate_pod_resource_name
    errors += validate_requirements(resources, path, claim_names, check_name=check)
    return errors + _validate_consistency(spec, resources, path)


def default_pod_level(spec: dict[str, Any]) -> None:
    """Requests and huge page limits that the pod leaves to its containers to say."""
    resources = spec.get("resources")
    if resources is None or not (resources.get("limits") or resources.get("requests")):
        return
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in total(spec, "limits").items():
        if resource_names.is_huge_pages(name) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        resources["limits"] = limits
        _default_pod_requests(spec, resources, requests)


def total(spec: Mapping[str, Any], kind: str) -> Amounts:
    """What the containers need together: all that run at once, or the hungriest init step."""
    together: Amounts = {}
    for container in spec.get("containers") or ():
        _add(together, _amounts_of(container, kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _amounts_of(container, kind)
        if is_sidecar(container):
            _add(together, own)
            _add(sidecars, own)
            step = sidecars
        else:
            step = dict(own)
            _add(step, sidecars)
        _raise(peak, step)
    _raise(together, peak)
    return together


def is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def quality_of_service(spec: Mapping[str, Any]) -> str:
    requests: Amounts = {}
    limits: Amounts = {}
    guaranteed = True
    resources = spec.get("resources")
    if resources is not None:
        _add(requests, _compute(resources.get("requests")))
        _add(limits, _compute(resources.get("limits")))
        if resources.get("limits"):
            guaranteed = limits.keys() == set(_COMPUTE)
    else:
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            own = container.get("resources") or {}
            _add(requests, _compute(own.get("requests")))
            capped = _compute(own.get("limits"))
            _add(limits, capped)
            guaranteed = guaranteed and capped.keys() == set(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def rounded_up_to_milli(text: str) -> str:
    amount = quantity.parse(text)
    if amount.exponent >= -3:
        return text
    return str(Quantity.from_milli(amount.milli_value(), amount.format))


def read(listed: Mapping[str, str] | None) -> Amounts:
    return {name: quantity.parse(amount) for name, amount in (listed or {}).items()}


def _validate_pages(name: str, amount: Quantity, path: str) -> Errors:
    if not resource_names.is_huge_pages(name) or resource_names.is_divisible_by_page(name, amount):
        return []
    why = f"{amount} is not positive integer multiple of {name}"
    return [fields.wrong(path, str(amount), why)]


def _validate_against_limit(name: str, amount: Quantity, limits: Amounts, path: str) -> Errors:
    limit = limits.get(name)
    if limit is None:
        if resource_names.is_overcommittable(name):
            return []
        why = "Limit must be set for non overcommitable resources"
        return [fields.required(f"{path}.limits", why)]
    if amount != limit and not resource_names.is_overcommittable(name):
        why = f"must be equal to {name} limit of {limit}"
        return [fields.wrong(f"{path}.requests", str(amount), why)]
    if amount > limit:
        why = f"must be less than or equal to {name} limit of {limit}"
        return [fields.wrong(f"{path}.requests", str(amount), why)]
    return []


def _validate_claims(
    claims: list[Mapping[str, Any]], claim_names: Iterable[str], path: str
) -> Errors:
    errors: Errors = []
    known = sorted(claim_names)
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, below = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            errors.append(fields.required(below))
            continue
        errors += _validate_claim_is_new(name, claim.get("request", ""), seen, below)
        if name not in known:
            why = "must be one of the names in pod.spec.resourceClaims"
            why += f": {', '.join(known)}" if known else " which is empty"
            errors.append(fields.FieldError("FieldValueNotFound", below, fields.show(name), why))
    return errors


def _validate_claim_is_new(name: str, request: str, seen: set[str], path: str) -> Errors:
    if name in seen:
        return [fields.duplicate(path, name)]
    errors = wrongs(f"{path}.request", request, names.dns1123_label(request)) if request else []
    key = f"{name}/{request}" if request else name
    if key in seen:
        errors.append(fields.duplicate(path, key))
    elif not request and any(other.startswith(f"{name}/") for other in seen):
        errors.append(fields.duplicate(path, name))
    seen.add(key)
    return errors


def _validate_consistency(
    spec: Mapping[str, Any], resources: Mapping[str, Any], path: str
) -> Errors:
    errors: Errors = []
    requests, limits = read(resources.get("requests")), read(resources.get("limits"))
    for name, needed in total(spec, "requests").items():
        if name in requests and needed > requests[name]:
            why = f"must be greater than or equal to aggregate container requests of {needed}"
            errors.append(fields.wrong(f"{path}.requests[{name}]", str(requests[name]), why))
    for name, needed in total(spec, "limits").items():
        if resource_names.is_huge_pages(name) and name in limits and needed > limits[name]:
            why = f"must be greater than or equal to aggregate container limits of {needed}"
            errors.append(fields.wrong(f"{path}.limits[{name}]", str(limits[name]), why))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in _amounts_of(container, "limits").items():
            if name in limits and limit > limits[name]:
                why = f"must be less than or equal to pod limits of {limits[name]}"
                below = f"{path}.containers[{index}][{name}].limits"
                errors.append(fields.wrong(below, str(limit), why))
    return errors


def _default_pod_requests(
    spec: Mapping[str, Any], resources: dict[str, Any], requests: dict[str, str]
) -> None:
    for name, amount in total(spec, "requests").items():
        if name in _COMPUTE:
            requests.setdefault(name, str(amount))
    for name, text in resources["limits"].items():
        if resource_names.is_pod_level(name):
            requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def _amounts_of(container: Mapping[str, Any], kind: str) -> Amounts:
    return read((container.get("resources") or {}).get(kind))


def _compute(listed: Mapping[str, str] | None) -> Amounts:
    return {k: v for k, v in read(listed).items() if k in _COMPUTE and v.sign() > 0}


def _add(target: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        target[name] = target[name] + amount if name in target else amount


def _raise(target: Amounts, floor: Amounts) -> None:
    for name, amount in floor.items():
        if name not in target or amount > target[name]:
            target[name] = amount
