"""PersistentVolumeClaims: sources kept in step, and what may change after creation."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, immutable, same
from fleetqueue.apiserver.builtin.claim_specs import validate_claim_spec, warn_of_claim_spec
from fleetqueue.apiserver.builtin.internal_form import diff_internal
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.builtin.pod_resources import read, validate_amount
from fleetqueue.apiserver.strategy import Object, Strategy
from fleetqueue.base import codec

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
ATTRIBUTES = "spec.volumeAttributesClassName"
STORAGE = "spec.resources.requests.storage"


def default_claim(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    if not part(obj, "status").get("phase"):
        obj["status"] = {**part(obj, "status"), "phase": "Pending"}


def prepare_claim(obj: Object) -> None:
    obj["status"] = {"phase": "Pending"}
    _match_sources(obj["spec"])


def prepare_claim_update(obj: Object, old: Object) -> None:
    _match_sources(obj["spec"])


def validate_claim(obj: Object, old: Object | None) -> Errors:
    errors = validate_claim_spec(obj["spec"], "spec")
    return errors if old is None else errors + _validate_update(obj, old)


def validate_claim_status(obj: Object, old: Object) -> Errors:
    errors: Errors = []
    status = part(obj, "status")
    for name in ("capacity", "allocatedResources"):
        for resource, amount in read(status.get(name)).items():
            path = f"status.{name}[{resource}]"
            errors += validate_amount("storage", amount, path)
    return errors


def _match_sources(spec: Object) -> None:
    """`dataSource` and `dataSourceRef` say the same, unless the reference names a namespace."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and not _is_known_source(source):
        spec.pop("dataSource")
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = codec.copy(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        copied = {
            name: reference[name] for name in ("apiGroup", "kind", "name") if name in reference
        }
        if _is_known_source(copied):
            spec["dataSource"] = copied


def _is_known_source(source: Mapping[str, Any]) -> bool:
    """Other sources are understood by `dataSourceRef` alone."""
    group, of = source.get("apiGroup") or "", source.get("kind")
    return (group, of) in (
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    )


def _validate_update(obj: Object, old: Object) -> Errors:
    errors: Errors = []
    spec, before = obj["spec"], old["spec"]
    masked = _masked(obj, old)
    frozen = dict(before)
    if not before.get("volumeName") and "volumeName" in masked:
        frozen["volumeName"] = masked["volumeName"]
    if not same(masked, frozen):
        shown = diff_internal("PersistentVolumeClaimSpec", frozen, masked)
        errors.append(fields.forbidden("spec", f"{FIXED}\n{shown}"))
    errors += _validate_size(spec, before, part(old, "status"))
    errors += immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    return errors + _validate_attributes(spec, before, part(old, "status"))


def _masked(obj: Object, old: Object) -> Object:
    """The new spec without the changes that are allowed."""
    masked: Object = codec.copy(obj["spec"])
    before = old["spec"]
    if before.get("storageClassName") is None and masked.get("storageClassName") is not None:
        annotation = (old["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
        if annotation is None or annotation == masked["storageClassName"]:
            del masked["storageClassName"]
    if part(obj, "status").get("phase") != "Bound":
        return masked
    requests = part(masked, "resources").get("requests")
    if requests:
        requests["storage"] = part(before, "resources", "requests").get("storage")
    masked.pop("volumeAttributesClassName", None)
    if "volumeAttributesClassName" in before:
        masked["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    return masked


def _validate_size(spec: Object, before: Object, status: Mapping[str, Any]) -> Errors:
    new, old, actual = (
        quantity.parse(part(holder, *way).get("storage") or "0")
        for holder, way in (
            (spec, ("resources", "requests")),
            (before, ("resources", "requests")),
            (status, ("capacity",)),
        )
    )
    if new < old and new <= actual:
        return [fields.forbidden(STORAGE, "field can not be less than status.capacity")]
    return []


def _validate_attributes(spec: Object, before: Object, status: Mapping[str, Any]) -> Errors:
    name = spec.get("volumeAttributesClassName")
    if name == before.get("volumeAttributesClassName"):
        return []
    if status.get("currentVolumeAttributesClassName") is None or name:
        return []
    to = "nil" if name is None else "empty string"
    why = f"update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [fields.forbidden(ATTRIBUTES, why)]


def _warn(obj: Object, old: Object | None) -> list[str]:
    return warn_of_claim_spec(obj["spec"], "spec") if old is None else []


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "PersistentVolumeClaim"): kind(
        validate_claim,
        default=default_claim,
        prepare_create=prepare_claim,
        prepare_update=prepare_claim_update,
        validate_status=validate_claim_status,
        warnings=_warn,
        returns_deleted=True,
    ),
}
