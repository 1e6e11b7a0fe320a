"""The forms in which a manifest is compared, hashed and kept, as KubeFleet writes them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.base import codec

Json = dict[str, Any]

ANNOTATIONS_BYTES_MAX = 256 * 1024
_FOREIGN = ("kubernetes.io/", "k8s.io/", "kubernetes-fleet.io/")
_SERVER_FIELDS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_OURS = (labels.LAST_APPLIED_CONFIGURATION, labels.SPEC_HASH)
_TEMPLATES = (
    ("spec", "template", "metadata"),
    ("spec", "jobTemplate", "spec", "template", "metadata"),
)
_ESCAPES = (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e"), ("\u2028", "\\u2028"))


def go_json(value: Any) -> str:
    """As Go writes it: keys sorted, marks of HTML escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for mark, escaped in _ESCAPES:
        text = text.replace(mark, escaped)
    return text.replace("\u2029", "\\u2029")


def comparable(obj: Mapping[str, Any]) -> Json:
    """What counts when two forms of an object are compared; both have labels and annotations."""
    metadata = obj.get("metadata") or {}
    made = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    made["metadata"] = {
        name: value
        for name, value in metadata.items()
        if name not in (*_SERVER_FIELDS, "name", "namespace", "generateName", "finalizers")
    }
    for name in ("labels", "annotations"):
        found = metadata.get(name) or {}
        made["metadata"][name] = {k: v for k, v in found.items() if not _is_foreign(k)}
    for path in _TEMPLATES:
        made = _without_creation(made, path)
    return made


def spec_hash(manifest: Mapping[str, Any]) -> str:
    """Of the manifest as it is compared; the empty lists are those that Go leaves there."""
    made = comparable(manifest)
    made["metadata"] |= {"ownerReferences": [], "finalizers": [], "managedFields": []}
    return hashlib.sha256(go_json(made).encode()).hexdigest()


def digest(manifest: Mapping[str, Any]) -> str:
    """Of all that a manifest says."""
    return hashlib.sha256(codec.encode(manifest)).hexdigest()


def sanitized(manifest: Mapping[str, Any]) -> Json:
    """The manifest without what only a server sets, and without our own annotations."""
    metadata = manifest.get("metadata") or {}
    kept = {name: value for name, value in metadata.items() if name not in _SERVER_FIELDS}
    annotations = {k: v for k, v in (kept.pop("annotations", None) or {}).items() if k not in _OURS}
    if annotations:
        kept["annotations"] = annotations
    made = {name: value for name, value in manifest.items() if name != "status"}
    return {**made, "metadata": kept}


def annotated(obj: Mapping[str, Any], annotations: Mapping[str, str]) -> Json:
    metadata = obj.get("metadata") or {}
    merged = {**(metadata.get("annotations") or {}), **annotations}
    return {**obj, "metadata": {**metadata, "annotations": merged}}


def prepared(manifest: Mapping[str, Any], owner: Json) -> Json:
    """What is sent for an object of this AppliedWork: with the hash, and with its owner."""
    made = annotated(sanitized(manifest), {labels.SPEC_HASH: spec_hash(manifest)})
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}


def with_last_applied(obj: Json) -> tuple[Json, bool]:
    """(with the annotation that later merges start from, whether that fits); empty if not."""
    made = annotated(obj, {labels.LAST_APPLIED_CONFIGURATION: f"{go_json(obj)}\n"})
    size = sum(
        len(key.encode()) + len(str(value).encode())
        for key, value in made["metadata"]["annotations"].items()
    )
    if size <= ANNOTATIONS_BYTES_MAX:
        return made, True
    return annotated(obj, {labels.LAST_APPLIED_CONFIGURATION: ""}), False


def decoded(text: str) -> Json:
    """What an annotation keeps of an object; nothing where somebody spoilt it."""
    try:
        found = codec.decode(text) if text else {}
    except codec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def annotation(obj: Mapping[str, Any], name: str) -> str:
    return str(((obj.get("metadata") or {}).get("annotations") or {}).get(name) or "")


def generation(obj: Mapping[str, Any] | None) -> int:
    return int(((obj or {}).get("metadata") or {}).get("generation") or 0)


def _is_foreign(key: str) -> bool:
    return any(part in key for part in _FOREIGN)


def _without_creation(obj: Json, path: tuple[str, ...]) -> Json:
    """A copy along the path only: the object may be shared."""
    found = obj.get(path[0])
    if not isinstance(found, dict):
        return obj
    if len(path) == 1:
        if "creationTimestamp" not in found:
            return obj
        below = {name: value for name, value in found.items() if name != "creationTimestamp"}
    else:
        below = _without_creation(found, path[1:])
        if below is found:
            return obj
    return {**obj, path[0]: below}
