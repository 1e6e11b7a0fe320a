"""The managedFields of a Scale and of its parent: both tell who owns the replicas."""

from typing import Any

from fleetqueue.apiserver.merge import entries as entries_of
from fleetqueue.apiserver.merge import field_sets
from fleetqueue.apiserver.merge.entries import Entries, Entry
from fleetqueue.apiserver.merge.field_sets import Path

SCALE_VERSION = "autoscaling/v1"
REPLICAS: Path = ("f:spec", "f:replicas")

Object = dict[str, Any]
ReplicaPaths = dict[str, Path | None]
"""Where each version of the parent keeps its replicas; None where it has none."""


def to_scale(parent: list[Object], paths: ReplicaPaths) -> list[Object]:
    """What the Scale shows: who owns the parent's replicas."""
    found: Entries = {}
    for held_by, entry in entries_of.read(parent).items():
        path = paths.get(entry.api_version)
        if path is not None and field_sets.has(entry.fields, path):
            fields = field_sets.of(REPLICAS)
            found[held_by] = Entry(fields, SCALE_VERSION, entry.time)
    return entries_of.write(found)


def to_parent(
    scale: list[Object], parent: list[Object], api_version: str, paths: ReplicaPaths
) -> list[Object]:
    """The parent's entries after a write to its Scale, which was left with the entries `scale`."""
    scaled, before = entries_of.read(scale), entries_of.read(parent)
    found: Entries = {}
    for held_by, entry in before.items():
        if entry.api_version not in paths:
            continue
        path = paths[entry.api_version]
        if path is None or not field_sets.has(entry.fields, path):
            found[held_by] = entry
        elif held_by in scaled:
            found[held_by] = entry
            del scaled[held_by]
        else:
            left = field_sets.difference(entry.fields, field_sets.of(path))
            if left:
                found[held_by] = entry._replace(fields=left)
    path = paths.get(api_version)
    for held_by, entry in scaled.items():
        if path is not None and field_sets.has(entry.fields, REPLICAS):
            # Upstream takes the time from the parent's entries, so a new owner has none.
            time = before[held_by].time if held_by in before else None
            found[held_by] = Entry(field_sets.of(path), api_version, time)
    return entries_of.write(found)
