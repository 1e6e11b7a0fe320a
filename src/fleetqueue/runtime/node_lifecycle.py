"""Watches over nodes: one that falls silent is marked and tainted, as is one that is cordoned."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import LEASE, NODE, POD
from fleetqueue.runtime.node_health import ready_status, silent_conditions, wanted_taints
from fleetqueue.runtime.node_keeper import LEASES
from fleetqueue.runtime.pod_conditions import condition, said
from fleetqueue.runtime.pod_facts import is_ready, node_name
from fleetqueue.runtime.pod_writes import patch_status

COMPONENT = "node-controller"
MANAGER = "kube-controller-manager"
GRACE_SECONDS = 40.0
"""How long a node may be silent."""
STARTUP_SECONDS = 60.0
"""How long a new one may be."""
BY_NODE = "node"


class NodeLifecycle(Controller[Any]):
    """Counts silence from when it saw the last sign of life, by its own clock."""

    kind: ClassVar[Resource] = NODE
    workers = 4
    watches = (
        Watch(LEASE, wakes=lambda lease: (Key("", lease["metadata"]["name"]),), namespace=LEASES),
    )

    def __init__(
        self,
        cluster: Cluster,
        *,
        grace_seconds: float = GRACE_SECONDS,
        startup_seconds: float = STARTUP_SECONDS,
    ) -> None:
        self._cluster = cluster
        self._grace = timedelta(seconds=grace_seconds)
        self._startup = timedelta(seconds=startup_seconds)
        self._signs: dict[str, tuple[object, datetime]] = {}
        """By node: its last sign of life, and when we saw it first."""
        self._known: dict[str, str] = {}
        cluster.informer(POD, indexes={BY_NODE: lambda pod: (node_name(pod),)})
        cluster.informer(LEASE, LEASES)

    @property
    def name(self) -> str:
        return COMPONENT

    async def reconcile(self, node: Object, /) -> Result:
        name, now = str(node["metadata"]["name"]), self._cluster.clock.now()
        self._greet(node)
        deadline = self._last_sign(node, now) + (
            self._grace if ready_status(node) else self._startup
        )
        if now >= deadline:
            node = await self._declare_silent(node, now)
        taints = wanted_taints(node, now)
        if taints != ((node.get("spec") or {}).get("taints") or []):
            patch = {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": taints or None},
            }
            await self._cluster.patch(NODE, name, patch, field_manager=MANAGER)
        return DONE if now >= deadline else Result(deadline - now)

    async def gone(self, key: Key, /) -> Result:
        self._signs.pop(key.name, None)
        if uid := self._known.pop(key.name, None):
            self._note(key.name, uid, "RemovingNode", f"Removing Node {key.name} from Controller")
        return DONE

    def _greet(self, node: Object) -> None:
        name, uid = str(node["metadata"]["name"]), str(node["metadata"]["uid"])
        if self._known.get(name) != uid:
            self._known[name] = uid
            self._note(name, uid, "RegisteredNode", f"Registered Node {name} in Controller")

    def _note(self, name: str, uid: str, reason: str, what: str) -> None:
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid}}
        message = f"Node {name} event: {what}"
        self._cluster.events.record(about, "Normal", reason, message, component=COMPONENT)

    def _last_sign(self, node: Object, now: datetime) -> datetime:
        name = str(node["metadata"]["name"])
        lease = self._cluster.cached(LEASE, name, LEASES)
        renewed = (lease or {}).get("spec", {}).get("renewTime")
        beats = [
            each.get("lastHeartbeatTime")
            for each in (node.get("status") or {}).get("conditions") or ()
            if each.get("type") == "Ready" and each.get("status") != "Unknown"
        ]
        sign = (node["metadata"]["uid"], renewed, beats)
        known = self._signs.get(name)
        if known is None or known[0] != sign:
            self._signs[name] = (sign, now)
        return self._signs[name][1]

    async def _declare_silent(self, node: Object, now: datetime) -> Object:
        conditions = silent_conditions(node, now)
        old = (node.get("status") or {}).get("conditions") or []
        if conditions == old:
            return node
        name, was_ready = str(node["metadata"]["name"]), ready_status(node) == "True"
        written: Object = await self._cluster.patch(
            NODE,
            name,
            {"status": {"conditions": conditions}},
            subresource="status",
            field_manager=MANAGER,
        )
        if was_ready:
            message = f"Node {name} status is now: NodeNotReady"
            self._cluster.events.record(
                node, "Normal", "NodeNotReady", message, component=COMPONENT
            )
            await self._mark_pods(name, now)
        return written

    async def _mark_pods(self, name: str, now: datetime) -> None:
        for pod in self._cluster.cached_by(POD, BY_NODE, name):
            if not is_ready(pod):
                continue
            status = {"conditions": [condition(pod, "Ready", said(False), now)]}
            if not await patch_status(self._cluster, pod, status, MANAGER):
                continue
            self._cluster.events.record(
                pod, "Warning", "NodeNotReady", "Node is not ready", component=COMPONENT
            )
