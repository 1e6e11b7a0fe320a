"""ReplicationControllers: the oldest way to keep a number of pods, selected by plain labels."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors, workloads
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative
from fleetqueue.apiserver.builtin.deployments import replicas_field, validate_replica_status
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta,
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_defaults import default_template
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]
View = Mapping[str, Any]


def default_controller(controller: Object) -> None:
    spec = controller.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    if spec.get("template") is None:
        return
    default_template(spec)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    meta = controller.setdefault("metadata", {})
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not meta.get("labels"):
        meta["labels"] = dict(labels)


def validate_controller(controller: Object, old: Object | None = None) -> Errors:
    meta = controller["metadata"]
    errors = validate_builtin_meta(meta) if old else validate_finalizers_qualified(meta)
    return errors + _validate_spec(controller["spec"], old and old["spec"])


def validate_controller_update(controller: Object, old: Object) -> Errors:
    errors = validate_controller(controller, old)
    errors += validate_builtin_meta_update(controller["metadata"], old["metadata"])
    return errors + _validate_spec(controller["spec"], old["spec"])


def _validate_spec(spec: View, old: View | None) -> Errors:
    errors = nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(fields.required("spec.selector"))
    errors += nonnegative(spec.get("replicas"), "spec.replicas")
    if template is None:
        return [*errors, fields.required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        shown = selectors.shown_labels(labels)
        errors.append(fields.wrong("spec.template.metadata.labels", shown, workloads.UNMATCHED))
    before = (old or {}).get("template")
    return errors + workloads.validate_replicated_template(
        template, before, "ReplicationController"
    )


def _template(controller: Object) -> Object:
    template: Object = (controller["spec"].get("template") or {}).get("spec") or {}
    return template


def _prepare(controller: Object) -> None:
    controller["status"] = {}
    drop_disabled(_template(controller))


def _prepare_update(controller: Object, old: Object) -> None:
    drop_disabled(_template(controller), _template(old))


def _warn(controller: Object, old: Object | None) -> list[str]:
    if controller["spec"].get("template") is None:
        return []
    return workloads.warnings_with_name(controller, old)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ReplicationController"): Strategy(
        orphans_by_default=True,
        default=default_controller,
        prepare_create=_prepare,
        prepare_update=_prepare_update,
        validate_create=validate_controller,
        validate_update=validate_controller_update,
        validate_status=validate_replica_status,
        warnings=_warn,
        fields={"status.replicas": replicas_field},
    )
}
