"""What may change in a pod after its creation, on each of the paths that change one."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import (
    INT32_MAX,
    Errors,
    range_message,
    same,
)
from fleetqueue.apiserver.builtin.internal_form import diff_internal
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta,
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_annotations import (
    DELETION_COST,
    MIRROR,
    is_deletion_cost,
    validate_annotation_changes,
    validate_pod_annotations,
)
from fleetqueue.apiserver.builtin.pod_containers import validate_image_padding
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.builtin.pod_scheduling import (
    validate_gates_only_removed,
    validate_node_affinity_grows,
    validate_node_selector_grows,
    validate_tolerations_only_added,
)
from fleetqueue.apiserver.builtin.pod_specs import STRICT, Leniency, validate_pod_spec

Object = Mapping[str, Any]

_CHANGEABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` "
        "(allow it to be set to 1 if it was previously negative)",
    )
)


def validate_whole_pod(pod: Object, old: Object | None = None) -> Errors:
    """The rules that hold for a pod at any time; on a create the server has checked its name."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    before = _annotations(old) if old else {}
    any_cost = not is_deletion_cost(before.get(DELETION_COST))
    leniency = Leniency.towards(old.get("spec") or {}) if old else STRICT
    errors = validate_builtin_meta(meta) if old else validate_finalizers_qualified(meta)
    errors += validate_pod_annotations(
        _annotations(pod), spec, "metadata.annotations", any_cost=any_cost
    )
    errors += validate_pod_spec(spec, "spec", meta=meta, leniency=leniency)
    if not spec.get("serviceAccountName"):
        errors += _validate_no_tokens(spec)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            errors += validate_image_padding(container, f"spec.{kind}[{index}]")
    return errors


def validate_pod_update(pod: Object, old: Object) -> Errors:
    new_spec, old_spec = pod.get("spec") or {}, old.get("spec") or {}
    errors = validate_builtin_meta_update(pod["metadata"], old["metadata"])
    errors += validate_whole_pod(pod, old)
    errors += _validate_annotations(pod, old)
    for kind in ("containers", "initContainers"):
        found, stop = _validate_images(new_spec.get(kind) or [], old_spec.get(kind) or [], kind)
        errors += found
        if stop:
            return errors
    found, stop = _validate_deadline(new_spec, old_spec)
    errors += found
    if stop:
        return errors
    new_tolerations, old_tolerations = (s.get("tolerations") or [] for s in (new_spec, old_spec))
    path = "spec.tolerations"
    errors += validate_tolerations_only_added(new_tolerations, old_tolerations, path)
    new_gates, old_gates = (s.get("schedulingGates") or [] for s in (new_spec, old_spec))
    errors += validate_gates_only_removed(new_gates, old_gates, "spec.schedulingGates")
    return errors + _validate_rest(new_spec, old_spec)


def prepare_ephemeral_containers(pod: dict[str, Any], old: Object) -> None:
    """Of all that was sent, only the ephemeral containers and plain metadata count."""
    containers = pod["spec"].get("ephemeralContainers")
    pod["spec"] = {**old["spec"], "ephemeralContainers": containers}
    if not containers:
        del pod["spec"]["ephemeralContainers"]
    keep_rest(pod, old)
    drop_disabled(pod["spec"], old["spec"])


