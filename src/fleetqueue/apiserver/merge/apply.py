"""Server-side apply: an applied configuration becomes part of the object, and of who owns what."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.merge import entries as entries_of
from fleetqueue.apiserver.merge import (
    field_sets,
    last_applied,
    managed,
    nulls,
    shapes,
    typed,
    typed_check,
    typed_merge,
)
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.merge.entries import APPLY, UPDATE, Entries, Entry, Owner
from fleetqueue.apiserver.merge.field_sets import FieldSet
from fleetqueue.apiserver.merge.managed import Convert, Object, Reset, Target
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.base import codec

BEFORE = "before-first-apply"
"""Owns what an object without managedFields held before it was first applied to."""


def apply(
    live: Object | None,
    applied: Object,
    node: Node,
    *,
    manager: str,
    subresource: str,
    force: bool,
    now: str,
    reset: Reset = None,
    api_version: str = "",
    kind: str = "",
    convert: Convert | None = None,
) -> Object:
    """The object as it should be stored, managedFields included; live is in the request's version.

    Raises Conflicts, or an ApiError for a configuration that cannot be applied.
    """
    base = live if live is not None else managed.empty(applied)
    version = api_version or str(base.get("apiVersion") or "")
    _check_request(applied, version, kind or str(base.get("kind") or ""))
    target = managed.aim(node, version, reset, convert)
    _check_types(applied, target.shape)
    held_by = entries_of.owner(manager, APPLY, version, subresource)
    try:
        result = _apply(base, applied, target, held_by, force, now)
    except Conflicts as conflicts:
        if manager != last_applied.KUBECTL:
            raise
        # kubectl may take over what it set itself, before it learned to apply on the server.
        others = last_applied.not_its_own(conflicts, base, target.shape, version)
        if others is not None:
            raise others from None
        result = _apply(base, applied, target, held_by, True, now)
    except typed.TypedError as error:
        raise _unreadable(base, target.shape) from error
    return last_applied.renew(result, applied) if manager == last_applied.KUBECTL else result


def _apply(
    live: Object, applied: Object, target: Target, held_by: Owner, force: bool, now: str
) -> Object:
    shape = target.shape
    entries = entries_of.read(live.get("metadata", {}).get("managedFields"))
    if not entries:
        before = entries_of.owner(BEFORE, UPDATE, target.api_version, held_by.subresource)
        entries = managed.updated(managed.empty(live), live, {}, target, before, now)
    entries = managed.reconcile(live, entries, target)
    merged = typed_merge.merge(live, applied, shape)
    last = entries.get(held_by)
    fields = target.reset(typed.field_set(applied, shape))
    entries[held_by] = Entry(fields, target.api_version, last.time if last else None)
    is_same = last is None or (last.fields, last.api_version) == (fields, target.api_version)
    new = merged if last is None or is_same else _prune(merged, entries, target, last)
    comparison = target.compare(live, new)
    entries = managed.take_over(live, new, entries, target, comparison, held_by, force)
    is_changed = not typed_merge.same(new, live)
    _settle(entries, held_by, now if is_changed else None)
    if is_changed and b"null" in codec.encode(applied if new is merged else new):
        new = nulls.dropped(new, shape)
    return _with_entries(new if is_changed else live, entries)


def _settle(entries: Entries, held_by: Owner, now: str | None) -> None:
    """The applier's own entry: without what nobody owns, with a new time if it did something."""
    mine = entries.get(held_by)
    if mine is None:
        return
    fields = field_sets.difference(mine.fields, managed.STRIPPED)
    if fields:
        entries[held_by] = Entry(fields, mine.api_version, now or mine.time)
    else:
        del entries[held_by]


def _with_entries(obj: Object, entries: Entries) -> Object:
    metadata = dict(obj.get("metadata") or {})
    metadata.pop("managedFields", None)
    if entries:
        metadata["managedFields"] = entries_of.write(entries)
    return {**obj, "metadata": metadata}


