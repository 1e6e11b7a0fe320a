"""HorizontalPodAutoscalers; the rules speak autoscaling/v2, whichever version came."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, wrongs
from fleetqueue.apiserver.builtin.conversions import convert_autoscaler
from fleetqueue.apiserver.builtin.making import kind, part, without_status
from fleetqueue.apiserver.builtin.resource_names import validate_container_resource_name
from fleetqueue.apiserver.strategy import Object, Strategy
from fleetqueue.base import codec

V2 = "autoscaling/v2"
CPU_PERCENT = 80
WINDOW_SECONDS_MAX = 3600
PERIOD_SECONDS_MAX = 1800
SOURCES = ("ContainerResource", "External", "Object", "Pods", "Resource")
SELECT_POLICIES = ("Disabled", "Max", "Min")
_RULES: dict[str, Object] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    },
}


def default_autoscaler(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1
    if obj.get("apiVersion") != V2:
        return
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": CPU_PERCENT}
        resource = {"name": "cpu", "target": target}
        spec["metrics"] = [{"type": "Resource", "resource": resource}]
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, rules in _RULES.items():
            own = {
                key: value for key, value in (behavior.get(name) or {}).items() if value is not None
            }
            behavior[name] = {**codec.copy(rules), **own}


def drop_disabled(obj: Object, old: Object | None = None) -> None:
    """A tolerance of one's own is off by default."""
    for name in _RULES:
        rules = part(obj, "spec", "behavior", name)
        if isinstance(rules, dict):
            rules.pop("tolerance", None)


def prepare_autoscaler(obj: Object) -> None:
    without_status(obj)
    drop_disabled(obj)


