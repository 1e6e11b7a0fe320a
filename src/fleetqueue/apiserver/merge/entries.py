"""`metadata.managedFields`: read, checked, bounded and written out in kube-apiserver's order."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fleetqueue.apiserver.merge import field_sets, go_text
from fleetqueue.apiserver.merge.field_sets import FieldSet
from fleetqueue.base import codec

APPLY = "Apply"
UPDATE = "Update"
UPDATERS_MAX = 10
ANCIENT = "ancient-changes"


class MalformedEntries(ValueError):
    """managedFields that cannot be read; the text says why."""


class Owner(NamedTuple):
    """Whom an entry belongs to. One who applies is the same in all versions of a kind."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @property
    def identity(self) -> str:
        """The text by which upstream sorts owners."""
        parts = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return codec.encode({key: value for key, value in parts.items() if value}).decode()

    def __str__(self) -> str:
        """As a conflict names it: `"kubectl" with subresource "status" using apps/v1`."""
        text = go_text.quoted(self.manager)
        if self.subresource:
            text += f" with subresource {go_text.quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Entry(NamedTuple):
    """What an owner holds, in the version in which it was written, and since when."""

    fields: FieldSet
    api_version: str
    time: str | None


Entries = dict[Owner, Entry]


def owner(manager: str, operation: str, api_version: str, subresource: str) -> Owner:
    version = "" if operation == APPLY else api_version
    return Owner(manager or "unknown", operation, version, subresource)


def read(raw: Any) -> Entries:
    """Entries that this server wrote itself; nothing is checked."""
    found: Entries = {}
    for entry in raw or ():
        operation, version = entry["operation"], entry["apiVersion"]
        held_by = Owner(
            entry.get("manager", ""),
            operation,
            "" if operation == APPLY else version,
            entry.get("subresource", ""),
        )
        found[held_by] = Entry(entry.get("fieldsV1") or {}, version, entry.get("time"))
    return found


def check(raw: Any) -> Entries:
    """Entries that came from outside; MalformedEntries where upstream would not decode them."""
    if not isinstance(raw, list | None):
        raise MalformedEntries("managedFields must be a list")
    return read([_checked(entry, position) for position, entry in enumerate(raw or ())])


def is_reset(raw: Any) -> bool:
    """A client forgets all ownership with an empty list, or with one empty entry."""
    return isinstance(raw, list) and (not raw or (len(raw) == 1 and not _filled(raw[0])))


def write(entries: Entries) -> list[dict[str, Any]]:
    pairs = sorted(entries.items(), key=_order) if len(entries) > 1 else entries.items()
    return [_written(*pair) for pair in pairs]


def bound(entries: Entries) -> Entries:
    """At most ten entries of updates: the oldest of each version become one."""
    updaters = [held_by for held_by in entries if held_by.operation == UPDATE]
    too_many = len(updaters) - UPDATERS_MAX
    if too_many <= 0:
        return entries
    bounded = dict(entries)
    firsts: dict[str, Owner] = {}
    updaters.sort(key=lambda held_by: (entries[held_by].time or "", held_by.identity))
    for held_by in updaters:
        if too_many == 0:
            break
        entry = entries[held_by]
        first = firsts.setdefault(entry.api_version, held_by)
        if first is held_by:
            continue
        bucket = owner(ANCIENT, UPDATE, entry.api_version, "")
        if bucket not in bounded:
            bounded[bucket] = bounded.pop(first)
        fields = field_sets.union(entry.fields, bounded[bucket].fields)
        bounded[bucket] = Entry(fields, entry.api_version, entry.time)
        del bounded[held_by]
        too_many -= 1
    return bounded


def _checked(entry: Any, position: int) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise MalformedEntries("a managedFields entry must be an object")
    if entry.get("operation") not in (APPLY, UPDATE):
        raise MalformedEntries("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise MalformedEntries("apiVersion must not be empty")
    kind = entry.get("fieldsType") or ""
    if not kind:
        raise MalformedEntries(f"missing fieldsType in managed fields entry {position}")
    if kind != "FieldsV1":
        raise MalformedEntries(f'invalid fieldsType "{kind}" in managed fields entry {position}')
    try:
        fields = field_sets.canonical(entry.get("fieldsV1"))
        return {**entry, "fieldsV1": fields, "time": _utc(entry.get("time"))}
    except ValueError as error:
        raise MalformedEntries(f"error decoding set: {error}") from error


def _filled(entry: Any) -> bool:
    return not isinstance(entry, Mapping) or any(entry.values())


def _utc(time: Any) -> str | None:
    if time is None:
        return None
    moment = datetime.fromisoformat(time).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _order(pair: tuple[Owner, Entry]) -> tuple[str, str, str, str, str]:
    held_by, entry = pair
    return (
        held_by.operation,
        entry.time or "",
        held_by.manager,
        entry.api_version,
        held_by.subresource,
    )


def _written(held_by: Owner, entry: Entry) -> dict[str, Any]:
    written: dict[str, Any] = {
        "manager": held_by.manager,
        "operation": held_by.operation,
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields,
        "subresource": held_by.subresource,
    }
    if not held_by.manager:
        del written["manager"]
    if entry.time is None:
        del written["time"]
    if not held_by.subresource:
        del written["subresource"]
    return written
