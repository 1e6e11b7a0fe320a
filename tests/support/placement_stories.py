"""What stories about a fleet on real servers do, and what they look at; texts are KubeFleet's."""

from typing import Any

from fleetqueue.api.times import format_time
from fleetqueue.base.clock import SystemClock
from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import Resource
from support.placement_fleet import CONFIG_MAPS, MERGE, NAMESPACES, Fleet, Side

Object = dict[str, Any]
PLACEMENT = kinds.CLUSTER_SCOPE.placement
APPROVAL = kinds.CLUSTER_SCOPE.approval_request
PICK_ALL = {"placementType": "PickAll"}
QUICKLY = {"type": "RollingUpdate", "rollingUpdate": {"unavailablePeriodSeconds": 1}}
FULFILLED = "found all cluster needed as specified by the scheduling policy, found {} cluster(s)"
SCORED = (
    'Successfully scheduled resources for placement in "{}" (affinity score: {}, topology spread'
    " score: 0): picked by scheduling policy"
)
NO_OVERRIDE = "No override rules are configured for the selected resources"
STARTED = "Detected the new changes on the resources and started the rollout process"
EVENTS_OF_A_ROLLOUT = (
    ("Normal", "PlacementRolloutStarted", "Started rolling out the latest resources"),
    ("Normal", "PlacementOverriddenSucceeded", "Placement has been successfully overridden"),
    ("Normal", "PlacementWorkSynchronized",
     "Work(s) have been created or updated successfully for the selected cluster(s)"),
    ("Normal", "PlacementApplied", "Resources have been applied to the selected cluster(s)"),
    ("Normal", "PlacementAvailable", "Resources are available on the selected cluster(s)"),
    ("Normal", "PlacementRolloutCompleted",
     "Placement has finished the rollout process and reached the desired status"),
)  # fmt: skip


# What the stories do


def offer(fleet: Fleet, namespace: str, **config_maps: Object) -> None:
    fleet.hub.create(NAMESPACES, {"metadata": {"name": namespace}})
    for name, data in config_maps.items():
        metadata = {"name": name, "namespace": namespace}
        fleet.hub.create(CONFIG_MAPS, {"metadata": metadata, "data": data})


def place(fleet: Fleet, name: str, namespace: str, *, scope: str = "", **spec: Any) -> Object:
    chosen = selector("Namespace", namespace)
    if scope:
        chosen["selectionScope"] = scope
    return fleet.hub.create(PLACEMENT, placement(name, [chosen], **spec))


def placement(name: str, selectors: list[Object], **spec: Any) -> Object:
    given = {"policy": PICK_ALL, "strategy": QUICKLY, **spec}
    return named(PLACEMENT, name, spec={"resourceSelectors": selectors, **given})


def selector(kind: str, name: str) -> Object:
    return {"group": "", "version": "v1", "kind": kind, "name": name}


def preferred(order: str) -> Object:
    def term(weight: int, resource: str) -> Object:
        sorter = {"name": f"resources.kubernetes-fleet.io/available-{resource}", "sortOrder": order}
        return {"weight": weight, "preference": {"propertySorter": sorter}}

    terms = [term(40, "cpu"), term(30, "memory")]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def in_region(region: str) -> Object:
    labels = {"labelSelector": {"matchLabels": {"region": region}}}
    return {"clusterSelectorTerms": [labels]}


def override(fleet: Fleet, name: str, config_map: str, rule: Object) -> None:
    spec = {
        "placement": {"name": "changed"},
        "resourceSelectors": [selector("ConfigMap", config_map)],
        "policy": {"overrideRules": [rule]},
    }
    metadata = {"name": name, "namespace": "changed"}
    fleet.hub.create(kinds.OVERRIDE, {"metadata": metadata, "spec": spec})


def evict(fleet: Fleet, name: str, placed: str, cluster: str) -> None:
    spec = {"placementName": placed, "clusterName": cluster}
    fleet.hub.create(kinds.EVICTION, {"metadata": {"name": name}, "spec": spec})


def approve(fleet: Fleet, name: str) -> None:
    approved = {
        "type": "Approved", "status": "True", "reason": "byHand", "message": "approved",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    }  # fmt: skip
    fleet.hub.patch(APPROVAL, name, {"status": {"conditions": [approved]}}, "", "status")