def _prune(merged: Object, entries: Entries, target: Target, last: Entry) -> Object:
    """Without what this applier applied last time, not this time, and what nobody else owns."""
    version = last.api_version if target.convert else target.api_version
    managed_in = _managed_by_version(entries, target)
    lost = field_sets.difference(last.fields, managed_in.get(version, {}))
    if not lost:
        return merged
    if len(managed_in) == 1 and version == target.api_version:
        # Only what lies below these fields can go, so the rest need not be walked.
        part = {name: value for name, value in merged.items() if f"f:{name}" in lost}
        left = _without_lost(part, last.fields, {version: managed_in[version]}, target, version)
        gone = part.keys() - left.keys()
        kept = {name: value for name, value in merged.items() if name not in gone}
        return merged if left == part else kept | left
    return _without_lost(merged, last.fields, managed_in, target, version)


def _without_lost(
    merged: Object,
    last: FieldSet,
    managed_in: dict[str, FieldSet],
    target: Target,
    version: str,
) -> Object:
    found = _in_version(merged, version, target)
    if found is None:
        return merged
    whole, shape = found
    was_mine = typed.with_named_fields(last, shape)
    pruned = typed.remove_items(whole, was_mine, shape)
    for step, owned in _own_version_first(managed_in, version):
        pruned = _add_back(merged, pruned, step, version, owned, target)
    gone = field_sets.difference(_named_set(whole, shape), _named_set(pruned, shape))
    result = typed.remove_items(whole, field_sets.intersection(gone, was_mine), shape)
    back = _in_version(result, target.api_version, target)
    return back[0] if back else merged


def _add_back(
    merged: Object, pruned: Object, step: str, version: str, owned: FieldSet, target: Target
) -> Object:
    """What anyone owns in version `step` comes back; the result is in `version` again."""
    whole, part = _in_version(merged, step, target), _in_version(pruned, step, target)
    if whole is None or part is None:
        return pruned
    obj, shape = whole
    kept = field_sets.union(_named_set(part[0], shape), typed.with_named_fields(owned, shape))
    gone = field_sets.difference(_named_set(obj, shape), kept)
    back = _in_version(typed.remove_items(obj, gone, shape), version, target)
    return back[0] if back else pruned


def _managed_by_version(entries: Entries, target: Target) -> dict[str, FieldSet]:
    found: dict[str, FieldSet] = {}
    for entry in entries.values():
        version = entry.api_version if target.convert else target.api_version
        found[version] = field_sets.union(found.get(version, {}), entry.fields)
    return found


def _own_version_first(
    managed_in: dict[str, FieldSet], version: str
) -> Iterator[tuple[str, FieldSet]]:
    if version in managed_in:
        yield version, managed_in[version]
    yield from ((other, owned) for other, owned in managed_in.items() if other != version)


def _in_version(obj: Object, version: str, target: Target) -> tuple[Object, Shape] | None:
    spoken = obj.get("apiVersion", target.api_version)
    if spoken == version or target.convert is None:
        return obj, target.shape
    converted = target.convert(obj, version)
    return None if converted is None else (converted[0], shapes.of(converted[1]))


def _named_set(obj: Object, shape: Shape) -> FieldSet:
    return typed.with_named_fields(typed.field_set(obj, shape), shape)


def _check_request(applied: Object, version: str, kind: str) -> None:
    if applied.get("apiVersion") != version or applied.get("kind") != kind:
        raise problems.bad_request(f"invalid object type: {_kind_text(applied)}")
    metadata: Any = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise problems.bad_request("metadata.managedFields must be nil")


def _check_types(applied: Object, shape: Shape) -> None:
    wrong = typed_check.complaints(applied, shape)
    if wrong:
        message = f"failed to create typed patch object ({_name_text(applied)}): {wrong}"
        raise problems.ApiError(500, "", message)


def _unreadable(live: Object, shape: Shape) -> problems.ApiError:
    """The live object has a list whose items cannot be told apart."""
    wrong = typed_check.complaints(live, shape, allows_duplicates=True)
    message = f"failed to create typed live object ({_name_text(live)}): {wrong}"
    if not live.get("metadata", {}).get("managedFields"):
        message = (
            "failed to create manager for existing fields: failed to convert new object"
            f" ({_name_text(live)}) to smd typed: {wrong}"
        )
    return problems.ApiError(500, "", message)


def _name_text(obj: Object) -> str:
    metadata: Any = obj.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return f"{names.get('namespace') or ''}/{names.get('name') or ''}; {_kind_text(obj)}"


def _kind_text(obj: Object) -> str:
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"
