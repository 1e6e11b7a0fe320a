"""The rules for `metadata` that hold for every kind, on create and on update."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, immutable, nonnegative, wrongs
from fleetqueue.apiserver.builtin.selectors import validate_annotations, validate_labels

NameCheck = Callable[[str, bool], list[str]]

MANAGER_LENGTH_MAX = 128
SUBRESOURCE_LENGTH_MAX = 256

_OWN_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_UNCHANGING = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)
_PREFIX_FREE = frozenset(
    (
        *("CSIDriver", "CronJob", "DaemonSet", "Deployment", "Event", "HorizontalPodAutoscaler"),
        *("Lease", "PodDisruptionBudget", "PodTemplate", "PriorityClass", "ReplicaSet"),
        *("ResourceQuota", "ResourceSlice", "Service", "ServiceCIDR"),
    )
)
"""Kinds whose updates kube-apiserver does not check as thoroughly as their creation."""


def validate_object_meta(
    meta: Mapping[str, Any],
    namespaced: bool,
    name_check: NameCheck | None = None,
    path: str = "metadata",
) -> Errors:
    check = name_check or is_dns_subdomain
    errors = _validate_names(meta, check, path)
    errors += _validate_namespace(meta.get("namespace", ""), namespaced, f"{path}.namespace")
    errors += nonnegative(meta.get("generation"), f"{path}.generation")
    errors += _validate_common(meta, path, validate_finalizers)
    return errors


def validate_prefix_update(
    kind: str, meta: Mapping[str, Any], name_check: NameCheck | None = None
) -> Errors:
    """Of all that names a built-in object, an update can change the prefix alone."""
    prefix = meta.get("generateName")
    if not prefix or kind in _PREFIX_FREE:
        return []
    return wrongs("metadata.generateName", prefix, (name_check or is_dns_subdomain)(prefix, True))


def validate_object_meta_update(
    new: Mapping[str, Any], old: Mapping[str, Any], path: str = "metadata"
) -> Errors:
    errors: Errors = []
    if old.get("deletionTimestamp"):
        errors += _validate_no_new_finalizers(new, old, f"{path}.finalizers")
    if not new.get("resourceVersion"):
        why = "must be specified for an update"
        errors.append(fields.wrong(f"{path}.resourceVersion", "", why))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(fields.wrong(f"{path}.generation", generation, "must not be decremented"))
    for name, absent in _UNCHANGING:
        value, before = new.get(name, absent), old.get(name, absent)
        if value != before:
            errors += immutable(value, before, f"{path}.{name}")
    return errors + _validate_common(new, path)


def validate_builtin_meta(meta: Mapping[str, Any], name_check: NameCheck | None = None) -> Errors:
    """For namespaced built-in kinds, whose finalizers follow a stricter rule."""
    errors = validate_object_meta(meta, True, name_check)
    return errors + validate_finalizers_qualified(meta)


def validate_builtin_meta_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> Errors:
    """What a built-in kind adds to the checks that every update makes of metadata."""
    return validate_finalizers_qualified(new)


def validate_finalizers_qualified(meta: Mapping[str, Any]) -> Errors:
    """Finalizers of built-in kinds need a domain, unless they are Kubernetes' own."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        fields.wrong(f"metadata.finalizers[{index}]", finalizer, why)
        for index, finalizer in enumerate(meta.get("finalizers") or ())
        if "/" not in finalizer and finalizer not in _OWN_FINALIZERS
    ]


def is_dns_subdomain(name: str, is_prefix: bool) -> list[str]:
    return names.dns1123_subdomain(_without_dash(name) if is_prefix else name)


def is_dns_label(name: str, is_prefix: bool) -> list[str]:
    return names.dns1123_label(_without_dash(name) if is_prefix else name)


def validate_owner_references(references: Sequence[Mapping[str, Any]], path: str) -> Errors:
    errors: Errors = []
    first = ""
    for reference in references:
        errors += _validate_owner_reference(reference, path)
        if not reference.get("controller"):
            continue
        current = f"{reference.get('kind', '')}/{reference.get('name', '')}"
        if first:
            why = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {first} and {current}'
            )
            errors.append(fields.wrong(path, [_shown_owner(one) for one in references], why))
        first = first or current
    return errors