def named(kind: Resource, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def remove(fleet: Fleet, name: str, namespace: str = "") -> None:
    fleet.hub.delete(PLACEMENT, name)
    nothing_is_left(fleet, name, namespace or name)


# What the other side would write


def report_joined(hub: Side, name: str, token: str, joined: str) -> int:
    """What the agent of a member says of itself, with its own rights; the answer's code."""
    kind, space = kinds.INTERNAL_MEMBER_CLUSTER, f"fleet-member-{name}"
    generation = hub.get(kind, name, space)["metadata"]["generation"]
    suffix = "Joined" if joined == "True" else "Left"
    agent = {
        "type": "MemberAgent",
        "lastReceivedHeartbeat": format_time(SystemClock().now()),
        "conditions": [
            noted("Healthy", "True", "InternalMemberClusterHealthy", "", generation),
            noted("Joined", joined, f"InternalMemberCluster{suffix}", "", generation),
        ],
    }
    usage = {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}, "available": {"cpu": "1"}}
    body = {"status": {"agentStatus": [agent], "resourceUsage": usage}}
    path = kind.path(space, name, "status")
    return hub.send("PATCH", path, body, {"Content-Type": MERGE}, token)[0]


def work_spec(namespace: str, data: Object) -> Object:
    space = {"name": namespace, "labels": {"kubernetes.io/metadata.name": namespace}}
    inside = {"name": "conf", "namespace": namespace}
    return {
        "applyStrategy": {
            "comparisonOption": "PartialComparison", "type": "ClientSideApply",
            "whenToApply": "Always", "whenToTakeOver": "Always",
        },
        "workload": {"manifests": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": space,
             "spec": {"finalizers": ["kubernetes"]}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": inside, "data": data},
        ]},
    }  # fmt: skip


def work_status(namespace: str, generation: int) -> Object:
    space = {"kind": "Namespace", "name": namespace, "resource": "namespaces"}
    conf = {"kind": "ConfigMap", "name": "conf", "namespace": namespace, "resource": "configmaps"}
    done = [
        noted("Applied", "True", "Applied", "Manifest has been applied successfully"),
        noted("Available", "True", "Available", "Manifest is available"),
    ]
    return {
        "conditions": [
            noted("Applied", "True", "AllManifestsApplied",
                  "All the specified manifests have been applied", generation),
            noted("Available", "True", "AllManifestsAvailable",
                  "All of the applied manifests are available", generation),
        ],
        "manifestConditions": [
            {"identifier": {"ordinal": ordinal, "version": "v1", **about}, "conditions": done}
            for ordinal, about in enumerate((space, conf))
        ],
    }  # fmt: skip