def validate_ephemeral_containers_update(pod: Object, old: Object) -> Errors:
    if MIRROR in _annotations(old):
        return [fields.forbidden("[]", "static pods do not support ephemeral containers")]
    errors = validate_builtin_meta_update(pod["metadata"], old["metadata"])
    errors += validate_whole_pod(pod, old)
    errors += _validate_annotations(pod, old)
    path = "spec.ephemeralContainers"
    after = {c.get("name", ""): c for c in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in after:
            why = f'existing ephemeral containers "{name}" may not be removed\n'
            errors.append(fields.forbidden(path, why))
        elif not same(after[name], container):
            difference = diff_internal("EphemeralContainer", container, after[name])
            why = f'existing ephemeral containers "{name}" may not be changed\n{difference}'
            errors.append(fields.forbidden(path, why))
    return errors


def _validate_annotations(pod: Object, old: Object) -> Errors:
    path = "metadata.annotations"
    errors = validate_annotation_changes(_annotations(pod), _annotations(old), path)
    any_cost = not is_deletion_cost(_annotations(old).get(DELETION_COST))
    return errors + validate_pod_annotations(
        _annotations(pod), pod.get("spec") or {}, path, any_cost=any_cost
    )


def _annotations(pod: Object) -> Mapping[str, str]:
    return (pod.get("metadata") or {}).get("annotations") or {}


def _validate_no_tokens(spec: Object) -> Errors:
    why = "must not be specified when serviceAccountName is not set"
    return [
        fields.forbidden(f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken", why)
        for i, volume in enumerate(spec.get("volumes") or ())
        for j, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def _validate_images(
    new: Sequence[Object], old: Sequence[Object], kind: str
) -> tuple[Errors, bool]:
    if len(new) != len(old):
        why = "pod updates may not add or remove containers"
        return [fields.forbidden(f"spec.{kind}", why)], True
    errors: Errors = []
    for index, container in enumerate(new):
        if not container.get("image"):
            errors.append(fields.required(f"spec.{kind}[{index}].image"))
        errors += validate_image_padding(container, f"spec.{kind}[{index}]")
    return errors, False


def _validate_deadline(new: Object, old: Object) -> tuple[Errors, bool]:
    path = "spec.activeDeadlineSeconds"
    after, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if after is None:
        if before is None:
            return [], False
        why = "must not update from a positive integer to nil value"
        return [fields.wrong(path, None, why)], False
    if not 0 <= after <= INT32_MAX:
        return [fields.wrong(path, after, range_message(0, INT32_MAX))], True
    if before is not None and before < after:
        return [fields.wrong(path, after, "must be less than or equal to previous value")], True
    return [], False


def _validate_rest(new: Object, old: Object) -> Errors:
    if same(new, old):
        return []
    errors: Errors = []
    masked = _with_changeable_from(new, old)
    if old.get("schedulingGates"):
        errors += _validate_and_mask_placement(masked, old)
    if not same(masked, old):
        why = f"pod updates may not change fields other than {_CHANGEABLE}\n"
        why += diff_internal("PodSpec", old, masked)
        errors.append(fields.forbidden("spec", why))
    return errors


def _with_changeable_from(new: Object, old: Object) -> dict[str, Any]:
    masked = dict(new)
    for kind in ("containers", "initContainers"):
        if new.get(kind):
            pairs = zip(new[kind], old[kind], strict=True)
            masked[kind] = [{**after, "image": before.get("image", "")} for after, before in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _copy(masked, old, name)
    was_negative = (old.get("terminationGracePeriodSeconds") or 0) < 0
    if was_negative and new.get("terminationGracePeriodSeconds") == 1:
        _copy(masked, old, "terminationGracePeriodSeconds")
    return masked


def _validate_and_mask_placement(masked: dict[str, Any], old: Object) -> Errors:
    """A pod that is not yet scheduled may still be told where to go."""
    errors: Errors = []
    after, before = masked.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if after != before:
        errors += validate_node_selector_grows(
            masked.get("nodeSelector"), before, "spec.nodeSelector"
        )
        _copy(masked, old, "nodeSelector")
    new_affinity, old_affinity = masked.get("affinity"), old.get("affinity")
    new_nodes = (new_affinity or {}).get("nodeAffinity")
    old_nodes = (old_affinity or {}).get("nodeAffinity")
    if same(new_nodes, old_nodes):
        return errors
    errors += validate_node_affinity_grows(new_nodes, old_nodes, "spec.affinity.nodeAffinity")
    affinity = dict(new_affinity or {})
    affinity.pop("nodeAffinity", None)
    if old_nodes is not None:
        affinity["nodeAffinity"] = old_nodes
    if affinity or old_affinity is not None:
        masked["affinity"] = affinity
    else:
        masked.pop("affinity", None)
    return errors


def keep_rest(pod: dict[str, Any], old: Object) -> None:
    if "status" in old:
        pod["status"] = old["status"]
    meta = pod["metadata"]
    for name in _META_FROM_OLD:
        _copy(meta, old["metadata"], name)


def _copy(target: dict[str, Any], source: Object, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


# Subresources that write a part of the spec leave these as they are.
_META_FROM_OLD = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)
