"""StatefulSets, whose pods have names and volumes of their own, and their ControllerRevisions."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors, workloads
from fleetqueue.apiserver.builtin.checks import Errors, immutable, nonnegative, same, wrongs
from fleetqueue.apiserver.builtin.claim_specs import validate_claim_spec, warn_of_claim_spec
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.objectmeta import (
    is_dns_label,
    validate_builtin_meta,
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_annotations import validate_pod_annotations
from fleetqueue.apiserver.builtin.pod_defaults import default_template
from fleetqueue.apiserver.builtin.pod_specs import validate_template
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]
View = Mapping[str, Any]

_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_NEGATIVE_HISTORY = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
    "a value >= 0 is recommended"
)


def default_stateful_set(stateful_set: Object) -> None:
    spec = stateful_set.setdefault("spec", {})
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        if not retention.get(name):
            retention[name] = "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim(claim)


def validate_stateful_set(stateful_set: Object) -> Errors:
    errors = validate_finalizers_qualified(stateful_set["metadata"])
    return errors + _validate_spec(stateful_set["spec"], None)


def validate_stateful_set_update(stateful_set: Object, old: Object) -> Errors:
    spec, before = stateful_set["spec"], old["spec"]
    errors = validate_builtin_meta_update(stateful_set["metadata"], old["metadata"])
    errors += _validate_spec(spec, before)
    fixed, was = (
        {name: value for name, value in one.items() if name not in _CHANGEABLE}
        for one in (spec, before)
    )
    if not same(fixed, was):
        errors.append(fields.forbidden("spec", _FORBIDDEN))
    return errors


def validate_stateful_set_status(stateful_set: Object, old: Object) -> Errors:
    status, before = stateful_set.get("status") or {}, old.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    counts = ("replicas", *parts, "observedGeneration", "collisionCount")
    errors = workloads.validate_counts(status, *counts)
    errors += workloads.validate_parts(status, "replicas", *parts)
    errors += workloads.validate_parts(status, "readyReplicas", "availableReplicas")
    errors += validate_builtin_meta_update(stateful_set["metadata"], old["metadata"])
    return errors + workloads.validate_collisions(status, before)


def _default_claim(claim: Object) -> None:
    claim.setdefault("kind", "PersistentVolumeClaim")
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    status = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _validate_spec(spec: View, old: View | None) -> Errors:
    errors = _validate_management(spec.get("podManagementPolicy", ""))
    errors += _validate_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    errors += _validate_retention(spec)
    if old is None:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            path = f"spec.volumeClaimTemplates[{index}].spec"
            errors += validate_claim_spec(claim.get("spec") or {}, path)
    errors += nonnegative(spec.get("replicas"), "spec.replicas")
    errors += nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start")
    errors += nonnegative(start, "spec.ordinals.start")
    service = spec.get("serviceName")
    if service and old is None:
        errors += wrongs("spec.serviceName", service, names.dns1123_label(service))
    errors += workloads.validate_selector(spec.get("selector"), "statefulset")
    errors += _validate_pods(spec, old)
    return errors + workloads.validate_always_running(spec["template"], "StatefulSet")


def _validate_pods(spec: View, old: View | None) -> Errors:
    selector, template = spec.get("selector"), _with_claims(spec)
    if selector is not None and not selectors.is_understood(selector):
        return [fields.wrong("spec.selector", selectors.shown(selector), "")]
    before = None if old is None else _with_claims(old)
    was_valid = before is None or not validate_template(before, "", before)
    return workloads.validate_selected(
        selector, template, lambda found: _validate_template(found, before, was_valid)
    )


def _validate_template(template: View, before: View | None, was_valid: bool) -> Errors:
    path = "spec.template"
    errors = validate_template(template, path, before) if was_valid else []
    meta = template.get("metadata") or {}
    errors += selectors.validate_labels(meta.get("labels"), f"{path}.labels")
    annotations = meta.get("annotations") or {}
    errors += selectors.validate_annotations(annotations, f"{path}.annotations")
    return errors + validate_pod_annotations(
        annotations, template.get("spec") or {}, f"{path}.annotations"
    )


def _with_claims(spec: View) -> Object:
    """The template as its pods will be: volumes for the claims, names given by the set."""
    templates = spec.get("volumeClaimTemplates") or ()
    named = [(template.get("metadata") or {}).get("name", "") for template in templates]
    claims = list(dict.fromkeys(named))
    pod = {k: v for k, v in spec["template"]["spec"].items() if k not in ("hostname", "subdomain")}
    if claims:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        kept = [v for v in pod.get("volumes") or () if v.get("name", "") not in claims]
        pod["volumes"] = made + kept
    return {**spec["template"], "spec": pod}


def _validate_management(policy: str) -> Errors:
    path = "spec.podManagementPolicy"
    if not policy:
        return [fields.required(path)]
    if policy in ("OrderedReady", "Parallel"):
        return []
    return [fields.wrong(path, policy, "must be 'OrderedReady' or 'Parallel'")]


def _validate_strategy(strategy: View, path: str) -> Errors:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = show_internal("RollingUpdateStatefulSetStrategy", rolling)
        why = "only allowed for updateStrategy 'RollingUpdate'"
        return [fields.wrong(f"{path}.rollingUpdate", shown, why)]
    if kind == "RollingUpdate":
        return _validate_rolling(rolling or {}, f"{path}.rollingUpdate")
    shown = show_internal("StatefulSetUpdateStrategy", strategy)
    return [fields.wrong(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]


def _validate_rolling(rolling: View, path: str) -> Errors:
    errors = nonnegative(rolling.get("partition"), f"{path}.partition")
    missing, below = rolling.get("maxUnavailable"), f"{path}.maxUnavailable"
    if missing is None:
        return errors
    errors += workloads.validate_share(missing, below)
    if workloads.share_of(missing) == 0:
        errors.append(fields.wrong(below, missing, "cannot be 0"))
    return errors + workloads.validate_not_above_all(missing, below)


def _validate_retention(spec: View) -> Errors:
    policy = spec.get("persistentVolumeClaimRetentionPolicy")
    if policy is None:
        return []
    path = "spec.persistentVolumeClaimRetentionPolicy"
    return [
        fields.unsupported(f"{path}.{name}", policy.get(name, ""), ("Retain", "Delete"))
        for name in ("whenDeleted", "whenScaled")
        if policy.get(name) not in ("Retain", "Delete")
    ]


def _prepare(stateful_set: Object) -> None:
    workloads.prepare(stateful_set)
    _drop_disabled(stateful_set, None)


def _prepare_update(stateful_set: Object, old: Object) -> None:
    workloads.prepare_update(stateful_set, old)
    _drop_disabled(stateful_set, old)


def _drop_disabled(stateful_set: Object, old: Object | None) -> None:
    strategy = (old or {"spec": {}})["spec"].get("updateStrategy") or {}
    if (strategy.get("rollingUpdate") or {}).get("maxUnavailable") is None:
        rolling = (stateful_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        rolling.pop("maxUnavailable", None)


def _warn(stateful_set: Object, old: Object | None) -> list[str]:
    spec = stateful_set["spec"]
    warnings = workloads.template_warnings(stateful_set, old)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]"
        below = path if old is None else f"{path}.Spec"
        warnings += warn_of_claim_spec(claim.get("spec") or {}, below)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(_NEGATIVE_HISTORY)
    return warnings


def validate_revision(revision: Object) -> Errors:
    errors = validate_finalizers_qualified(revision["metadata"])
    errors += nonnegative(revision.get("revision"), "revision")
    data = revision.get("data")
    if data is None:
        errors.append(fields.required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(fields.required("data", "data must be a valid JSON object"))
    return errors


def validate_revision_update(revision: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(revision["metadata"], old["metadata"])
    errors += validate_builtin_meta(revision["metadata"])
    errors += nonnegative(revision.get("revision"), "revision")
    return errors + immutable(revision.get("data"), old.get("data"), "data")


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "StatefulSet"): Strategy(
        default=default_stateful_set,
        prepare_create=_prepare,
        prepare_update=_prepare_update,
        validate_create=validate_stateful_set,
        validate_update=validate_stateful_set_update,
        validate_status=validate_stateful_set_status,
        validate_name=is_dns_label,
        warnings=_warn,
    ),
    ("apps", "ControllerRevision"): Strategy(
        validate_create=validate_revision,
        validate_update=validate_revision_update,
        has_generation=False,
        has_status=False,
    ),
}
