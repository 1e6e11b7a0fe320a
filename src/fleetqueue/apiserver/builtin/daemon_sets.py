"""DaemonSets: one pod on every node."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors, workloads
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, same
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_defaults import default_template
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]
View = Mapping[str, Any]

GENERATION = "deprecated.daemonset.template.generation"
"""How often the template changed; once a field of the spec, and an annotation since."""

_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def default_daemon_set(daemon_set: Object) -> None:
    spec = daemon_set.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        workloads.default_share(strategy["rollingUpdate"], "maxUnavailable", 1)
        workloads.default_share(strategy["rollingUpdate"], "maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec)
    _set_generation(daemon_set, _generation(daemon_set))


def validate_daemon_set(daemon_set: Object) -> Errors:
    errors = validate_finalizers_qualified(daemon_set["metadata"])
    return errors + _validate_spec(daemon_set["spec"], None)


def validate_daemon_set_update(daemon_set: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(daemon_set["metadata"], old["metadata"])
    errors += workloads.validate_selector_kept(daemon_set["spec"], old["spec"])
    return errors + _validate_spec(daemon_set["spec"], old["spec"])


def validate_daemon_set_status(daemon_set: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(daemon_set["metadata"], old["metadata"])
    status, before = daemon_set.get("status") or {}, old.get("status") or {}
    errors += workloads.validate_counts(status, *_COUNTS)
    return errors + workloads.validate_collisions(status, before)


def _validate_spec(spec: View, old: View | None) -> Errors:
    selector, template = spec.get("selector"), spec["template"]
    any_value = selectors.has_odd_values((old or {}).get("selector"))
    errors = selectors.validate_label_selector(selector, "spec.selector", any_value=any_value)
    labels = (template.get("metadata") or {}).get("labels")
    if selectors.is_understood(selector) and not selectors.selects(selector, labels):
        shown = selectors.shown_labels(labels)
        errors.append(fields.wrong("spec.template.metadata.labels", shown, workloads.UNMATCHED))
    if selector is not None and selectors.is_empty(selector):
        why = "empty selector is invalid for daemonset"
        errors.append(fields.wrong("spec.selector", selectors.shown(selector), why))
    before = None if old is None else old["template"]
    errors += workloads.validate_replicated_template(template, before, "DaemonSet")
    errors += nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += _validate_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    return errors + nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def _validate_strategy(strategy: View, path: str) -> Errors:
    kind = strategy.get("type", "")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = show_internal("DaemonSetUpdateStrategy", strategy)
        return [fields.unsupported(path, shown, ("RollingUpdate", "OnDelete"))]
    rolling = strategy.get("rollingUpdate")
    if rolling is None:
        return [fields.required(f"{path}.rollingUpdate")]
    return _validate_rolling(rolling, f"{path}.rollingUpdate")


def _validate_rolling(rolling: View, path: str) -> Errors:
    missing, extra = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors: Errors = []
    for check in (workloads.validate_share, workloads.validate_not_above_all):
        errors += check(missing, f"{path}.maxUnavailable") + check(extra, f"{path}.maxSurge")
    has_missing, has_extra = workloads.share_of(missing) != 0, workloads.share_of(extra) != 0
    if has_missing and has_extra:
        why = "may not be set when maxUnavailable is non-zero"
        errors.append(fields.wrong(f"{path}.maxSurge", extra, why))
    elif not has_missing and not has_extra:
        why = "cannot be 0 when maxSurge is 0"
        errors.append(fields.required(f"{path}.maxUnavailable", why))
    return errors


def _generation(daemon_set: Object) -> int:
    annotations = (daemon_set.get("metadata") or {}).get("annotations") or {}
    try:
        return int(annotations.get(GENERATION, "0"))
    except ValueError:
        return 0


def _set_generation(daemon_set: Object, value: int) -> None:
    meta = daemon_set.setdefault("metadata", {})
    meta["annotations"] = {**(meta.get("annotations") or {}), GENERATION: str(value)}


def _prepare(daemon_set: Object) -> None:
    workloads.prepare(daemon_set)
    _set_generation(daemon_set, max(_generation(daemon_set), 1))


def _prepare_update(daemon_set: Object, old: Object) -> None:
    workloads.prepare_update(daemon_set, old)
    changed = not same(daemon_set["spec"]["template"], old["spec"]["template"])
    _set_generation(daemon_set, _generation(old) + changed)


def _warn(daemon_set: Object, old: Object | None) -> list[str]:
    if old is not None and _generation(daemon_set) == _generation(old):
        return []
    return workloads.template_warnings(daemon_set, old)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "DaemonSet"): Strategy(
        default=default_daemon_set,
        prepare_create=_prepare,
        prepare_update=_prepare_update,
        validate_create=validate_daemon_set,
        validate_update=validate_daemon_set_update,
        validate_status=validate_daemon_set_status,
        warnings=_warn,
    )
}
