"""JSON patch (RFC 6902) and merge patch (RFC 7386) as kube-apiserver applies them.

The input is never changed; the result shares with it, and with the patch, whatever stayed the same.
"""

import re
from collections.abc import Callable
from typing import Any

from fleetqueue.base import codec
from fleetqueue.errors import InvalidInput

OPERATIONS_MAX = 10_000
COPIED_BYTES_MAX = 3 * 1024 * 1024


class PatchError(InvalidInput):
    """The words are those of the library that kube-apiserver uses."""


class MalformedPatch(PatchError):
    """It is no patch at all: a bad request."""


class PatchTooLarge(PatchError):
    """More operations than the server is willing to do."""


class PatchFailed(PatchError):
    """A fine patch that does not fit this document."""


def apply_json_patch(document: Any, patch: Any) -> Any:
    operations = _checked_operations(patch)
    work = _Work(document)
    for operation in operations:
        kind = operation.get("op") if operation else None
        apply = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if apply is None:
            raise PatchFailed(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        apply(work, operation)
    return work.root


def apply_merge_patch(document: Any, patch: Any) -> Any:
    if isinstance(patch, list):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        raise MalformedPatch("Invalid JSON Patch")
    return _merge(document, patch) if isinstance(document, dict) else _without_nulls(patch)


def create_merge_patch(old: Any, new: Any) -> Any:
    """The smallest merge patch that turns one object into the other."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif not _same(old[key], value):
            patch[key] = create_merge_patch(old[key], value)
    return patch


def _merge(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for key, value in patch.items():
        current = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif not isinstance(current, dict):
            merged[key] = _without_nulls(value)
        elif isinstance(value, dict):
            merged[key] = _merge(current, value)
        else:
            # A list that replaces an object keeps its nulls upstream.
            merged[key] = value
    return merged


def _without_nulls(value: Any) -> Any:
    """Without null members of objects, at any depth; null items of lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(child) for child in value] if isinstance(value, list) else value


def _checked_operations(patch: Any) -> list[dict[str, Any]]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise MalformedPatch(_cannot_decode(patch, "jsonpatch.Patch"))
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise MalformedPatch(_cannot_decode(operation, "jsonpatch.Operation"))
    if len(patch) > OPERATIONS_MAX:
        limit = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}"
        raise PatchTooLarge(f"{limit}, got {len(patch)}")
    return patch


def _cannot_decode(value: Any, target: str) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    return (
        f"json: cannot unmarshal {kinds.get(type(value), 'number')} into Go value of type {target}"
    )


class _Missing(Exception):
    """A path does not lead to a container."""


class _Work:
    """The document while it is patched; a container is copied before its first change."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0
        self._own: dict[int, Any] = {}

    def container(self, pointer: str) -> tuple[Any, str]:
        """The object or list that holds the last part of the pointer, for reading."""
        parts = pointer.split("/")
        if len(parts) < 2:
            raise _Missing
        value = self.root
        for part in parts[1:-1]:
            value = _child(value, _decode_part(part))
        if not isinstance(value, dict | list):
            raise _Missing
        return value, _decode_part(parts[-1])

    def writable(self, pointer: str) -> Any:
        """The same container, made this patch's own together with all above it."""
        parts = [_decode_part(part) for part in pointer.split("/")[1:-1]]
        value = self.root = self._owned(self.root)
        for part in parts:
            key = part if isinstance(value, dict) else _index(part, len(value))
            value[key] = self._owned(value[key])
            value = value[key]
        return value

    def _owned(self, value: Any) -> Any:
        if id(value) in self._own:
            return value
        fresh = value.copy()
        self._own[id(fresh)] = fresh
        return fresh