def validate_autoscaler(obj: Object, old: Object | None) -> Errors:
    if obj.get("apiVersion") != V2:
        obj = convert_autoscaler(obj, V2)
    spec, errors = part(obj, "spec"), []
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        errors.append(fields.wrong("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        errors.append(fields.wrong("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        why = "must be greater than or equal to `minReplicas`"
        errors.append(fields.wrong("spec.maxReplicas", most, why))
    target, path = part(spec, "scaleTargetRef"), "spec.scaleTargetRef"
    errors += _validate_reference(target, path)
    if not _has_group(target) and (old is None or _has_group(part(old, "spec", "scaleTargetRef"))):
        why = "apiVersion must specify API group"
        errors.append(fields.wrong(f"{path}.apiVersion", target.get("apiVersion", ""), why))
    for index, metric in enumerate(spec.get("metrics") or ()):
        errors += _validate_metric(metric, f"spec.metrics[{index}]")
    errors += _validate_zero(spec)
    for name in _RULES:
        rules = part(spec, "behavior").get(name)
        if rules is not None:
            errors += _validate_rules(rules, f"spec.behavior.{name}")
    return errors


def _has_group(reference: Mapping[str, Any]) -> bool:
    return "/" in (reference.get("apiVersion") or "")


def _validate_zero(spec: Mapping[str, Any]) -> Errors:
    kinds = {metric.get("type") for metric in spec.get("metrics") or ()}
    if spec.get("minReplicas") != 0 or kinds & {"Object", "External"}:
        return []
    why = "must specify at least one Object or External metric to support scaling to zero replicas"
    return [fields.forbidden("spec.metrics", why)]


def validate_autoscaler_status(obj: Object, old: Object) -> Errors:
    status, errors = part(obj, "status"), []
    for name in ("currentReplicas", "desiredReplicas"):
        errors += nonnegative(status.get(name), f"status.{name}")
    return errors


def _validate_reference(reference: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    for name in ("kind", "name"):
        value = reference.get(name, "")
        if value:
            errors += wrongs(f"{path}.{name}", value, names.path_segment(value))
        else:
            errors.append(fields.required(f"{path}.{name}"))
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        errors.append(fields.wrong(f"{path}.apiVersion", version, why))
    return errors


def _validate_rules(rules: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    window, at = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(fields.wrong(at, window, "must be greater than or equal to zero"))
    if window is not None and window > WINDOW_SECONDS_MAX:
        why = f"must be less than or equal to {WINDOW_SECONDS_MAX}"
        errors.append(fields.wrong(at, window, why))
    select = rules.get("selectPolicy")
    if select is not None and select not in SELECT_POLICIES:
        errors.append(fields.unsupported(f"{path}.selectPolicy", select, SELECT_POLICIES))
    policies = rules.get("policies") or []
    if not policies:
        why = "must specify at least one Policy"
        errors.append(fields.required(f"{path}.policies", why))
    for index, policy in enumerate(policies):
        errors += _validate_policy(policy, f"{path}.policies[{index}]")
    return errors


def _validate_policy(policy: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    of, value, period = (policy.get(name) for name in ("type", "value", "periodSeconds"))
    if of not in ("Pods", "Percent"):
        errors.append(fields.unsupported(f"{path}.type", of or "", ("Percent", "Pods")))
    if (value or 0) <= 0:
        errors.append(fields.wrong(f"{path}.value", value or 0, "must be greater than zero"))
    if (period or 0) <= 0:
        why = "must be greater than zero"
        errors.append(fields.wrong(f"{path}.periodSeconds", period or 0, why))
    if (period or 0) > PERIOD_SECONDS_MAX:
        why = f"must be less than or equal to {PERIOD_SECONDS_MAX}"
        errors.append(fields.wrong(f"{path}.periodSeconds", period, why))
    return errors


def _validate_metric(metric: Mapping[str, Any], path: str) -> Errors:
    of, errors = metric.get("type", ""), []
    if not of:
        errors.append(fields.required(f"{path}.type", "must specify a metric source type"))
    if of not in SOURCES:
        errors.append(fields.unsupported(f"{path}.type", of, SOURCES))
    present = [name for name in _CHECKS if metric.get(name) is not None]
    for name in present[:1]:
        errors += _CHECKS[name](metric[name], f"{path}.{name}")
    if of not in SOURCES:
        errors.append(fields.unsupported(f"{path}.type", of, SOURCES))
        expected = ""
    else:
        expected = of[0].lower() + of[1:]
        if metric.get(expected) is None:
            why = "must populate information for the given metric source"
            errors.append(fields.required(f"{path}.{expected}", why))
    if len(present) != 1:
        why = "must populate the given metric source only"
        errors += [fields.forbidden(f"{path}.{n}", why) for n in present if n != expected]
    return errors


def _validate_target(target: Mapping[str, Any], path: str) -> Errors:
    of, errors = target.get("type", ""), []
    if not of:
        errors.append(fields.required(f"{path}.type", "must specify a metric target type"))
    if of not in ("Utilization", "Value", "AverageValue"):
        why = "must be either Utilization, Value, or AverageValue"
        errors.append(fields.wrong(f"{path}.type", of, why))
    for name in ("value", "averageValue"):
        amount = target.get(name)
        if amount is not None and quantity.parse(amount).sign() != 1:
            errors.append(fields.wrong(f"{path}.{name}", amount, "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.append(fields.wrong(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _validate_identifier(source: Mapping[str, Any], path: str) -> Errors:
    name = part(source, "metric").get("name", "")
    if not name:
        return [fields.required(f"{path}.metric.name", "must specify a metric name")]
    return wrongs(f"{path}.metric.name", name, names.path_segment(name))


def _object(source: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_reference(part(source, "describedObject"), f"{path}.describedObject")
    errors += _validate_identifier(source, path)
    target = part(source, "target")
    errors += _validate_target(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        why = "must set either a target value or averageValue"
        errors.append(fields.required(f"{path}.target.averageValue", why))
    return errors


def _external(source: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_identifier(source, path)
    target = part(source, "target")
    errors += _validate_target(target, f"{path}.target")
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        why = "must set either a target value for metric or a per-pod target"
        errors.append(fields.required(f"{path}.target.averageValue", why))
    if value is not None and average is not None:
        why = "may not set both a target value for metric and a per-pod target"
        errors.append(fields.forbidden(f"{path}.target.value", why))
    return errors


def _pods(source: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_identifier(source, path)
    target = part(source, "target")
    errors += _validate_target(target, f"{path}.target")
    if target.get("averageValue") is None:
        why = "must specify a positive target averageValue"
        errors.append(fields.required(f"{path}.target.averageValue", why))
    return errors


def _resource(source: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    if not source.get("name"):
        errors.append(fields.required(f"{path}.name", "must specify a resource name"))
    return errors + _validate_resource_target(part(source, "target"), f"{path}.target")


def _container_resource(source: Mapping[str, Any], path: str) -> Errors:
    name, container, errors = source.get("name"), source.get("container"), []
    if not name:
        errors.append(fields.required(f"{path}.name", "must specify a resource name"))
    else:
        errors += validate_container_resource_name(name, f"{path}.name")
    if not container:
        errors.append(fields.required(f"{path}.container", "must specify a container"))
    else:
        errors += wrongs(f"{path}.container", container, names.dns1123_label(container))
    return errors + _validate_resource_target(part(source, "target"), f"{path}.target")


def _validate_resource_target(target: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_target(target, path)
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        why = "must set either a target raw value or a target utilization"
        errors.append(fields.required(f"{path}.averageUtilization", why))
    if share is not None and average is not None:
        why = "may not set both a target raw value and a target utilization"
        errors.append(fields.forbidden(f"{path}.averageValue", why))
    return errors


_CHECKS: dict[str, Callable[[Mapping[str, Any], str], Errors]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("autoscaling", "HorizontalPodAutoscaler"): kind(
        validate_autoscaler,
        default=default_autoscaler,
        prepare_create=prepare_autoscaler,
        prepare_update=drop_disabled,
        validate_status=validate_autoscaler_status,
    ),
}
