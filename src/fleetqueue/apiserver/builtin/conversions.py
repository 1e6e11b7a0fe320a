"""Conversions between versions of built-in kinds that are served in more than one.

Events exist in two API groups and autoscalers in two versions; each has one stored form.
"""

from collections.abc import Callable
from typing import Any

from fleetqueue.apiserver.builtin import autoscaler_annotations as annotated
from fleetqueue.base import codec

Object = dict[str, Any]

_EVENT_RENAMES = {  # core/v1 -> events.k8s.io/v1
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENT_BACK = {new: old for old, new in _EVENT_RENAMES.items()}
METRICS = "autoscaling.alpha.kubernetes.io/metrics"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
CURRENT_METRICS = "autoscaling.alpha.kubernetes.io/current-metrics"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"


def convert_event(obj: Object, api_version: str) -> Object:
    """Between core/v1 and events.k8s.io/v1, whichever way the object does not have yet."""
    to_core = api_version == "v1"
    names = _EVENT_BACK if to_core else _EVENT_RENAMES
    body = {names.get(name, name): value for name, value in obj.items()}
    body["apiVersion"] = api_version
    if not to_core:
        for name in ("reportingController", "reportingInstance"):
            if body.get(name) == "":
                del body[name]
    return body


def convert_autoscaler(obj: Object, api_version: str) -> Object:
    body: Object = codec.copy(obj)
    body["apiVersion"] = api_version
    return _autoscaler_to_v1(body) if api_version.endswith("v1") else _autoscaler_to_v2(body)


def _autoscaler_to_v1(body: Object) -> Object:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    annotations = dict(body["metadata"].get("annotations") or {})
    others = []
    for metric in spec.pop("metrics", None) or []:
        target = (metric.get("resource") or {}).get("target") or {}
        is_cpu = (metric.get("resource") or {}).get("name") == "cpu"
        if is_cpu and "averageUtilization" in target:
            spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
        else:
            others.append(metric)
    behavior = spec.pop("behavior", None)
    kept = {
        METRICS: [annotated.metric_to_v1(metric, "target") for metric in others],
        BEHAVIOR: annotated.behavior_to_v1(behavior) if behavior else None,
        CONDITIONS: status.pop("conditions", None),
        CURRENT_METRICS: _current_v1(status),
    }
    for name, value in kept.items():
        if value:
            annotations[name] = codec.encode(value).decode()
    if annotations:
        body["metadata"]["annotations"] = annotations
    return body


def _current_v1(status: Object) -> list[Object]:
    if status:
        status.setdefault("currentReplicas", 0)
    others = []
    for metric in status.pop("currentMetrics", None) or []:
        current = (metric.get("resource") or {}).get("current") or {}
        is_cpu = (metric.get("resource") or {}).get("name") == "cpu"
        if is_cpu and "averageUtilization" in current:
            status["currentCPUUtilizationPercentage"] = current["averageUtilization"]
        else:
            others.append(annotated.metric_to_v1(metric, "current"))
    return others


def _autoscaler_to_v2(body: Object) -> Object:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    annotations = dict(body["metadata"].get("annotations") or {})
    found = _taken(annotations, METRICS) or []
    metrics = [annotated.metric_to_v2(metric, "target") for metric in found]
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.insert(0, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    behavior = _taken(annotations, BEHAVIOR)
    if behavior:
        spec["behavior"] = annotated.behavior_to_v2(behavior)
    _current_v2(status, annotations)
    if annotations:
        body["metadata"]["annotations"] = annotations
    else:
        body["metadata"].pop("annotations", None)
    return body


def _current_v2(status: Object, annotations: Object) -> None:
    found = _taken(annotations, CURRENT_METRICS) or []
    current = [annotated.metric_to_v2(metric, "current") for metric in found]
    percentage = status.pop("currentCPUUtilizationPercentage", None)
    if percentage is not None:
        value = {"averageUtilization": percentage}
        current.insert(0, {"type": "Resource", "resource": {"name": "cpu", "current": value}})
    if status or current:
        status["currentMetrics"] = current or None
        if not status.get("currentReplicas"):
            status.pop("currentReplicas", None)
    conditions = _taken(annotations, CONDITIONS)
    if conditions:
        status["conditions"] = conditions


def _taken(annotations: Object, name: str) -> Any:
    text = annotations.pop(name, None)
    if text is None:
        return None
    try:
        return codec.decode(text)
    except codec.DecodeError:
        return None


CONVERSIONS: dict[tuple[str, str], Callable[[Object, str], Object]] = {
    ("", "Event"): convert_event,
    ("events.k8s.io", "Event"): convert_event,
    ("autoscaling", "HorizontalPodAutoscaler"): convert_autoscaler,
}
