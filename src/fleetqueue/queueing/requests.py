"""What quota has to cover for one pod: its requests, with what its namespace and its runtime class
add, without what is excluded, and counted as the configuration says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from fleetqueue.api.pods.requests import pod_requests
from fleetqueue.api.quantity import Quantity
from fleetqueue.queueing.amounts import AMOUNT_MAX, Requests

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Transformation:
    """Counts a resource as other ones."""

    outputs: Mapping[str, Fraction]
    keeps_input: bool = True
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The `resources` part of the configuration."""

    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """The LimitRanges of a namespace as one, for one type: containers or pods."""

    default: Mapping[str, Any] = field(default_factory=dict)
    default_request: Mapping[str, Any] = field(default_factory=dict)
    max: Mapping[str, Quantity] = field(default_factory=dict)
    min: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a namespace and the cluster add to pods."""

    containers: Limits = Limits()
    pods: Limits = Limits()
    overheads: Mapping[str, Json] = field(default_factory=dict)
    """The fixed overhead of each runtime class."""


NO_RULES = RequestRules()
NOWHERE = Surroundings()


def completed(spec: Json, around: Surroundings) -> dict[str, Any]:
    """The pod spec with what would be filled in when its pods are created; the object itself stays
    as it is.
    """
    done = dict(spec)
    overhead = around.overheads.get(str(spec.get("runtimeClassName") or ""))
    if overhead and not spec.get("overhead"):
        done["overhead"] = overhead
    for field_name in ("initContainers", "containers"):
        if spec.get(field_name):
            done[field_name] = [_container(each, around.containers) for each in spec[field_name]]
    if spec.get("resources"):
        done["resources"] = _resources(spec["resources"], around.pods)
    return done


def quota_requests(spec: Json, rules: RequestRules = NO_RULES) -> Requests:
    """What one pod of a completed spec needs quota for."""
    found = node_requests(spec)
    kept = {
        name: amount
        for name, amount in found.items()
        if not any(name.startswith(prefix) for prefix in rules.excluded_prefixes)
    }
    return transformed(kept, rules.transformations)


def node_requests(spec: Json) -> Requests:
    """What one pod takes on its node. What it asks none of is named, too: that has a flavor like
    anything else.
    """
    found = pod_requests(dict(spec), keeps_zeros=True)
    return {name: min(max(amount, 0), AMOUNT_MAX) for name, amount in found.items()}


def transformed(requests: Requests, rules: Mapping[str, Transformation]) -> Requests:
    generated: dict[str, Fraction] = {}
    plain: Requests = {}
    for name, amount in requests.items():
        rule = rules.get(name)
        if rule is None or rule.keeps_input:
            plain[name] = amount
        if rule is not None:
            is_multiplied = rule.multiply_by in requests
            factor = _in_units(rule.multiply_by, requests) if is_multiplied else Fraction(1)
            for output, weight in rule.outputs.items():
                more = _in_units(name, requests) * weight * factor
                generated[output] = generated.get(output, Fraction(0)) + more
    for output, sum_of_parts in generated.items():
        counted = max(ceil(sum_of_parts * _per_unit(output)), 0)
        plain[output] = min(plain.get(output, 0) + counted, AMOUNT_MAX)
    return plain


def merged_limits(ranges: Iterable[Json], kind: str) -> Limits:
    """LimitRange items of one type as one: lowest max, highest min, the first default."""
    default: dict[str, Any] = {}
    default_request: dict[str, Any] = {}
    most: dict[str, Quantity] = {}
    least: dict[str, Quantity] = {}
    for item in (item for each in ranges for item in each.get("limits") or ()):
        if item.get("type") != kind:
            continue
        default = {**(item.get("default") or {}), **default}
        default_request = {**(item.get("defaultRequest") or {}), **default_request}
        for name, value in (item.get("max") or {}).items():
            most[name] = min(most.get(name, Quantity.of(value)), Quantity.of(value))
        for name, value in (item.get("min") or {}).items():
            least[name] = max(least.get(name, Quantity.of(value)), Quantity.of(value))
    return Limits(default, default_request, most, least)


def _container(container: Json, limits: Limits) -> dict[str, Any]:
    return {**container, "resources": _resources(container.get("resources") or {}, limits)}


def _resources(resources: Json, around: Limits) -> dict[str, Any]:
    """Both get defaults; what is limited and still not requested is requested as it is limited."""
    limits = {**around.default, **(resources.get("limits") or {})}
    requests = {**limits, **around.default_request, **(resources.get("requests") or {})}
    return {**resources, "limits": limits, "requests": requests}


def _in_units(name: str, requests: Requests) -> Fraction:
    return Fraction(requests.get(name, 0), _per_unit(name))


def _per_unit(name: str) -> int:
    return 1000 if name == "cpu" else 1