def validate_finalizers(finalizers: Sequence[str], path: str) -> Errors:
    errors: Errors = []
    for finalizer in finalizers:
        errors += wrongs(path, finalizer, names.qualified_name(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(fields.wrong(path, finalizers, why))
    return errors


def validate_managed_fields(entries: Sequence[Mapping[str, Any]], path: str) -> Errors:
    errors: Errors = []
    for index, entry in enumerate(entries):
        below = f"{path}[{index}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            why = "must be `Apply` or `Update`"
            errors.append(fields.wrong(f"{below}.operation", operation, why))
        kind = entry.get("fieldsType", "")
        if kind and kind != "FieldsV1":
            errors.append(fields.wrong(f"{below}.fieldsType", kind, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager", ""), f"{below}.manager")
        if len(entry.get("subresource", "")) > SUBRESOURCE_LENGTH_MAX:
            errors.append(fields.too_long(f"{below}.subresource", SUBRESOURCE_LENGTH_MAX))
    return errors


def validate_field_manager(manager: str, path: str) -> Errors:
    errors: Errors = []
    if manager.isprintable() and manager.isascii() and len(manager) <= MANAGER_LENGTH_MAX:
        return errors
    if len(manager.encode()) > MANAGER_LENGTH_MAX:
        errors.append(fields.too_long(path, MANAGER_LENGTH_MAX))
    position = 0
    for letter in manager:
        if not letter.isprintable():
            why = f"invalid character U+{ord(letter):04X} (at position {position})"
            errors.append(fields.wrong(path, manager, why))
        position += len(letter.encode())
    return errors


def _validate_names(meta: Mapping[str, Any], check: NameCheck, path: str) -> Errors:
    errors: Errors = []
    prefix, name = meta.get("generateName", ""), meta.get("name", "")
    if prefix:
        errors += wrongs(f"{path}.generateName", prefix, check(prefix, True))
    if not name:
        errors.append(fields.required(f"{path}.name", "name or generateName is required"))
    else:
        errors += wrongs(f"{path}.name", name, check(name, False))
    return errors


def _validate_namespace(namespace: str, namespaced: bool, path: str) -> Errors:
    if not namespaced:
        return [fields.forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [fields.required(path)]
    return wrongs(path, namespace, names.dns1123_label(namespace))


def _validate_common(
    meta: Mapping[str, Any],
    path: str,
    check_finalizers: Callable[[Sequence[str], str], Errors] | None = None,
) -> Errors:
    errors: Errors = []
    if labels := meta.get("labels"):
        errors += validate_labels(labels, f"{path}.labels")
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, f"{path}.annotations")
    if owners := meta.get("ownerReferences"):
        errors += validate_owner_references(owners, f"{path}.ownerReferences")
    if check_finalizers and (finalizers := meta.get("finalizers")):
        errors += check_finalizers(finalizers, f"{path}.finalizers")
    if entries := meta.get("managedFields"):
        errors += validate_managed_fields(entries, f"{path}.managedFields")
    return errors


def _validate_owner_reference(reference: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    if not api_version.rpartition("/")[2] or api_version.count("/") > 1:
        errors.append(fields.wrong(f"{path}.apiVersion", api_version, "version must not be empty"))
    for name in ("kind", "name", "uid"):
        if not reference.get(name):
            errors.append(fields.wrong(f"{path}.{name}", "", "must not be empty"))
    if (api_version, kind) == ("v1", "Event"):
        why = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(fields.wrong(path, _shown_owner(reference), why))
    return errors


def _shown_owner(reference: Mapping[str, Any]) -> dict[str, Any]:
    """In the order in which messages print it."""
    shown = {name: reference.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    flags = ("controller", "blockOwnerDeletion")
    return shown | {name: reference[name] for name in flags if name in reference}


def _validate_no_new_finalizers(
    new: Mapping[str, Any], old: Mapping[str, Any], path: str
) -> Errors:
    extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if not extra:
        return []
    listed = ", ".join(fields.show(name) for name in extra)
    why = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{listed}}}"
    )
    return [fields.forbidden(path, why)]


def _without_dash(prefix: str) -> str:
    """A generated name goes on after the prefix, so a dash at its end is fine."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
