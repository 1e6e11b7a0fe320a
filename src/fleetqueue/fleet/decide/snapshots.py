"""What snapshots say of themselves, and what the next ones of a placement look like: policies
without their number of clusters, and selected objects packed into shards.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.times import TimeError, format_time, parse_time

Json = dict[str, Any]
SHARD_BYTES_MAX = 800 * 1024
"""Of raw JSON; one larger object sits alone."""


def label(obj: Json, name: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(name) or "")


def annotation(obj: Json, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name) or "")


def placement_of(snapshot: Json) -> str:
    """The name of its placement; also said by bindings."""
    return label(snapshot, labels.PARENT_PLACEMENT)


def index_of(snapshot: Json) -> int:
    """Of a resource snapshot; -1 where it says none that could be."""
    return _number(label(snapshot, labels.RESOURCE_INDEX))


def policy_index_of(snapshot: Json) -> int:
    return _number(label(snapshot, labels.POLICY_INDEX))


def is_latest(snapshot: Json) -> bool:
    return label(snapshot, labels.IS_LATEST_SNAPSHOT) == "true"


def is_master(snapshot: Json) -> bool:
    """The first of its index, which tells how many there are."""
    return bool(annotation(snapshot, labels.RESOURCE_HASH))


def subindex_of(snapshot: Json) -> int:
    """Of a shard, from 0; of a master -1."""
    return _number(annotation(snapshot, labels.RESOURCE_SNAPSHOT_SUBINDEX))


def count_of(master: Json) -> int:
    """How many snapshots its index has, itself included."""
    return _number(annotation(master, labels.NUMBER_OF_RESOURCE_SNAPSHOTS))


def is_complete(group: Sequence[Json]) -> bool:
    """Whether all shards of an index are there; `group` begins with its master."""
    return bool(group) and is_master(group[0]) and len(group) == count_of(group[0])


def latest_of(snapshots: Iterable[Json]) -> Json | None:
    """The newest that is marked as the latest: after a crash two might be."""
    found = [each for each in snapshots if is_latest(each)]
    return max(found, key=_any_index, default=None)


def master_of(snapshots: Iterable[Json], index: int) -> Json | None:
    return next((each for each in snapshots if index_of(each) == index and is_master(each)), None)


def shards_of(snapshots: Iterable[Json], index: int) -> list[Json]:
    """All snapshots of an index, the master first, then the shards in order."""
    found = [each for each in snapshots if index_of(each) == index]
    return sorted(found, key=lambda each: (not is_master(each), subindex_of(each)))


def manifests_of(group: Iterable[Json]) -> list[Json]:
    """The objects of all shards, in their order."""
    return [obj for each in group for obj in each["spec"].get("selectedResources") or ()]


def newest_master(snapshots: Iterable[Json]) -> Json | None:
    """The one with the highest index, marked as the latest or not."""
    return max((each for each in snapshots if is_master(each)), key=index_of, default=None)


def newest_policy(snapshots: Iterable[Json]) -> Json | None:
    return max(snapshots, key=policy_index_of, default=None)


def outdated(snapshots: Iterable[Json], kept: int, index: Callable[[Json], int]) -> list[Json]:
    """What goes so that no more than so many indexes are kept; the oldest go first."""
    groups: dict[int, list[Json]] = {}
    for each in snapshots:
        groups.setdefault(index(each), []).append(each)
    gone = sorted(groups)[: max(0, len(groups) - kept)]
    return [each for at in gone for each in groups[at]]


def policy_hash(policy: Json | None) -> str:
    """Of the policy without its number of clusters; the wire carries its text in base64."""
    text = json.dumps(_without_number(policy), separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(hashlib.sha256(text.encode()).hexdigest().encode()).decode()


def number_of_clusters(policy: Json | None) -> str:
    """As the snapshot tells it apart from the policy; "" where the policy is not to pick N."""
    if policy is None or policy.get("placementType") != "PickN":
        return ""
    return str(policy.get("numberOfClusters") or 0)


def packed(manifests: Iterable[Json]) -> list[list[Json]]:
    """The manifests in shards, in their order: a master and what does not fit into it."""
    shards: list[list[Json]] = [[]]
    size = 0
    for each in manifests:
        length = len(json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode())
        if shards[-1] and size + length > SHARD_BYTES_MAX:
            shards.append([])
            size = 0
        shards[-1].append(each)
        size += length
    return shards


def first_seen(master: Json) -> datetime | None:
    """When it was noticed that the selection is no longer what this snapshot holds, as far as
    anybody can read that.
    """
    text = annotation(master, labels.SNAPSHOT_CANDIDATE_DETECTION_TIME)
    try:
        return parse_time(text) if text else None
    except TimeError:
        return None


def seen(now: datetime) -> Json:
    """The annotation that says so."""
    return {labels.SNAPSHOT_CANDIDATE_DETECTION_TIME: format_time(now)}


def seconds_to_wait(
    master: Json, now: datetime, *, interval_seconds: float, collection_seconds: float
) -> float:
    """How long changes are collected before the next snapshot is taken; 0.0: now."""
    detected = first_seen(master) or now
    created = parse_time(master["metadata"]["creationTimestamp"])
    due_at = max(
        detected + timedelta(seconds=collection_seconds),
        created + timedelta(seconds=interval_seconds),
    )
    return max(0.0, (due_at - now).total_seconds())


def _without_number(found: Any) -> Any:
    """With the fields in the order of their declaration, which is what others hash."""
    if isinstance(found, list):
        return [_without_number(each) for each in found]
    if not isinstance(found, dict):
        return found
    names = sorted(found, key=lambda name: (_FIELDS.get(name, len(_FIELDS)), name))
    return {
        name: dict(sorted(found[name].items()))
        if name == "matchLabels"
        else _without_number(found[name])
        for name in names
        if name != "numberOfClusters" and found[name] not in ("", [], None)
    }


_FIELDS = {
    name: rank
    for rank, name in enumerate(
        (
            "placementType",
            "clusterNames",
            "affinity",
            "topologySpreadConstraints",
            "tolerations",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "preferredDuringSchedulingIgnoredDuringExecution",
            "weight",
            "preference",
            "labelSelector",
            "propertySelector",
            "propertySorter",
            "matchLabels",
            "matchExpressions",
            "name",
            "sortOrder",
            "maxSkew",
            "topologyKey",
            "whenUnsatisfiable",
            "key",
            "operator",
            "value",
            "values",
            "effect",
        )
    )
}


def _any_index(snapshot: Json) -> int:
    return max(index_of(snapshot), policy_index_of(snapshot))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else -1
