"""The snapshots of an override: which the next one is, and which are too old to be kept."""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import labels, naming
from fleetqueue.fleet.decide.snapshots import is_latest, label

Json = dict[str, Any]
KEPT_MAX = 10
_ORDER: Mapping[str, int] = {
    name: place
    for place, name in enumerate(
        (
            "placement", "clusterResourceSelectors", "resourceSelectors", "policy",
            "overrideRules", "clusterSelector", "clusterSelectorTerms", "labelSelector",
            "propertySelector", "propertySorter", "matchLabels", "matchExpressions",
            "overrideType", "jsonPatchOverrides", "op", "path", "value",
            "group", "version", "kind", "name", "scope", "selectionScope",
            "sortOrder", "key", "operator", "values",
        )
    )
}  # fmt: skip
"""The fields of an override's spec in the order in which KubeFleet hashes them."""
_FREE = frozenset({"value", "matchLabels"})
"""What is below these has names of its own, which are sorted."""


@dataclass(frozen=True, slots=True)
class Next:
    """What is to be done so that the newest snapshot says what the override says."""

    unmark: tuple[Json, ...] = ()
    """Snapshots that are no longer the latest."""
    mark: Json | None = None
    """The newest, where it does not say that it is."""
    drop: tuple[Json, ...] = ()
    index: int | None = None
    """Of the snapshot to make; None where the newest is right."""


def plan(spec: Json, existing: Iterable[Json]) -> Next:
    """`existing`: all snapshots of the override."""
    known = sorted(existing, key=index_of)
    newest = known[-1] if known else None
    if newest is not None and newest["spec"].get("overrideHash") == spec_hash(spec):
        outdated = tuple(each for each in known[:-1] if is_latest(each))
        return Next(unmark=outdated, mark=None if is_latest(newest) else newest)
    drop = tuple(known[: max(0, len(known) - KEPT_MAX + 1)])
    unmark = tuple(each for each in known if is_latest(each) and each not in drop)
    return Next(unmark=unmark, drop=drop, index=index_of(newest) + 1 if newest else 0)


def metadata(override: str, index: int) -> Json:
    """Of the snapshot with that index."""
    return {
        "name": naming.override_snapshot(override, index),
        "labels": {
            labels.PARENT_OVERRIDE: override,
            labels.IS_LATEST_SNAPSHOT: "true",
            labels.OVERRIDE_INDEX: str(index),
        },
    }


def index_of(snapshot: Json) -> int:
    text = label(snapshot, labels.OVERRIDE_INDEX)
    return int(text) if text.isdecimal() else -1


def spec_hash(spec: Json) -> str:
    """In base64 the hexadecimal digits, as the snapshot has them."""
    text = json.dumps(_ordered(spec), separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(naming.text_hash(text).encode()).decode()


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
        return {
            name: _sorted(value[name]) if name in _FREE else _ordered(value[name]) for name in names
        }
    return [_ordered(each) for each in value] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
