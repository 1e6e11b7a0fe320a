"""Priority classes and runtime classes."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, immutable, one_of, wrongs
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.making import kind
from fleetqueue.apiserver.builtin.objectmeta import is_dns_label
from fleetqueue.apiserver.builtin.pod_resources import validate_requirements
from fleetqueue.apiserver.builtin.pod_scheduling import validate_tolerations
from fleetqueue.apiserver.builtin.selectors import validate_labels
from fleetqueue.apiserver.strategy import Object, Strategy

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}


def validate_priority_class(obj: Object, old: Object | None) -> Errors:
    if old is not None:
        return _validate_priority_update(obj, old)
    errors: Errors = []
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_problem(name, value, bool(obj.get("globalDefault"))):
            why = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use "
                f"only. error: {problem}"
            )
            errors.append(fields.forbidden("metadata.name", why))
    elif value > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(fields.forbidden("value", why))
    policy = obj.get("preemptionPolicy")
    if policy == "":
        return [*errors, fields.required("preemptionPolicy")]
    return errors + one_of(policy, ("PreemptLowerPriority", "Never"), "preemptionPolicy")


def _validate_priority_update(obj: Object, old: Object) -> Errors:
    errors: Errors = []
    if obj.get("value", 0) != old.get("value", 0):
        errors.append(fields.forbidden("value", "may not be changed in an update."))
    path = "preemptionPolicy"
    return errors + immutable(obj.get(path), old.get(path), path)


def _system_problem(name: str, value: int, is_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _default_priority_class(obj: Object) -> None:
    if obj.get("preemptionPolicy") is None:
        obj["preemptionPolicy"] = "PreemptLowerPriority"


def validate_runtime_class(obj: Object, old: Object | None) -> Errors:
    handler = obj.get("handler", "")
    errors = wrongs("handler", handler, is_dns_label(handler, False))
    if old is not None:
        errors += immutable(handler, old.get("handler", ""), "handler")
    if (overhead := obj.get("overhead")) is not None:
        errors += validate_requirements({"limits": overhead.get("podFixed")}, "overhead", ())
    if (scheduling := obj.get("scheduling")) is not None:
        errors += validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
        errors += _validate_tolerations(scheduling.get("tolerations") or [])
    return errors


def _validate_tolerations(tolerations: list[Mapping[str, Any]]) -> Errors:
    path = "scheduling.tolerations"
    errors = validate_tolerations(tolerations, f"{path}.tolerations")
    seen: set[tuple[Any, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name) for name in ("key", "operator", "value", "effect"))
        if key in seen:
            shown = show_internal("Toleration", toleration)
            errors.append(fields.duplicate(f"{path}[{index}]", shown))
        seen.add(key)
    return errors


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("scheduling.k8s.io", "PriorityClass"): kind(
        validate_priority_class,
        default=_default_priority_class,
        has_status=False,
        has_generation=True,
        generation_grows=False,
    ),
    ("node.k8s.io", "RuntimeClass"): kind(
        validate_runtime_class,
        has_status=False,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    ),
}
