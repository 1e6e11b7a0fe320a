"""Nulls that a merge leaves behind, where kube-apiserver's decoding into Go types drops them."""

from typing import Any

from fleetqueue.apiserver.merge.shapes import Shape


def dropped(obj: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The object without null fields; of a custom resource only the metadata has a Go type."""
    if shape.has_go_type:
        return _fields(obj, shape)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": _fields(metadata, shape.fields["metadata"])}


def _fields(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    return {
        name: _below(child, shape.fields[name])
        for name, child in value.items()
        # In a map of strings a null becomes the empty string when it is decoded.
        if child is not None or shape.fields.takes_any
    }


def _below(value: Any, shape: Shape) -> Any:
    # What has no type of its own is kept as the client wrote it.
    if shape.scalar == "untyped":
        return value
    if isinstance(value, dict):
        return _fields(value, shape)
    if isinstance(value, list) and shape.item is not None:
        item = shape.item
        return [_below(child, item) for child in value]
    return value
