"""Placements, and the parts of the scheduler and the members that a test plays itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.placing import World

from fleetqueue.fleet import kinds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, Scope
from fleetqueue.kube.resources import Object


def selector(
    kind: str, name: str = "", *, group: str = "", version: str = "v1", **more: Any
) -> Object:
    named = {"name": name} if name else {}
    return {"group": group, "version": version, "kind": kind, **named, **more}


def placement(name: str, *selectors: Object, namespace: str = "", **spec: Any) -> Object:
    """Of the whole cluster, or of a namespace where one is given."""
    scope = kinds.NAMESPACED if namespace else CLUSTER_SCOPE
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": scope.placement.api_version,
        "kind": scope.placement.kind,
        "metadata": metadata,
        "spec": {"resourceSelectors": list(selectors), **spec},
    }


def config_map(name: str, namespace: str, **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def told(obj: Object) -> dict[str, tuple[str, str]]:
    """Status and reason by type, without the kind in front of it."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return {_short(obj["kind"], each["type"]): (each["status"], each["reason"]) for each in found}


def words(obj: Object) -> dict[str, str]:
    """Message by type."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return {_short(obj["kind"], each["type"]): each["message"] for each in found}


def names(obj: Object) -> list[tuple[str, str]]:
    """Kind and name of what the status lists."""
    return [
        (each["kind"], each["name"])
        for each in (obj.get("status") or {}).get("selectedResources") or ()
    ]


def _short(kind: str, type: str) -> str:
    return type.removeprefix(kind)


class Played:
    """What others would write for one placement, by hand."""

    def __init__(self, world: World, name: str, scope: Scope = CLUSTER_SCOPE, namespace: str = ""):
        self.client = world.hub.client
        self.world = world
        self.name = name
        self.scope = scope
        self.namespace = namespace

    async def schedule(
        self,
        *clusters: str,
        unselected: Iterable[str] = (),
        is_fulfilled: bool = True,
        index: int = 0,
    ) -> None:
        """As the scheduler would: a binding each, and the decision on the policy snapshot."""
        for cluster in clusters:
            await self.client.create(self._binding(cluster, f"{self.name}-{index}"))
        await self.decide(*clusters, unselected=unselected, is_fulfilled=is_fulfilled, index=index)

    async def decide(
        self,
        *clusters: str,
        unselected: Iterable[str] = (),
        is_fulfilled: bool = True,
        index: int = 0,
    ) -> None:
        """The decision alone, as for a placement that has its bindings."""
        policy = f"{self.name}-{index}"
        snapshot = await self.world.hub.get(self.scope.policy_snapshot, policy, self.namespace)
        annotations = snapshot["metadata"]["annotations"]
        text = f"found {len(clusters)} cluster(s)"
        status = {
            "observedCRPGeneration": int(annotations["kubernetes-fleet.io/CRP-generation"]),
            "conditions": [
                {
                    "type": "Scheduled",
                    "status": "True" if is_fulfilled else "False",
                    "reason": "SchedulingPolicyFulfilled"
                    if is_fulfilled
                    else "SchedulingPolicyUnfulfilled",
                    "message": text,
                    "observedGeneration": snapshot["metadata"]["generation"],
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            "targetClusters": [
                *({"clusterName": each, "selected": True, "reason": "picked"} for each in clusters),
                *(
                    {"clusterName": each, "selected": False, "reason": "ClusterUnschedulable, no"}
                    for each in unselected
                ),
            ],
        }
        await self._status(self.scope.policy_snapshot, policy, status)

    async def bind(
        self, cluster: str, index: int, *steps: tuple[str, str, str], **status: Any
    ) -> None:
        """The binding delivers that snapshot; steps are type, status and reason."""
        name = f"{self.name}-{cluster}"
        change = {
            "spec": {"state": "Bound", "resourceSnapshotName": f"{self.name}-{index}-snapshot"}
        }
        await self.client.patch(self.scope.binding, name, change, self.namespace)
        await self.report(cluster, *steps, **status)

    async def report(self, cluster: str, *steps: tuple[str, str, str], **status: Any) -> None:
        name = f"{self.name}-{cluster}"
        binding = await self.world.hub.get(self.scope.binding, name, self.namespace)
        conditions = [
            {
                "type": type,
                "status": value,
                "reason": reason,
                "message": f"{reason} of {cluster}",
                "observedGeneration": binding["metadata"]["generation"],
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for type, value, reason in steps
        ]
        await self._status(self.scope.binding, name, {"conditions": conditions, **status})

    def _binding(self, cluster: str, policy: str) -> Object:
        kind = self.scope.binding
        metadata: Mapping[str, Any] = {
            "name": f"{self.name}-{cluster}",
            "labels": {"kubernetes-fleet.io/parent-CRP": self.name},
            **({"namespace": self.namespace} if self.namespace else {}),
        }
        return {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": metadata,
            "spec": {
                "state": "Scheduled",
                "schedulingPolicySnapshotName": policy,
                "targetCluster": cluster,
                "resourceSnapshotName": "",
                "clusterDecision": {"clusterName": cluster, "selected": True, "reason": "picked"},
            },
        }

    async def _status(self, kind: Any, name: str, status: Object) -> None:
        await self.client.patch(
            kind, name, {"status": status}, self.namespace, subresource="status"
        )


STARTED = ("RolloutStarted", "True", "RolloutStarted")
UNTOUCHED = ("Overridden", "True", "NoOverrideSpecified")
SYNCED = ("WorkSynchronized", "True", "AllWorkSynced")
APPLIED = ("Applied", "True", "AllWorkHaveBeenApplied")
AVAILABLE = ("Available", "True", "AllWorkAreAvailable")
DONE = (STARTED, UNTOUCHED, SYNCED, APPLIED, AVAILABLE)
