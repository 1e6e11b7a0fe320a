"""What autoscaling/v1 has no field for: it is kept in annotations, as the JSON of older types."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
Paths = tuple[tuple[str, tuple[str, ...]], ...]

_NAME, _SELECTOR = ("metric", "name"), ("metric", "selector")


def _sources(kind: str) -> dict[str, Paths]:
    """Source -> (name in v1, path in v2), in v1's order; `kind` is target or current."""
    value, average = (kind, "value"), (kind, "averageValue")
    utilization = (f"{kind}AverageUtilization", (kind, "averageUtilization"))
    resource = (("name", ("name",)), utilization, (f"{kind}AverageValue", average))
    return {
        "object": (
            ("target", ("describedObject",)),
            ("metricName", _NAME),
            (f"{kind}Value", value),
            ("selector", _SELECTOR),
            ("averageValue", average),
        ),
        "pods": (
            ("metricName", _NAME),
            (f"{kind}AverageValue", average),
            ("selector", _SELECTOR),
        ),
        "resource": resource,
        "containerResource": (*resource, ("container", ("container",))),
        "external": (
            ("metricName", _NAME),
            ("metricSelector", _SELECTOR),
            (f"{kind}Value", value),
            (f"{kind}AverageValue", average),
        ),
    }


_SOURCES = {kind: _sources(kind) for kind in ("target", "current")}


def metric_to_v1(metric: Mapping[str, Any], kind: str) -> Object:
    older: Object = {"type": metric.get("type", "")}
    for source, paths in _SOURCES[kind].items():
        if metric.get(source) is None:
            continue
        found = {name: _get(metric[source], path) for name, path in paths}
        if source == "object" and found[f"{kind}Value"] is None:
            found[f"{kind}Value"] = "0"
        older[source] = {name: value for name, value in found.items() if value is not None}
    return older


def metric_to_v2(metric: Mapping[str, Any], kind: str) -> Object:
    newer: Object = {"type": metric.get("type", "")}
    for source, paths in _SOURCES[kind].items():
        if metric.get(source) is None:
            continue
        content: Object = {}
        for name, path in paths:
            if metric[source].get(name) is not None:
                _set(content, path, metric[source][name])
        if kind == "target":
            _add_type(content)
        newer[source] = content
    return newer


def behavior_to_v1(behavior: Mapping[str, Any]) -> Object:
    """In the words of the server's inner form."""
    return {
        name[0].upper() + name[1:]: None if behavior.get(name) is None else _rules(behavior[name])
        for name in ("scaleUp", "scaleDown")
    }


def behavior_to_v2(behavior: Mapping[str, Any]) -> Object:
    found = _lowered(behavior)
    return found if isinstance(found, dict) else {}


def _rules(rules: Mapping[str, Any]) -> Object:
    policies = [
        {
            "Type": policy.get("type"),
            "Value": policy.get("value"),
            "PeriodSeconds": policy.get("periodSeconds"),
        }
        for policy in rules.get("policies") or ()
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies or None,
        "Tolerance": rules.get("tolerance"),
    }


def _lowered(value: Any) -> Any:
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name[:1].lower() + name[1:]: _lowered(item)
        for name, item in value.items()
        if item is not None
    }


def _add_type(content: Object) -> None:
    target = content.setdefault("target", {})
    if "averageUtilization" in target:
        target["type"] = "Utilization"
    elif "averageValue" in target:
        target["type"] = "AverageValue"
        target.pop("value", None)
    else:
        target["type"] = "Value"


def _get(holder: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        holder = (holder or {}).get(name)
    return holder


def _set(holder: Object, path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
    holder[path[-1]] = value
