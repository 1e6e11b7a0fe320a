"""Pods and pod templates: how they are completed, checked, selected and deleted."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import kubernetes, names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, same
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_annotations import validate_profiles_agree
from fleetqueue.apiserver.builtin.pod_defaults import default_pod, default_template
from fleetqueue.apiserver.builtin.pod_preparation import (
    drop_disabled,
    prepare_pod,
    prepare_pod_update,
)
from fleetqueue.apiserver.builtin.pod_resize import prepare_resize, validate_resize
from fleetqueue.apiserver.builtin.pod_specs import validate_template
from fleetqueue.apiserver.builtin.pod_status import (
    agree_on_addresses,
    prepare_pod_status,
    validate_pod_status,
)
from fleetqueue.apiserver.builtin.pod_updates import (
    prepare_ephemeral_containers,
    validate_ephemeral_containers_update,
    validate_pod_update,
    validate_whole_pod,
)
from fleetqueue.apiserver.builtin.pod_warnings import (
    warn_of_app_armor_annotations,
    warn_of_pod,
    warn_of_template,
)
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.strategy import Aspect, Strategy

Object = dict[str, Any]


def validate_pod(pod: Object) -> Errors:
    spec = pod["spec"]
    errors = validate_whole_pod(pod)
    if spec.get("ephemeralContainers"):
        errors.append(fields.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(fields.forbidden("spec.nodeName", why))
    annotations = pod["metadata"].get("annotations") or {}
    return errors + validate_profiles_agree(annotations, spec, "spec")


def grace_seconds(pod: Object, asked: int | None) -> int:
    """How long a deleted pod keeps running; one that runs nowhere is gone at once."""
    spec = pod.get("spec") or {}
    own = spec.get("terminationGracePeriodSeconds") or 0
    seconds: int = own if asked is None else asked
    phase = (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    return 1 if seconds < 0 else seconds


def _default(pod: Object) -> None:
    default_pod(pod)
    if pod.get("status"):
        agree_on_addresses(pod["status"])


def _warn(pod: Object, old: Object | None) -> list[str]:
    if old is not None:
        return []
    warnings = warn_of_app_armor_annotations(pod)
    if problems := names.dns1123_label(pod["metadata"].get("name", "")):
        warnings.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(problems)}]"
        )
    return warnings + warn_of_pod(pod)


def _spec(pod: Object) -> Mapping[str, Any]:
    return pod.get("spec") or {}


def _status(pod: Object) -> Mapping[str, Any]:
    return pod.get("status") or {}


def _first_address(pod: Object) -> str:
    listed = _status(pod).get("podIPs") or [{}]
    return str(listed[0].get("ip", ""))


def _prepare_template(template: Object) -> None:
    drop_disabled(template["template"]["spec"])


def _prepare_template_update(template: Object, old: Object) -> None:
    drop_disabled(template["template"]["spec"], old["template"]["spec"])


def _validate_template(template: Object) -> Errors:
    errors = validate_finalizers_qualified(template["metadata"])
    return errors + validate_template(template["template"], "template")


def _validate_template_update(template: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(template["metadata"], old["metadata"])
    return errors + validate_template(template["template"], "template", old["template"])


def _warn_of_template(template: Object, old: Object | None) -> list[str]:
    if old is not None and same(template["template"], old["template"]):
        return []
    return warn_of_template(template["template"], "template")


def _part(
    name: str,
    prepare: Callable[[Object, Object], None],
    validate: Callable[[Object, Object], Errors],
    *written: str,
) -> Aspect:
    """A subresource that writes these fields of the spec and nothing else."""

    def restrict(pod: Object, old: Object) -> Object:
        prepare(pod, old)
        return pod

    fixed = [field for field in _spec_fields() if field not in written]
    reset = field_sets.of(("metadata",), ("status",), *(("spec", field) for field in fixed))
    return Aspect(name, restrict, validate, reset)


def _spec_fields() -> list[str]:
    return list(kubernetes.definitions()["io.k8s.api.core.v1.PodSpec"]["properties"])


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "Pod"): Strategy(
        default=_default,
        prepare_create=prepare_pod,
        prepare_update=prepare_pod_update,
        validate_create=validate_pod,
        validate_update=validate_pod_update,
        prepare_status=prepare_pod_status,
        validate_status=validate_pod_status,
        status_reset=field_sets.of(
            ("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")
        ),
        warnings=_warn,
        fields={
            "spec.nodeName": lambda pod: _spec(pod).get("nodeName", ""),
            "spec.restartPolicy": lambda pod: _spec(pod).get("restartPolicy", ""),
            "spec.schedulerName": lambda pod: _spec(pod).get("schedulerName", ""),
            "spec.serviceAccountName": lambda pod: _spec(pod).get("serviceAccountName", ""),
            "spec.hostNetwork": lambda pod: "true" if _spec(pod).get("hostNetwork") else "false",
            "status.phase": lambda pod: _status(pod).get("phase", ""),
            "status.podIP": _first_address,
            "status.nominatedNodeName": lambda pod: _status(pod).get("nominatedNodeName", ""),
        },
        graceful_seconds=grace_seconds,
        returns_deleted=True,
        aspects={
            "ephemeralcontainers": _part(
                "ephemeralcontainers",
                prepare_ephemeral_containers,
                validate_ephemeral_containers_update,
                "ephemeralContainers",
            ),
            "resize": _part(
                "resize", prepare_resize, validate_resize, "containers", "initContainers"
            ),
        },
    ),
    ("", "PodTemplate"): Strategy(
        default=default_template,
        prepare_create=_prepare_template,
        prepare_update=_prepare_template_update,
        validate_create=_validate_template,
        validate_update=_validate_template_update,
        warnings=_warn_of_template,
        has_status=False,
        returns_deleted=True,
    ),
}
