"""Rules for what a persistent volume claim asks for, also inside pods and stateful sets."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs
from fleetqueue.apiserver.builtin.pod_resources import validate_amount
from fleetqueue.apiserver.builtin.selectors import (
    validate_annotations,
    validate_label_selector,
    validate_labels,
)

Object = Mapping[str, Any]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def validate_claim_spec(spec: Object, path: str) -> Errors:
    errors: Errors = []
    modes = spec.get("accessModes") or []
    if not modes:
        why = "at least 1 access mode is required"
        errors.append(fields.required(f"{path}.accessModes", why))
    errors += validate_label_selector(spec.get("selector"), f"{path}.selector")
    for mode in modes:
        errors += one_of(mode, ACCESS_MODES, f"{path}.accessModes")
    others = set(modes) & (set(ACCESS_MODES) - {"ReadWriteOncePod"})
    if "ReadWriteOncePod" in modes and others:
        why = "may not use ReadWriteOncePod with other access modes"
        errors.append(fields.forbidden(f"{path}.accessModes", why))
    errors += _validate_storage(spec.get("resources") or {}, f"{path}.resources[storage]")
    errors += _validate_class(spec, "storageClassName", path)
    errors += one_of(spec.get("volumeMode"), VOLUME_MODES, f"{path}.volumeMode")
    errors += _validate_sources(spec, path)
    return errors + _validate_class(spec, "volumeAttributesClassName", path)


def validate_claim_template(template: Object, path: str) -> Errors:
    meta = template.get("metadata") or {}
    errors = validate_annotations(meta.get("annotations"), f"{path}.metadata.annotations")
    errors += validate_labels(meta.get("labels"), f"{path}.metadata.labels")
    errors += [
        fields.forbidden(f"{path}.metadata.{name}", "cannot be set")
        for name, value in meta.items()
        if name not in ("annotations", "labels") and value
    ]
    return errors + validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def warn_of_claim_spec(spec: Object, path: str) -> list[str]:
    """Fractions of a byte are accepted, and mean nothing."""
    resources = spec.get("resources") or {}
    return [
        warning
        for kind in ("requests", "limits")
        for warning in warn_of_fraction(resources.get(kind), "storage", f"{path}.resources.{kind}")
    ]


def warn_of_fraction(listed: Mapping[str, str] | None, name: str, path: str) -> list[str]:
    text = (listed or {}).get(name)
    if text is None or quantity.parse(text).milli_value() % 1000 == 0:
        return []
    shown = quantity.parse(text)
    return [f'{path}[{name}]: fractional byte value "{shown}" is invalid, must be an integer']


def _validate_storage(resources: Object, path: str) -> Errors:
    text = (resources.get("requests") or {}).get("storage")
    if text is None:
        return [fields.required(path)]
    amount = quantity.parse(text)
    if amount.sign() <= 0:
        return [fields.wrong(path, str(amount), "must be greater than zero")]
    return validate_amount("storage", amount, path)


def _validate_class(spec: Object, name: str, path: str) -> Errors:
    value = spec.get(name)
    if not value:
        return []
    return wrongs(f"{path}.{name}", value, names.dns1123_subdomain(value))


def _validate_sources(spec: Object, path: str) -> Errors:
    errors: Errors = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, content in (("dataSource", source), ("dataSourceRef", reference)):
        if content is not None:
            errors += _validate_source(content, f"{path}.{name}")
    if source is None or reference is None:
        return errors
    if reference.get("namespace"):
        why = "may not be specified when dataSourceRef.namespace is specified"
        return [*errors, fields.wrong(path, {}, why)]
    if any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(fields.wrong(path, {}, "must match dataSourceRef"))
    return errors


def _validate_source(source: Object, path: str) -> Errors:
    errors = [fields.required(f"{path}.{key}") for key in ("name", "kind") if not source.get(key)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(fields.wrong(path, kind, why))
    if group:
        errors += wrongs(f"{path}.apiGroup", group, names.dns1123_subdomain(group))
    if namespace := source.get("namespace"):
        errors += wrongs(f"{path}.namespace", namespace, names.dns1123_label(namespace))
    return errors