def noted(type: str, status: str, reason: str, message: str, generation: int = 0) -> Object:
    found = {"type": type, "status": status, "reason": reason, "message": message}
    found["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    return {**found, **({"observedGeneration": generation} if generation else {})}


def without_times(status: Any) -> Any:
    """What it says, whenever that was."""
    if isinstance(status, list):
        return [without_times(each) for each in status]
    if isinstance(status, dict):
        return {
            key: without_times(value) for key, value in status.items() if not key.endswith("Time")
        }
    return status


def is_deleting(obj: Object | None) -> bool:
    return obj is not None and "deletionTimestamp" in obj["metadata"]


# What the stories look at


def sides(fleet: Fleet) -> list[Side]:
    return [fleet.hub, *fleet.members.values()]


def has_joined(fleet: Fleet, name: str) -> bool:
    found = fleet.hub.get(kinds.MEMBER_CLUSTER, name).get("status") or {}
    return condition(found, "Joined")[0] == "True" and bool(found.get("resourceUsage"))


def told(status: Object, *, with_generation: bool = True) -> list[tuple[Any, ...]]:
    fields = ("type", "status", "reason", "message", "observedGeneration")
    shown = fields if with_generation else fields[:-1]
    return [tuple(each[field] for field in shown) for each in status.get("conditions") or ()]


def condition(status: Object | None, type: str) -> tuple[str, str, str]:
    for each in (status or {}).get("conditions") or ():
        if each["type"] == type:
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def reported(fleet: Fleet, kind: Resource, name: str, type: str) -> tuple[str, str, str]:
    return condition(fleet.hub.get(kind, name).get("status"), f"{kind.kind}{type}")


def executed(fleet: Fleet, name: str) -> tuple[str, str, str]:
    return condition(fleet.hub.get(kinds.EVICTION, name).get("status"), "Executed")


def entry(fleet: Fleet, name: str, cluster: str) -> Object:
    status = fleet.hub.get(PLACEMENT, name).get("status") or {}
    for each in status.get("placementStatuses") or ():
        if each.get("clusterName") == cluster:
            found: Object = each
            return found
    return {}


def generation_seen(fleet: Fleet, name: str) -> int:
    status = fleet.hub.get(PLACEMENT, name).get("status") or {}
    seen = [each["observedGeneration"] for each in status.get("conditions") or ()]
    return min(seen, default=0)


def index_of(fleet: Fleet, name: str) -> str:
    status = fleet.hub.get(PLACEMENT, name).get("status") or {}
    return str(status.get("observedResourceIndex", ""))


def is_available(fleet: Fleet, kind: Resource, name: str, namespace: str, count: int) -> None:
    """All conditions of the placement, word by word."""

    def look() -> list[tuple[Any, ...]]:
        return told(fleet.hub.get(kind, name, namespace).get("status") or {})

    generation = fleet.hub.get(kind, name, namespace)["metadata"]["generation"]
    wanted = [
        (f"{kind.kind}{type}", "True", reason, message.format(count), generation)
        for type, reason, message in OF_A_PLACEMENT
    ]
    fleet.until_equal(f"{name} is available", look, wanted)


OF_A_PLACEMENT = (
    ("Scheduled", "SchedulingPolicyFulfilled", FULFILLED),
    ("RolloutStarted", "RolloutStarted", "All {} cluster(s) start rolling out the latest resource"),
    ("Overridden", "NoOverrideSpecified", NO_OVERRIDE),
    ("WorkSynchronized", "WorkSynchronized",
     "Work(s) are successfully created or updated in {} target cluster(s)' namespaces"),
    ("Applied", "ApplySucceeded",
     "The selected resources are successfully applied to {} cluster(s)"),
    ("Available", "ResourceAvailable", "The selected resources in {} cluster(s) are available now"),
)  # fmt: skip


def cluster_conditions(name: str, score: int, generation: int) -> list[tuple[Any, ...]]:
    return [
        ("Scheduled", "True", "Scheduled", SCORED.format(name, score), generation),
        ("RolloutStarted", "True", "RolloutStarted", STARTED, generation),
        ("Overridden", "True", "NoOverrideSpecified", NO_OVERRIDE, generation),
        ("WorkSynchronized", "True", "AllWorkSynced",
         "All of the works are synchronized to the latest", generation),
        ("Applied", "True", "AllWorkHaveBeenApplied", "All corresponding work objects are applied",
         generation),
        ("Available", "True", "AllWorkAreAvailable",
         "All corresponding work objects are available", generation),
    ]  # fmt: skip


def is_placed(member: Side, namespace: str, work: str, data: Object) -> None:
    """Owned by what stands for the Work, so that the server's own garbage collection clears it."""
    owner = member.get(kinds.APPLIED_WORK, work)["metadata"]["uid"]
    reference = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "blockOwnerDeletion": True,
        "kind": "AppliedWork", "name": work, "uid": owner,
    }  # fmt: skip
    found = member.get(CONFIG_MAPS, "conf", namespace)
    assert found["data"] == data
    assert found["metadata"]["ownerReferences"] == [reference]
    assert member.get(NAMESPACES, namespace)["metadata"]["ownerReferences"] == [reference]


def arrives(fleet: Fleet, cluster: str, namespace: str, name: str, data: Object) -> None:
    def look() -> Object:
        found = fleet.members[cluster].find(CONFIG_MAPS, name, namespace) or {}
        return dict(found.get("data") or {})

    fleet.until_equal(f"{name} on {cluster}", look, data)


def nothing_is_left(fleet: Fleet, name: str, namespace: str) -> None:
    """Of a placement: on members what it placed is gone, on the hub all that was made for it."""

    def of_placement(kind: Resource) -> list[str]:
        label = "kubernetes-fleet.io/parent-CRP"
        found = fleet.hub.all(kind)
        return [
            str(each["metadata"]["name"])
            for each in found
            if (each["metadata"].get("labels") or {}).get(label) == name
        ]

    fleet.until(f"{name} is gone", lambda: fleet.hub.find(PLACEMENT, name) is None)
    scope = kinds.CLUSTER_SCOPE
    for kind in (kinds.WORK, scope.binding, scope.resource_snapshot, scope.policy_snapshot):
        fleet.until_equal(f"{kind}", lambda kind=kind: of_placement(kind), [])
    for member in fleet.members.values():
        fleet.until(
            f"{namespace} is gone",
            lambda member=member: member.find(NAMESPACES, namespace) is None,
        )
        fleet.until(
            "so is its AppliedWork",
            lambda member=member: member.find(kinds.APPLIED_WORK, f"{name}-work") is None,
        )


def room(cpu: str, memory: str) -> Object:
    return {"cpu": cpu, "memory": memory}
