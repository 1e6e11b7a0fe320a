"""Which pods of an admitted workload may go to which places: by their rank where every pod has one,
else in whatever order they come.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, topology_encoding

Json = dict[str, Any]
Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Going:
    """A pod that waits no longer, and the labels of the nodes it may go to."""

    pod: Json
    node_selector: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Numbering:
    """How the pods of a set are numbered: the labels that say so."""

    index: str = ""
    group_index: str = ""
    group_count: int = 0
    offset: int = 0


def decide(workload: Json, pods: Sequence[Json]) -> list[Going]:
    """`pods` are those of the workload that have not ended."""
    if not _has_places(workload):
        return []
    failed = {each["name"] for each in workload["status"].get("unhealthyNodes") or ()}
    sets = {each.get("name") or "main": each for each in workload["spec"]["podSets"]}
    found: list[Going] = []
    for assignment in status.assignments_of(workload):
        placed = assignment.get("topologyAssignment")
        name = assignment.get("name") or "main"
        if not placed or not placed.get("levels") or name not in sets:
            continue
        members = [pod for pod in pods if _label(pod, labels.PODSET) == name]
        found += _of_set(workload, sets[name], placed, members, failed)
    return found


def _of_set(
    workload: Json, pod_set: Json, placed: Json, pods: list[Json], failed: set[str]
) -> list[Going]:
    plain = topology_encoding.unpack(placed)
    levels = plain["levels"]
    places = [tuple(each["values"]) for each in plain["domains"] for _ in range(each["count"])]
    numbering = _numbering(workload, pod_set)
    ranks = _ranks(pods, numbering, places, levels, pod_set)
    chosen = _by_rank(ranks, places) if ranks is not None else _greedily(pods, places, levels)
    return [
        Going(pod, dict(zip(levels, values, strict=True)))
        for pod, values in chosen
        if values[-1] not in failed
    ]


def is_astray(workload: Json, pod: Json) -> bool:
    """Whether the pod was let go to a place that the workload does not have any more."""
    if not _has_places(workload):
        return False
    for assignment in status.assignments_of(workload):
        placed = assignment.get("topologyAssignment")
        name = assignment.get("name") or "main"
        if placed and placed.get("levels") and name == _label(pod, labels.PODSET):
            plain = topology_encoding.unpack(placed)
            places = {tuple(each["values"]) for each in plain["domains"]}
            return not is_gated(pod) and _place_of(pod, plain["levels"]) not in places
    return False


def slice_name(obj: Json) -> str:
    """What all slices of a job, and the pods of all of them, have in common."""
    notes = obj["metadata"].get("annotations") or {}
    return str(notes.get(labels.WORKLOAD_SLICE_NAME) or "")


def _has_places(workload: Json) -> bool:
    """One that is over, such as a slice that another replaced, has none to give."""
    is_over = status.is_evicted(workload) or status.is_finished(workload)
    return status.is_admitted(workload) and not is_over


def is_gated(pod: Json) -> bool:
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(gate["name"] == labels.TOPOLOGY_GATE for gate in gates)


def _ranks(
    pods: Sequence[Json],
    numbering: Numbering,
    places: Sequence[Values],
    levels: Sequence[str],
    pod_set: Json,
) -> dict[int, Json] | None:
    """The pods by rank; None where they are not numbered, or do not sit where their rank says."""
    if not numbering.index or not pods:
        return None
    found: dict[int, Json] = {}
    count = int(pod_set.get("count") or 1)
    for pod in pods:
        rank = _rank(pod, numbering, count)
        if rank is None or not 0 <= rank < len(places) or rank in found:
            return None
        if not is_gated(pod) and _place_of(pod, levels) != places[rank]:
            return None
        found[rank] = pod
    return found


def _rank(pod: Json, numbering: Numbering, count: int) -> int | None:
    index = _number(_label(pod, numbering.index))
    if index is None:
        return None
    if not numbering.group_index or not numbering.group_count:
        return index - numbering.offset
    group = _number(_label(pod, numbering.group_index))
    if group is None:
        return None
    return index + group * (count // numbering.group_count) - numbering.offset


def _by_rank(ranks: Mapping[int, Json], places: Sequence[Values]) -> Iterator[tuple[Json, Values]]:
    for rank, pod in sorted(ranks.items()):
        if is_gated(pod):
            yield pod, places[rank]


def _greedily(
    pods: Sequence[Json], places: Sequence[Values], levels: Sequence[str]
) -> Iterator[tuple[Json, Values]]:
    """Fills the places in order, those left out that pods have already."""
    left = list(places)
    for pod in pods:
        place = _place_of(pod, levels)
        if not is_gated(pod) and place in left:
            left.remove(place)
    waiting = sorted(
        (pod for pod in pods if is_gated(pod)), key=lambda pod: pod["metadata"]["name"]
    )
    yield from zip(waiting, left, strict=False)


def _place_of(pod: Json, levels: Sequence[str]) -> Values:
    selector = (pod.get("spec") or {}).get("nodeSelector") or {}
    return tuple(selector.get(level, "") for level in levels)


def _numbering(workload: Json, pod_set: Json) -> Numbering:
    request = pod_set.get("topologyRequest") or {}
    notes = ((pod_set.get("template") or {}).get("metadata") or {}).get("annotations") or {}
    offset = _number(notes.get(labels.POD_INDEX_OFFSET)) or 0
    group = request.get("podSetGroupName")
    if group:
        offset += _leaders(workload, pod_set, group)
    return Numbering(
        request.get("podIndexLabel") or "",
        request.get("subGroupIndexLabel") or "",
        int(request.get("subGroupCount") or 0),
        offset,
    )


def _leaders(workload: Json, pod_set: Json, group: str) -> int:
    """Workers are numbered after their leader."""
    counts = [
        int(each.get("count") or 1)
        for each in workload["spec"]["podSets"]
        if (each.get("topologyRequest") or {}).get("podSetGroupName") == group
    ]
    return sum(count for count in counts if count < int(pod_set.get("count") or 1))


def _label(pod: Json, name: str) -> str | None:
    found = (pod["metadata"].get("labels") or {}).get(name)
    return None if found is None else str(found)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
