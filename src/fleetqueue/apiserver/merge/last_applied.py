"""The annotation in which `kubectl apply` keeps what it applied, met by apply on the server."""

from typing import Any

from fleetqueue.apiserver.merge import field_sets, typed, typed_check, typed_compare
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.merge.field_sets import FieldSet
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.base import codec

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_BYTES_MAX = 256 * 1024

Object = dict[str, Any]


def not_its_own(
    conflicts: Conflicts, live: Object, shape: Shape, api_version: str
) -> Conflicts | None:
    """The conflicts about fields that kubectl did not set last; None if there are none."""
    allowed = _still_as_applied(live, shape, api_version)
    if allowed is None:
        return conflicts
    others = [(path, owner) for path, owner in conflicts.found if not field_sets.has(allowed, path)]
    return Conflicts(others) if others else None


def renew(obj: Object, applied: Object) -> Object:
    """The object with its annotation, if it has one, brought up to what is applied now."""
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return obj
    fresh = {**annotations, ANNOTATION: _text_of(applied)}
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in fresh.items())
    if size > _ANNOTATIONS_BYTES_MAX:
        del fresh[ANNOTATION]
    return {**obj, "metadata": {**metadata, "annotations": fresh}}


def _still_as_applied(live: Object, shape: Shape, api_version: str) -> FieldSet | None:
    """The fields that kubectl applied and that are still as it left them."""
    text = (live.get("metadata", {}).get("annotations") or {}).get(ANNOTATION)
    if not text:
        return None
    try:
        before = codec.decode(text)
    except codec.DecodeError:
        return None
    if not isinstance(before, dict) or before.get("apiVersion") != api_version:
        return None
    # Upstream gives up on either one that is not valid, such as a live list with a key twice.
    if typed_check.complaints(before, shape) or typed_check.complaints(live, shape):
        return None
    added, modified, removed = typed_compare.compare(before, live, shape)
    fields = typed.field_set(before, shape)
    for changed in (modified, added, removed):
        fields = field_sets.difference(fields, changed)
    return fields


def _text_of(applied: Object) -> str:
    metadata = dict(applied.get("metadata") or {})
    if isinstance(metadata.get("annotations"), dict):
        kept = {key: value for key, value in metadata["annotations"].items() if key != ANNOTATION}
        metadata["annotations"] = kept
    text = codec.encode(_sorted({**applied, "metadata": metadata})).decode()
    for mark, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(mark, escaped)
    return f"{text}\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
