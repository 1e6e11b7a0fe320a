"""Deployments, and the ReplicaSets and ReplicationControllers that keep a number of pods."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import workloads
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, same
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_defaults import default_template
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]
View = Mapping[str, Any]


def default_deployment(deployment: Object) -> None:
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        for name in ("maxUnavailable", "maxSurge"):
            workloads.default_share(strategy["rollingUpdate"], name, "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec)


def validate_deployment(deployment: Object) -> Errors:
    errors = validate_finalizers_qualified(deployment["metadata"])
    return errors + _validate_deployment_spec(deployment["spec"], None)


def validate_deployment_update(deployment: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(deployment["metadata"], old["metadata"])
    errors += _validate_deployment_spec(deployment["spec"], old["spec"])
    return errors + workloads.validate_selector_kept(deployment["spec"], old["spec"])


def validate_deployment_status(deployment: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(deployment["metadata"], old["metadata"])
    status, before = deployment.get("status") or {}, old.get("status") or {}
    errors += workloads.validate_counts(
        status,
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "collisionCount",
    )
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors += workloads.validate_parts(status, "replicas", *parts)
    errors += workloads.validate_parts(
        status, "readyReplicas", "availableReplicas", said="readyReplicas"
    )
    return errors + workloads.validate_collisions(status, before)


def _validate_deployment_spec(spec: View, old: View | None) -> Errors:
    errors = nonnegative(spec.get("replicas"), "spec.replicas")
    errors += workloads.validate_selector(spec.get("selector"), "deployment")
    errors += _validate_pods(spec, old)
    errors += _validate_strategy(spec.get("strategy") or {}, "spec.strategy")
    errors += nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    errors += nonnegative(deadline, "spec.progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        why = "must be greater than minReadySeconds"
        errors.append(fields.wrong("spec.progressDeadlineSeconds", deadline, why))
    return errors


def _validate_pods(spec: View, old: View | None) -> Errors:
    before = None if old is None else old["template"]
    return workloads.validate_selected(
        spec.get("selector"),
        spec["template"],
        lambda template: workloads.validate_replicated_template(template, before, "ReplicaSet"),
    )


def _validate_strategy(strategy: View, path: str) -> Errors:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [fields.forbidden(f"{path}.rollingUpdate", why)]
    if kind == "RollingUpdate":
        return _validate_rolling(rolling or {}, f"{path}.rollingUpdate")
    shown = show_internal("DeploymentStrategy", strategy)
    return [fields.unsupported(path, shown, ("Recreate", "RollingUpdate"))]


def _validate_rolling(rolling: View, path: str) -> Errors:
    missing, extra = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = workloads.validate_share(missing, f"{path}.maxUnavailable")
    errors += workloads.validate_share(extra, f"{path}.maxSurge")
    if workloads.share_of(missing) == 0 and workloads.share_of(extra) == 0:
        why = "may not be 0 when `maxSurge` is 0"
        errors.append(fields.wrong(f"{path}.maxUnavailable", missing, why))
    return errors + workloads.validate_not_above_all(missing, f"{path}.maxUnavailable")


def _prepare_deployment_update(deployment: Object, old: Object) -> None:
    workloads.prepare_update(deployment, old)
    # A rollout is noted in annotations, so a Deployment counts their changes too.
    meta, before = deployment["metadata"], old["metadata"]
    if not same(meta.get("annotations") or {}, before.get("annotations") or {}):
        meta["generation"] = (before.get("generation") or 0) + 1


def _prepare_deployment_status(deployment: Object, old: Object) -> None:
    labels = old["metadata"].get("labels")
    deployment["metadata"].pop("labels", None)
    if labels:
        deployment["metadata"]["labels"] = labels
    _drop_terminating(deployment, old)


def _warn_of_deployment(deployment: Object, old: Object | None) -> list[str]:
    if old is None:
        return workloads.warnings_with_name(deployment, None)
    annotations, before = (one["metadata"].get("annotations") or {} for one in (deployment, old))
    if same(deployment["spec"], old["spec"]) and annotations == before:
        return []
    return workloads.template_warnings(deployment, None)


def _drop_terminating(obj: Object, old: Object) -> None:
    if (old.get("status") or {}).get("terminatingReplicas") is None:
        (obj.get("status") or {}).pop("terminatingReplicas", None)


def default_replica_set(replica_set: Object) -> None:
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec)


def validate_replica_set(replica_set: Object) -> Errors:
    errors = validate_finalizers_qualified(replica_set["metadata"])
    return errors + _validate_replica_set_spec(replica_set["spec"], None)


def validate_replica_set_update(replica_set: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(replica_set["metadata"], old["metadata"])
    errors += _validate_replica_set_spec(replica_set["spec"], old["spec"])
    return errors + workloads.validate_selector_kept(replica_set["spec"], old["spec"])


def validate_replica_status(obj: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(obj["metadata"], old["metadata"])
    status = obj.get("status") or {}
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    errors += workloads.validate_counts(status, "replicas", *parts, "observedGeneration")
    errors += workloads.validate_parts(status, "replicas", *parts)
    return errors + workloads.validate_parts(
        status, "readyReplicas", "availableReplicas", said="readyReplicas"
    )


def _validate_replica_set_spec(spec: View, old: View | None) -> Errors:
    errors = nonnegative(spec.get("replicas"), "spec.replicas")
    errors += nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    # Upstream calls it a deployment here too.
    errors += workloads.validate_selector(spec.get("selector"), "deployment")
    return errors + _validate_pods(spec, old)


def replicas_field(obj: Object) -> str:
    return str((obj.get("status") or {}).get("replicas") or 0)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "Deployment"): Strategy(
        default=default_deployment,
        prepare_create=workloads.prepare,
        prepare_update=_prepare_deployment_update,
        validate_create=validate_deployment,
        validate_update=validate_deployment_update,
        prepare_status=_prepare_deployment_status,
        validate_status=validate_deployment_status,
        warnings=_warn_of_deployment,
        status_reset=field_sets.of(("spec",), ("metadata", "labels")),
    ),
    ("apps", "ReplicaSet"): Strategy(
        default=default_replica_set,
        prepare_create=workloads.prepare,
        prepare_update=workloads.prepare_update,
        validate_create=validate_replica_set,
        validate_update=validate_replica_set_update,
        prepare_status=_drop_terminating,
        validate_status=validate_replica_status,
        warnings=workloads.warnings_with_name,
    ),
}