def _child(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        child = value.get(part)
    elif isinstance(value, list):
        try:
            child = value[_index(part, len(value))]
        except PatchFailed:
            raise _Missing from None
    else:
        raise _Missing
    if child is None:
        raise _Missing
    return child


def _decode_part(part: str) -> str:
    if "~" not in part:
        return part
    # One pass from the left, so that `~01` is `~1` and not `/`.
    return re.sub("~[01]", lambda match: "/" if match.group() == "~1" else "~", part)


def _integer(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise PatchFailed(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if len(digits.lstrip("0")) > 18:
        raise PatchFailed(f'strconv.Atoi: parsing "{text}": value out of range')
    return int(text)


def _index(text: str, size: int) -> int:
    """Negative indexes count from the end."""
    index = _integer(text)
    if not -size <= index < size:
        raise PatchFailed(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _pointer(operation: dict[str, Any], key: str, lead: str, only_missing: bool = False) -> str:
    value = operation.get(key)
    if isinstance(value, str):
        return value
    if only_missing:
        raise PatchFailed(f"{lead}: missing value")
    if value is None:
        comma = "" if key == "path" else ","
        raise PatchFailed(f"{lead}: operation{comma} missing {key} field: missing value")
    raise PatchFailed(f"{lead}: {_cannot_decode(value, 'string')}")


def _find(work: _Work, pointer: str, complaint: str) -> tuple[Any, str]:
    try:
        return work.container(pointer)
    except _Missing:
        raise PatchFailed(f"{complaint}: missing value") from None


def _wrapped(lead: str, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except PatchFailed as error:
        raise PatchFailed(f"{lead}: {error}") from None


def _read(container: Any, key: str) -> Any:
    """A missing member of an object reads as null; a missing item of a list is an error."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        lead = f"value was not a proper array index: '{key}'"
        _wrapped(lead, lambda: _integer(key))
        container.insert(_index(key, len(container) + 1), value)


def _delete(container: Any, key: str) -> None:
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise PatchFailed(f"Unable to remove nonexistent key: {key}: missing value")


def _add(work: _Work, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation, "path", "add operation failed to decode path", True)
    _, key = _find(work, pointer, f'add operation does not apply: doc is missing path: "{pointer}"')
    lead = f"error in add for path: '{pointer}'"
    _wrapped(lead, lambda: _insert(work.writable(pointer), key, operation.get("value")))


def _remove(work: _Work, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation, "path", "remove operation failed to decode path", True)
    complaint = f'remove operation does not apply: doc is missing path: "{pointer}"'
    _, key = _find(work, pointer, complaint)
    lead = f"error in remove for path: '{pointer}'"
    _wrapped(lead, lambda: _delete(work.writable(pointer), key))


def _replace(work: _Work, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation, "path", "replace operation failed to decode path")
    value = operation.get("value")
    if pointer == "":
        work.root = value if isinstance(value, dict | list) else work.root
        return
    lead = "replace operation does not apply: doc is missing"
    container, key = _find(work, pointer, f"{lead} path: {pointer}")
    if isinstance(container, dict):
        work.writable(pointer)[key] = value
        return
    try:
        index = _index(key, len(container))
    except PatchFailed:
        raise PatchFailed(f"{lead} key: {pointer}: missing value") from None
    work.writable(pointer)[index] = value


def _move(work: _Work, operation: dict[str, Any]) -> None:
    source = _pointer(operation, "from", "move operation failed to decode from")
    lead = "move operation does not apply: doc is missing"
    container, key = _find(work, source, f"{lead} from path: {source}")
    value = _wrapped(f"error in move for path: '{key}'", lambda: _read(container, key))
    _wrapped(f"error in move for path: '{key}'", lambda: _delete(work.writable(source), key))
    target = _pointer(operation, "path", "move operation failed to decode path")
    _, key = _find(work, target, f"{lead} destination path: {target}")
    lead = f"error in move for path: '{target}'"
    _wrapped(lead, lambda: _insert(work.writable(target), key, value))


def _copy(work: _Work, operation: dict[str, Any]) -> None:
    source = _pointer(operation, "from", "copy operation failed to decode from")
    lead = "copy operation does not apply: doc is missing"
    container, key = _find(work, source, f"{lead} from path: {source}")
    value = _wrapped(f"error in copy for from: '{source}'", lambda: _read(container, key))
    target = _pointer(operation, "path", "copy operation failed to decode path", True)
    _, key = _find(work, target, f"{lead} destination path: {target}")
    _count_copied(work, value)
    lead = "error while adding value during copy"
    # The copy may be shared: whoever changes one of the two copies it first. What this patch owns
    # already would be changed in place, so that is copied now.
    _wrapped(lead, lambda: _insert(work.writable(target), key, codec.copy(value)))


def _count_copied(work: _Work, value: Any) -> None:
    work.copied_bytes += 0 if value is None else len(codec.encode(value))
    if work.copied_bytes > COPIED_BYTES_MAX:
        size = f"the accumulated size increase of copy is {work.copied_bytes}"
        limit = f"exceeding the limit {COPIED_BYTES_MAX}"
        raise PatchFailed(f"Unable to complete the copy, {size}, {limit}")


def _test(work: _Work, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation, "path", "test operation failed to decode path")
    if pointer == "":
        found = work.root
    else:
        complaint = f"test operation does not apply: is missing path: {pointer}"
        container, key = _find(work, pointer, complaint)
        lead = f"error in test for path: '{pointer}'"
        found = _wrapped(lead, lambda: _read(container, key))
    if "value" not in operation or not _same(found, operation["value"]):
        raise PatchFailed(f"testing value {pointer} failed: test failed")


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON: `true` is not `1`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


_OPERATIONS: dict[str, Callable[[_Work, dict[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
