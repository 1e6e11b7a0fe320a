"""Validates CustomResourceDefinitions as the API server does when one is created or updated.

Pure: `validate_crd` takes a definition with its defaults filled in and returns what is wrong. Parts
that all versions share are named under `spec.validation` and so on, as upstream names them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel.library import urls
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema import crd_names, crd_versions
from fleetqueue.apiserver.schema.conversions import validate_conversion

Object: TypeAlias = Mapping[str, Any]

APPROVAL = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def validate_crd(crd: Object, old: Object | None = None) -> list[FieldError]:
    """Everything but the rules of metadata that hold for all kinds."""
    spec, status = crd.get("spec") or {}, crd.get("status") or {}
    errors: list[FieldError] = []
    if old is None:
        errors += _name(crd, spec)
    errors += _spec(spec, old)
    if old is not None:
        errors += _immutable(spec, old)
    errors += crd_names.validate_names(status.get("acceptedNames") or {}, "status.acceptedNames")
    errors += _stored_versions(status.get("storedVersions") or [], spec.get("versions") or ())
    errors += _approval(crd, old)
    if spec.get("preserveUnknownFields"):
        errors += _preserves_unknown(old)
    return errors


def _name(crd: Object, spec: Object) -> Iterator[FieldError]:
    name = (crd.get("metadata") or {}).get("name") or ""
    plural = (spec.get("names") or {}).get("plural") or ""
    if name != f"{plural}.{spec.get('group') or ''}":
        yield fields.wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _spec(spec: Object, old: Object | None) -> Iterator[FieldError]:
    yield from _group(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        yield fields.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield fields.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    before = {} if old is None else old.get("spec") or {}
    yield from crd_versions.validate_versions(spec, before)
    given = spec.get("names") or {}
    for name in ("plural", "singular", "kind", "listKind"):
        if not given.get(name):
            yield fields.required(f"spec.names.{name}")
    yield from crd_names.validate_names(given, "spec.names")
    yield from crd_versions.validate_shared(spec, before)
    if spec.get("conversion") is not None:
        yield from validate_conversion(spec["conversion"], "spec.conversion")


def _group(group: str) -> Iterator[FieldError]:
    if not group:
        yield fields.required("spec.group")
    elif problems := names.dns1123_subdomain(group):
        yield fields.wrong("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield fields.wrong("spec.group", group, "should be a domain with at least one dot")


def _immutable(spec: Object, old: Object) -> Iterator[FieldError]:
    before = old.get("spec") or {}
    kept = [("group", spec, before)]
    now_names, then_names = spec.get("names") or {}, before.get("names") or {}
    if _is_established(old):
        kept = [("scope", spec, before), *kept]
        if now_names.get("kind") != then_names.get("kind"):
            yield fields.wrong("spec.names.kind", now_names.get("kind"), "field is immutable")
    for name, now, then in kept:
        if now.get(name) != then.get(name):
            yield fields.wrong(f"spec.{name}", now.get(name), "field is immutable")
    if now_names.get("plural") != then_names.get("plural"):
        yield fields.wrong("spec.names.plural", now_names.get("plural"), "field is immutable")


def _is_established(crd: Object) -> bool:
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (crd.get("status") or {}).get("conditions") or ()
    )


def _stored_versions(stored: list[str], versions: Sequence[Object]) -> Iterator[FieldError]:
    path = "status.storedVersions"
    if not stored:
        yield fields.wrong(path, None, "must have at least one stored version")
        return
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            why = f"must have the storage version {version.get('name')}"
            yield fields.wrong(path, stored, why)
    served = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in served:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                f"remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield fields.wrong(f"{path}[{index}]", name, why)


def _approval(crd: Object, old: Object | None) -> Iterator[FieldError]:
    """Groups of the Kubernetes community need a sign of approval."""
    group = (crd.get("spec") or {}).get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    state = _approval_state(crd)
    if state == "approved" or (old is not None and _approval_state(old) == state):
        return
    path = f"metadata.annotations[{APPROVAL}]"
    words = f'protected groups must have approval annotation "{APPROVAL}"'
    if state == "missing":
        yield fields.required(path, f"{words}, {_SEE}")
    else:
        why = f'{words} with either a URL or a reason starting with "unapproved", {_SEE}'
        yield fields.wrong(path, _annotation(crd), why)


def _approval_state(crd: Object) -> str:
    text = _annotation(crd)
    if not text:
        return "missing"
    if text.startswith("unapproved") or (urls.is_url(text) and urls.parse(text).host):
        return "approved"
    return "invalid"


def _annotation(crd: Object) -> str:
    annotations = (crd.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(APPROVAL) or "")


def _preserves_unknown(old: Object | None) -> Iterator[FieldError]:
    if old is not None and (old.get("spec") or {}).get("preserveUnknownFields"):
        return
    why = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"
    )
    yield fields.wrong("spec.preserveUnknownFields", True, why)
