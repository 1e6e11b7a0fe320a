"""Objects in the form that kube-apiserver has inside itself, which some of its messages print.

There every field is written, in Go's order and spelling. `scripts/record-internal-types` writes the
table of fields.
"""

import difflib
import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from fleetqueue.apiserver.builtin import selectors

Object = Mapping[str, Any]

_TABLE = Path(__file__).with_name("internal_types.json.gz")
_ZERO: dict[str, Any] = {"string": "", "bool": False, "resource.Quantity": "0"}
_ABOVE = "../"


class _Field(msgspec.Struct, array_like=True, frozen=True):
    name: str
    """Empty where the fields of another type are written as if they were its own."""
    wire: str
    type: str


def show_internal(kind: str, value: Object | None) -> Any:
    """The object as it is inside; a bad value for a field error."""
    return None if value is None else _struct(kind, value, {})


def diff_internal(kind: str, old: Object, new: Object) -> str:
    """What changed between two objects, as unified difference of their inner forms."""
    before, after = (
        json.dumps(_struct(kind, value, {}), indent=1, ensure_ascii=False).splitlines(keepends=True)
        for value in (old, new)
    )
    lines = list(difflib.unified_diff(_ended(before), _ended(after)))
    return "".join(lines[2:])


def _struct(kind: str, value: Object, above: Object) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for field in _types()[kind]:
        if not field.name:
            shown |= _embedded(field, value, above)
        elif field.wire.startswith(_ABOVE):
            shown[field.name] = _value(field.type, above.get(field.wire.removeprefix(_ABOVE)), {})
        else:
            shown[field.name] = _value(field.type, value.get(field.wire), value)
    return shown


def _embedded(field: _Field, value: Object, above: Object) -> dict[str, Any]:
    if field.type == "metav1.ObjectMeta":
        return _metadata(value.get(field.wire) or {})
    return _struct(field.type, value, above)


def _metadata(meta: Object) -> dict[str, Any]:
    """Metadata is printed as clients know it, with its maps in order."""
    return {
        name: selectors.shown_labels(value) if name in ("labels", "annotations") else value
        for name, value in meta.items()
        if value
    }


def _value(kind: str, value: Any, owner: Object) -> Any:
    if kind.startswith("*"):
        return None if value is None else _value(kind[1:], value, owner)
    if kind.startswith("[]"):
        return None if value is None else [_value(kind[2:], item, owner) for item in value]
    if kind == "metav1.LabelSelector":
        return selectors.shown(value)
    if kind in _types():
        return _struct(kind, value or {}, owner)
    if kind.startswith("map[") or kind == "ResourceList":
        return dict(sorted(value.items())) if value else None
    if value is None:
        return _ZERO.get(kind, 0)
    return value


def _ended(lines: list[str]) -> list[str]:
    """Upstream ends the last line too, and the library then counts alike."""
    return [*lines[:-1], f"{lines[-1]}\n"]


@cache
def _types() -> dict[str, tuple[_Field, ...]]:
    data = gzip.decompress(_TABLE.read_bytes())
    return msgspec.json.decode(data, type=dict[str, tuple[_Field, ...]])
