"""Members, policies and bindings as the scheduler and the roll-out meet them, in few words."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.times import format_time
from fleetqueue.fleet.decide.scheduling import cycle
from fleetqueue.fleet.decide.scheduling.cycle import Outcome
from fleetqueue.fleet.decide.scheduling.situation import Situation

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(**span: float) -> str:
    return format_time(NOW - timedelta(**span))


def condition(type: str, status: str = "True", reason: str = "", **more: Any) -> Json:
    told = {"type": type, "status": status, "reason": reason or type, "message": ""}
    return {**told, "lastTransitionTime": ago(minutes=30), **more}


def agent(*conditions: Json, heartbeat: str = "") -> Json:
    told = list(conditions) or [condition("Healthy"), condition("Joined")]
    beat = heartbeat or ago(seconds=10)
    return {"type": "MemberAgent", "conditions": told, "lastReceivedHeartbeat": beat}


def member(
    name: str,
    cluster_labels: Mapping[str, str] | None = None,
    *,
    taints: Sequence[Json] = (),
    agents: Sequence[Json] | None = None,
    is_leaving: bool = False,
    available: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
    conditions: Sequence[Json] = (),
    namespaces: Mapping[str, str] | None = None,
) -> Json:
    metadata: Json = {"name": name, "labels": dict(cluster_labels or {})}
    if is_leaving:
        metadata["deletionTimestamp"] = ago(seconds=1)
    status: Json = {
        "agentStatus": [agent()] if agents is None else list(agents),
        "conditions": list(conditions),
        "properties": {
            key: {"value": value, "observationTime": ago(seconds=10)}
            for key, value in (properties or {}).items()
        },
        "resourceUsage": {"available": dict(available or {}), "observationTime": ago(seconds=10)},
    }
    if namespaces is not None:
        status["namespaces"] = dict(namespaces)
    return {"metadata": metadata, "spec": {"taints": list(taints)}, "status": status}


def taint(key: str, value: str = "") -> Json:
    return {"key": key, "value": value, "effect": "NoSchedule"}


def policy(
    kind: str = "PickAll", number: int | None = None, *, name: str = "p-0", **rest: Any
) -> Json:
    """A policy snapshot."""
    annotations = {labels.PLACEMENT_GENERATION: "1"}
    if number is not None:
        annotations[labels.NUMBER_OF_CLUSTERS] = str(number)
    told = {labels.IS_LATEST_SNAPSHOT: "true", labels.PARENT_PLACEMENT: "p"}
    return {
        "metadata": {
            "name": name,
            "generation": 1,
            "annotations": annotations,
            "labels": told,
        },
        "spec": {"policy": {"placementType": kind, **rest}},
    }


def required(*terms: Json) -> Json:
    selector = {"clusterSelectorTerms": list(terms)}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"clusterAffinity": {key: selector}}


def preferred(*terms: tuple[int, Json]) -> Json:
    told = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": told}}


def with_labels(**wanted: str) -> Json:
    return {"labelSelector": {"matchLabels": wanted}}


def with_property(name: str, operator: str, *values: str) -> Json:
    expression = {"name": name, "operator": operator, "values": list(values)}
    return {"propertySelector": {"matchExpressions": [expression]}}


def sorted_by(name: str, order: str = "Descending") -> Json:
    return {"propertySorter": {"name": name, "sortOrder": order}}


def binding(
    cluster: str,
    state: str = "Bound",
    *conditions: Json,
    policy_name: str = "p-0",
    snapshot: str = "p-0-snapshot",
    score: tuple[int, int] | None = None,
    is_deleting: bool = False,
    name: str = "",
    annotations: Mapping[str, str] | None = None,
    generation: int = 3,
) -> Json:
    """Scores are topology and affinity; conditions carry the generation unless they say another."""
    decision: Json = {"clusterName": cluster, "selected": True, "reason": f"picked {cluster}"}
    if score is not None:
        decision["clusterScore"] = {"priorityScore": score[0], "affinityScore": score[1]}
    metadata: Json = {
        "name": name or f"p-{cluster}-x",
        "uid": f"uid of {name or cluster}",
        "resourceVersion": "7",
        "generation": generation,
        "labels": {labels.PARENT_PLACEMENT: "p"},
        "annotations": dict(annotations or {}),
        "finalizers": [labels.BINDING_FINALIZER],
    }
    if is_deleting:
        metadata["deletionTimestamp"] = ago(seconds=1)
    return {
        "metadata": metadata,
        "spec": {
            "state": state,
            "targetCluster": cluster,
            "schedulingPolicySnapshotName": policy_name,
            "resourceSnapshotName": "" if state == "Scheduled" else snapshot,
            "clusterDecision": decision,
        },
        "status": {"conditions": [{"observedGeneration": generation, **c} for c in conditions]},
    }


def run(
    snapshot: Json,
    clusters: Iterable[Json],
    bindings: Iterable[Json] = (),
    *,
    namespace: str = "",
) -> Outcome:
    return cycle.run(Situation(snapshot, list(clusters), list(bindings), NOW, namespace))


def picked(outcome: Outcome) -> list[str]:
    """Clusters that get a new binding, in the order in which they were picked."""
    return [each["clusterName"] for each in outcome.created]


def reasons(outcome: Outcome) -> dict[str, str]:
    """What the policy snapshot says of each cluster."""
    assert outcome.status is not None
    told = outcome.status.get("targetClusters") or ()
    return {each["clusterName"]: each["reason"] for each in told}


def scheduled(outcome: Outcome) -> tuple[str, str, str]:
    assert outcome.status is not None
    [found] = outcome.status["conditions"]
    return found["status"], found["reason"], found["message"]


def clusters_of(found: Iterable[Json]) -> list[str]:
    return sorted(each["spec"]["targetCluster"] for each in found)
