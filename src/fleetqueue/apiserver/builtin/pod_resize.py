"""In-place resize: which resources of a running pod may change, and which pods allow it."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, same
from fleetqueue.apiserver.builtin.objectmeta import validate_builtin_meta_update
from fleetqueue.apiserver.builtin.pod_annotations import MIRROR
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.builtin.pod_resources import is_sidecar, quality_of_service
from fleetqueue.apiserver.builtin.pod_updates import keep_rest, validate_whole_pod

Object = Mapping[str, Any]

_RESIZABLE = ("cpu", "memory")


def prepare_resize(pod: dict[str, Any], old: Object) -> None:
    """Of all that was sent, only the containers' resources and resize policies count."""
    new_spec, old_spec = pod["spec"], old["spec"]
    kinds = ("containers", "initContainers")
    if any(len(new_spec.get(k) or ()) != len(old_spec.get(k) or ()) for k in kinds):
        return
    merged = {kind: _merge(new_spec.get(kind) or [], old_spec.get(kind) or []) for kind in kinds}
    pod["spec"] = {**old_spec, **{kind: items for kind, items in merged.items() if items}}
    keep_rest(pod, old)
    drop_disabled(pod["spec"], old_spec)


def validate_resize(pod: Object, old: Object) -> Errors:
    if refusal := _refusal(pod["spec"], old):
        return [fields.forbidden("[]", refusal)]
    new_spec, old_spec = pod["spec"], old["spec"]
    errors = validate_builtin_meta_update(pod["metadata"], old["metadata"])
    errors += validate_whole_pod(pod, old)
    status = old.get("status") or {}
    quality = status.get("qosClass") or quality_of_service(old_spec)
    if quality != quality_of_service(new_spec):
        shown = (pod.get("status") or {}).get("qosClass", "")
        why = "Pod QOS Class may not change as a result of resizing"
        errors.append(fields.wrong("spec", shown, why))
    if not _node_supports(status):
        why = "Pod running on node without support for resize"
        errors.append(fields.forbidden("spec", why))
    if reordered := _validate_order(new_spec, old_spec):
        return errors + reordered
    errors += _validate_nothing_removed(new_spec, old_spec)
    errors += _validate_only_resources(new_spec, old_spec)
    return errors


def _merge(new: list[Object], old: list[Object]) -> list[Object]:
    if [c.get("name") for c in new] != [c.get("name") for c in old]:
        return new
    merged: list[Object] = []
    for after, before in zip(new, old, strict=True):
        kept = {k: v for k, v in before.items() if k not in ("resources", "resizePolicy")}
        given = {k: after[k] for k in ("resources", "resizePolicy") if k in after}
        merged.append({**kept, **given})
    return merged


def _refusal(new_spec: Object, old: Object) -> str:
    for spec in (old["spec"], new_spec):
        resources = spec.get("resources") or {}
        if resources.get("requests") or resources.get("limits"):
            return "pods with pod-level resources cannot be resized"
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return "static pods cannot be resized"
    if (old["spec"].get("os") or {}).get("name") == "windows":
        return "windows pods cannot be resized"
    return ""


def _node_supports(status: Object) -> bool:
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _validate_order(new: Object, old: Object) -> Errors:
    errors: Errors = []
    for kind in ("containers", "initContainers"):
        after, before = new.get(kind) or [], old.get(kind) or []
        if len(after) != len(before):
            why = f"{kind} may not be added or removed on resize"
            errors.append(fields.forbidden(f"spec.{kind}", why))
            continue
        errors += [
            fields.forbidden(
                f"spec.{kind}[{index}].name", f"{kind} may not be renamed or reordered on resize"
            )
            for index, container in enumerate(before)
            if after[index].get("name") != container.get("name")
        ]
    return errors


def _validate_nothing_removed(new: Object, old: Object) -> Errors:
    errors: Errors = []
    for kind in ("initContainers", "containers"):
        for index, before in enumerate(old.get(kind) or ()):
            if kind == "initContainers" and not is_sidecar(before):
                continue
            for part in ("requests", "limits"):
                held = _listed(before, part).keys()
                if held - _listed(new[kind][index], part).keys():
                    why = f"resource {part} cannot be removed"
                    path = f"spec.{kind}[{index}].resources.{part}"
                    errors.append(fields.forbidden(path, why))
    return errors


def _validate_only_resources(new: Object, old: Object) -> Errors:
    """Nothing but cpu and memory may differ."""
    errors: Errors = []
    for kind in ("containers", "initContainers"):
        for after, before in zip(new.get(kind) or (), old.get(kind) or (), strict=True):
            is_fixed = kind == "initContainers" and not is_sidecar(after)
            masked = after if is_fixed else _with_compute_from(after, before)
            if not same(masked, before):
                errors.append(fields.forbidden("spec", _message(kind, is_fixed)))
    return errors


def _message(kind: str, is_fixed: bool) -> str:
    if is_fixed:
        return "resources for non-sidecar init containers are immutable"
    if kind == "initContainers":
        return "only cpu and memory resources for sidecar containers are mutable"
    return "only cpu and memory resources are mutable"


def _with_compute_from(after: Object, before: Object) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    for part in ("limits", "requests"):
        held = _listed(before, part)
        if held:
            others = {k: v for k, v in _listed(after, part).items() if k not in _RESIZABLE}
            resources[part] = others | {k: v for k, v in held.items() if k in _RESIZABLE}
    return {**after, "resources": resources}


def _listed(container: Object, part: str) -> Mapping[str, str]:
    return (container.get("resources") or {}).get(part) or {}
