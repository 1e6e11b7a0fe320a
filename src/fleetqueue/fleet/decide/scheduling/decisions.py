"""What the scheduler says of each cluster, and of a policy as a whole."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.scheduling.filters import Filtered
from fleetqueue.fleet.decide.scheduling.ranking import Scored
from fleetqueue.fleet.decide.scheduling.situation import number_annotated

Json = dict[str, Any]
DECISIONS_MAX = 1000
UNSELECTED_MAX = 20
FULFILLED, UNFULFILLED = "SchedulingPolicyFulfilled", "SchedulingPolicyUnfulfilled"
_PICKED = "Successfully scheduled resources for placement in"


def picked(cluster: Scored) -> Json:
    reason = f'{_PICKED} "{cluster.name}" ({_scores_text(cluster)}): picked by scheduling policy'
    return _decision(cluster.name, reason, selected=True, score=cluster)


def picked_by_name(cluster: str) -> Json:
    reason = f'{_PICKED} "{cluster}": picked by scheduling policy'
    return _decision(cluster, reason, selected=True)


def not_picked(cluster: Scored) -> Json:
    reason = f'Cluster "{cluster.name}" does not score high enough ({_scores_text(cluster)})'
    return _decision(cluster.name, reason, score=cluster)


def filtered(cluster: Filtered) -> Json:
    return _decision(cluster.name, f"ClusterUnschedulable, {cluster.reason}")


def ineligible_by_name(cluster: str, reason: str) -> Json:
    text = f'Cluster "{cluster}" is not eligible for resource placement yet: {reason}'
    return _decision(cluster, text)


def unknown_by_name(cluster: str) -> Json:
    return _decision(cluster, f'Specified cluster "{cluster}" is not found')


def status(
    snapshot: Json,
    selected: Sequence[Json],
    unselected: Iterable[Json],
    *,
    wanted: int,
    now: datetime,
) -> Json:
    """The status of a policy snapshot; `wanted` is the number of clusters that would fulfil it."""
    before = snapshot.get("status") or {}
    told = [*selected, *list(unselected)[:UNSELECTED_MAX]][:DECISIONS_MAX]
    condition = scheduled(snapshot, len(selected), wanted=wanted, now=now)
    result: Json = {
        "observedCRPGeneration": number_annotated(snapshot, labels.PLACEMENT_GENERATION),
        "conditions": conditions.put(before.get("conditions"), condition),
    }
    if told:
        result["targetClusters"] = told
    return result


def scheduled(snapshot: Json, found: int, *, wanted: int, now: datetime) -> Json:
    """The condition that says whether the policy has all the clusters it asks for."""
    purpose = "needed as specified by the scheduling policy"
    if found == wanted:
        told = (
            conditions.TRUE,
            FULFILLED,
            f"found all cluster {purpose}, found {found} cluster(s)",
        )
    else:
        text = f"could not find all clusters {purpose}, found {found} cluster(s) instead"
        told = (conditions.FALSE, UNFULFILLED, text)
    generation = int(snapshot["metadata"].get("generation") or 0)
    return conditions.make(PlacementAspect.SCHEDULED, *told, generation=generation, now=now)


def is_fulfilled(snapshot: Json) -> bool:
    """Whether the last cycle found everything, and nothing was asked since."""
    said = snapshot.get("status") or {}
    found = conditions.find(said.get("conditions"), PlacementAspect.SCHEDULED)
    if found is None or found.get("status") != conditions.TRUE:
        return False
    is_current = found.get("observedGeneration") == snapshot["metadata"].get("generation")
    asked = number_annotated(snapshot, labels.PLACEMENT_GENERATION)
    return is_current and said.get("observedCRPGeneration") == asked


def _decision(
    cluster: str, reason: str, *, selected: bool = False, score: Scored | None = None
) -> Json:
    decision: Json = {"clusterName": cluster, "selected": selected, "reason": reason}
    if score is not None:
        decision["clusterScore"] = {
            "affinityScore": score.affinity,
            "priorityScore": score.topology,
        }
    return decision


def _scores_text(cluster: Scored) -> str:
    return f"affinity score: {cluster.affinity}, topology spread score: {cluster.topology}"
