"""Who owns which fields after a create, an update or a patch: the next `metadata.managedFields`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fleetqueue.apiserver.merge import entries as entries_of
from fleetqueue.apiserver.merge import field_sets, shapes, typed
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.merge.entries import UPDATE, Entries, Entry, MalformedEntries, Owner
from fleetqueue.apiserver.merge.field_sets import FieldSet, Filter
from fleetqueue.apiserver.merge.shapes import Shape
from fleetqueue.apiserver.merge.typed_compare import Comparison, compare
from fleetqueue.apiserver.schema.node import Node

Object = dict[str, Any]
Convert = Callable[[Object, str], "tuple[Object, Node] | None"]
"""(object, apiVersion) -> the object in that version with its schema; None: no such version."""
Reset = FieldSet | Filter | None
"""The fields that a write cannot change (such as the status), or a filter for them."""

UNOWNED = ("apiVersion", "kind", "metadata")
UNOWNED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
STRIPPED = field_sets.of(
    *((name,) for name in UNOWNED), *(("metadata", name) for name in UNOWNED_METADATA)
)
"""What nobody owns."""


class Target(NamedTuple):
    """What a write is about: the version it speaks, and what the kind says of it."""

    api_version: str
    shape: Shape
    reset: Filter
    convert: Convert | None

    def compare(self, before: Object, after: Object) -> Comparison:
        return self.filtered(compare(before, after, self.shape))

    def compare_in(self, version: str, before: Object, after: Object) -> Comparison | None:
        """The same in another version; None where that version is gone."""
        assert self.convert is not None
        old, new = self.convert(before, version), self.convert(after, version)
        if old is None or new is None:
            return None
        return self.filtered(compare(old[0], new[0], shapes.of(new[1])))

    def filtered(self, found: Comparison) -> Comparison:
        if self.reset is _unfiltered:
            return found
        added, modified, removed = found
        return Comparison(self.reset(added), self.reset(modified), self.reset(removed))


def track_update(
    live: Object | None,
    new: Object,
    node: Node,
    *,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    reset: Reset = None,
    convert: Convert | None = None,
) -> list[Object]:
    """The managedFields of `new`, which is about to replace `live`; empty if nothing is tracked."""
    entries = _entries_before(live, new, is_subresource=bool(subresource))
    if not entries and live is not None and live.get("metadata", {}).get("uid"):
        return []
    target = aim(node, api_version, reset, convert)
    held_by = entries_of.owner(manager, UPDATE, api_version, subresource)
    try:
        if live is None and not entries:
            after = created(new, target, held_by, now)
        else:
            before = live or empty(new)
            after = updated(before, _as_managed(before, new), entries, target, held_by, now)
    except typed.TypedError:
        # A write never fails for the sake of its bookkeeping; upstream drops it in this case too.
        return []
    return entries_of.write(after)


def keep_times(old: Object, new: Object) -> list[Object]:
    """The managedFields of `new`, with the old times where nothing but the times would change."""
    before: list[Object] = old.get("metadata", {}).get("managedFields") or []
    after: list[Object] = new.get("metadata", {}).get("managedFields") or []
    if len(before) != len(after) or before == after:
        return after
    if any(_untimed(a) != _untimed(b) for a, b in zip(before, after, strict=True)):
        return after
    return before if _unmanaged(old) == _unmanaged(new) else after


def aim(node: Node, api_version: str, reset: Reset, convert: Convert | None) -> Target:
    if reset is None or reset == {}:
        keep: Filter = _unfiltered
    else:
        keep = field_sets.excluding(reset) if isinstance(reset, dict) else reset
    return Target(api_version, shapes.of(node), keep, convert)


def empty(like: Object) -> Object:
    return {"apiVersion": like.get("apiVersion"), "kind": like.get("kind")}


def created(new: Object, target: Target, held_by: Owner, now: str) -> Entries:
    """The entries of an object that is new: all of it belongs to the one who creates it."""
    body = {name: value for name, value in new.items() if name not in UNOWNED}
    metadata = {
        name: value
        for name, value in (new.get("metadata") or {}).items()
        if name not in UNOWNED_METADATA
    }
    if metadata:
        body["metadata"] = metadata
    added, modified, _ = compare({}, body, target.shape)
    fields = target.reset(field_sets.union(modified, added))
    if metadata:
        fields = field_sets.difference(fields, STRIPPED)
    return {held_by: Entry(fields, target.api_version, now)} if fields else {}


def updated(
    live: Object, new: Object, entries: Entries, target: Target, held_by: Owner, now: str
) -> Entries:
    """The entries after an update: what changed goes from its owners to the one who changed it."""
    comparison = target.compare(live, new)
    left = take_over(live, new, reconcile(live, entries, target), target, comparison)
    changed = field_sets.union(comparison.modified, comparison.added)
    changed = field_sets.difference(changed, STRIPPED)
    if changed:
        before = left.get(held_by)
        fields = field_sets.union(changed, before.fields) if before else changed
        left[held_by] = Entry(fields, target.api_version, now)
    return entries_of.bound(left)


def take_over(
    live: Object,
    new: Object,
    entries: Entries,
    target: Target,
    comparison: Comparison,
    applier: Owner | None = None,
    force: bool = True,
) -> Entries:
    """The entries without what changed or went; Conflicts if it may not be taken by force."""
    comparisons: dict[str, Comparison | None] = {target.api_version: comparison}
    left: Entries = {}
    conflicts: dict[Owner, FieldSet] = {}
    for held_by, entry in entries.items():
        version = entry.api_version if target.convert else target.api_version
        if held_by != applier:
            if version not in comparisons:
                comparisons[version] = target.compare_in(version, live, new)
            found = comparisons[version]
            if found is None:
                continue
            changed = field_sets.union(found.modified, found.added)
            taken = {} if force else field_sets.intersection(entry.fields, changed)
            if taken:
                conflicts[held_by] = taken
            fields = field_sets.difference(entry.fields, changed)
            fields = field_sets.difference(fields, found.removed)
            if fields is not entry.fields:
                entry = Entry(fields, entry.api_version, entry.time)
        if entry.fields:
            left[held_by] = entry
    if conflicts:
        raise Conflicts.of(conflicts)
    return left


def reconcile(live: Object, entries: Entries, target: Target) -> Entries:
    """The entries under the schema as it is now, without those of versions that are gone."""
    after: Entries = {}
    for held_by, entry in entries.items():
        shape = target.shape
        if target.convert and entry.api_version != target.api_version:
            converted = target.convert(live, entry.api_version)
            if converted is None:
                continue
            shape = shapes.of(converted[1])
        fields = typed.reconciled(entry.fields, shape)
        if fields is not entry.fields:
            entry = Entry(fields, entry.api_version, entry.time)
        after[held_by] = entry
    return after


def _entries_before(live: Object | None, new: Object, *, is_subresource: bool) -> Entries:
    """A client may set managedFields itself; one that omits or garbles them changes nothing."""
    stored = live.get("metadata", {}).get("managedFields") if live else None
    sent = new.get("metadata", {}).get("managedFields")
    if is_subresource or sent is None or sent == stored:
        return entries_of.read(stored)
    if entries_of.is_reset(sent):
        return {}
    try:
        return entries_of.check(sent) or entries_of.read(stored)
    except MalformedEntries:
        return entries_of.read(stored)


def _as_managed(live: Object, new: Object) -> Object:
    """The new object with the managedFields of the live one, which nobody owns anyway."""
    stored = live.get("metadata", {}).get("managedFields")
    if stored is None:
        return new
    return {**new, "metadata": {**new.get("metadata", {}), "managedFields": stored}}


def _unfiltered(fields: FieldSet) -> FieldSet:
    return fields


def _untimed(entry: Object) -> Object:
    return {**entry, "time": None}


def _unmanaged(obj: Object) -> Object:
    return {**obj, "metadata": {**obj.get("metadata", {}), "managedFields": None}}
