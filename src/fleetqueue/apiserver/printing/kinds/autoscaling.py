"""Tables of autoscalers and scales."""

from typing import Any

from fleetqueue.apiserver.printing.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    at,
    dig,
    name_of,
    only,
)
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

METRICS_SHOWN = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _reference(obj: Object) -> str:
    target = dig(obj, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _least(obj: Object) -> str:
    least = dig(obj, "spec", "minReplicas")
    return UNSET if least is None else str(least)


def _targets(obj: Object) -> str:
    specs = dig(obj, "spec", "metrics") or ()
    if not specs:
        return NONE
    statuses = dig(obj, "status", "currentMetrics") or ()
    shown = []
    for index, spec in enumerate(specs):
        shown.append(_target(spec, statuses[index] if index < len(statuses) else {}))
    text = ", ".join(shown[:METRICS_SHOWN])
    more = len(shown) - METRICS_SHOWN
    return f"{text} + {more} more..." if more > 0 else text


def _target(spec: Object, status: Object) -> str:
    """What one metric is now, and what it should be."""
    source = _SOURCES.get(spec.get("type") or "")
    if source is None:
        return "<unknown type>"
    target, current = dig(spec, source, "target") or {}, dig(status, source, "current")
    average = target.get("averageValue")
    if source in ("external", "object"):
        if average is not None:
            return f"{_one(current, 'averageValue')}/{average} (avg)"
        return f"{_one(current, 'value', '0')}/{target.get('value') or '0'}"
    if source == "pods":
        return f"{_one(current, 'averageValue', '0')}/{average or '0'}"
    name = dig(spec, source, "name") or ""
    if average is not None:
        return f"{name}: {_one(current, 'averageValue', '0')}/{average}"
    wanted = target.get("averageUtilization")
    percent = "<auto>" if wanted is None else f"{wanted}%"
    used = _one(current, "averageUtilization")
    return f"{name}: {used if used == UNKNOWN else f'{used}%'}/{percent}"


def _one(current: Object | None, key: str, empty: str = UNKNOWN) -> Any:
    if current is None:
        return UNKNOWN
    value = current.get(key)
    return empty if value is None else value


LAYOUTS = {
    ("autoscaling", "HorizontalPodAutoscaler"): Layout(
        (
            NAME,
            Column("Reference", only(_reference)),
            Column("Targets", only(_targets)),
            Column("MinPods", only(_least)),
            Column("MaxPods", at("spec", "maxReplicas", default=0)),
            Column("Replicas", at("status", "currentReplicas", default=0)),
            AGE,
        ),
        api_version="autoscaling/v2",
    ),
    ("autoscaling", "Scale"): Layout(
        (
            Column("Name", name_of),
            Column("Desired", at("spec", "replicas", default=0), "integer"),
            Column("Available", at("status", "replicas", default=0), "integer"),
            AGE,
        )
    ),
}
