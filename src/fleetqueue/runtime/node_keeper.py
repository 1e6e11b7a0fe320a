"""Keeps nodes alive in the eyes of the cluster: registers those that were declared, fills in the
status of new ones, and renews their leases.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_micro_time
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.errors import AlreadyExists, NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import LEASE, NODE
from fleetqueue.runtime.modes import is_down, is_simulated, is_simulated_node
from fleetqueue.runtime.nodes import (
    DECLARED,
    NAME_RESOLUTION,
    SIMULATED_CAPACITY,
    NodeSpec,
    Site,
    capacity_of,
    declaration,
    node_object,
    node_status,
)

LEASES = "kube-node-lease"
RENEW_SECONDS = 10.0
LEASE_SECONDS = 40


class NodeKeeper(Controller[Any]):
    """The part of a node that speaks for it. Nodes that anybody else makes and calls simulated are
    kept too.
    """

    kind: ClassVar[Resource] = NODE
    workers = 8

    def __init__(
        self,
        cluster: Cluster,
        specs: Iterable[NodeSpec],
        site: Site,
        *,
        renew_seconds: float = RENEW_SECONDS,
    ) -> None:
        self._cluster = cluster
        self._specs = {one.name: one for spec in specs for one in spec.each()}
        self._site = site
        self._renew_seconds = renew_seconds
        self._renewed_at: dict[str, datetime] = {}
        self._capacity: dict[str, Object] = {}
        """What each node had when we last looked: a change is a user's doing."""

    @property
    def name(self) -> str:
        return "kubelet"

    async def register(self) -> None:
        """Makes the nodes that were declared. What users have made of one that exists stays, unless
        it is declared in another way than before.
        """
        for spec in self._specs.values():
            wanted = node_object(spec, self._site)
            try:
                await self._cluster.create(wanted, field_manager=self.name)
            except AlreadyExists:
                await self._declare_again(spec, wanted)

    async def reconcile(self, node: Object, /) -> Result:
        name = str(node["metadata"]["name"])
        if not self._is_ours(node) or is_down(node):
            self._renewed_at.pop(name, None)
            return DONE
        now = self._cluster.clock.now()
        await self._write_status(node, now)
        await self._renew(node, now)
        left = self._renewed_at[name] + timedelta(seconds=self._renew_seconds) - now
        return Result(left)

    async def gone(self, key: Key, /) -> Result:
        self._renewed_at.pop(key.name, None)
        self._capacity.pop(key.name, None)
        return DONE

    def runs_as_process(self, pod: Object) -> bool:
        """Whether it is bound to a node that this process was started with, and not simulated. A
        node has its pods also while its object is gone.
        """
        name = str(pod["spec"].get("nodeName") or "")
        if name not in self._specs:
            return False
        node = self._cluster.cached(NODE, name) or node_object(self._specs[name], self._site)
        return not is_simulated(pod, node)

    def _is_ours(self, node: Object) -> bool:
        return node["metadata"]["name"] in self._specs or is_simulated_node(node)

    async def _declare_again(self, spec: NodeSpec, wanted: Object) -> None:
        node = await self._cluster.client.get(NODE, spec.name)
        notes = node["metadata"].get("annotations") or {}
        if notes.get(DECLARED) == declaration(spec, self._site):
            await self._say_how(spec, notes, wanted)
            return
        metadata = {key: wanted["metadata"][key] for key in ("labels", "annotations")}
        await self._cluster.patch(NODE, spec.name, {"metadata": metadata})
        amounts: Object = capacity_of(spec, self._site)
        # What is no longer declared must go, which a merge says with null.
        old = (node.get("status") or {}).get("capacity") or {}
        whole = {**dict.fromkeys(old), **amounts}
        status = {"status": {"capacity": whole, "allocatable": whole}}
        await self._cluster.patch(NODE, spec.name, status, subresource="status")

    async def _say_how(self, spec: NodeSpec, notes: Object, wanted: Object) -> None:
        """How names are found follows the machine, not what was declared."""
        way = wanted["metadata"]["annotations"].get(NAME_RESOLUTION)
        if way is not None and notes.get(NAME_RESOLUTION) != way:
            metadata = {"annotations": {NAME_RESOLUTION: way}}
            await self._cluster.patch(NODE, spec.name, {"metadata": metadata})

    async def _write_status(self, node: Object, now: datetime) -> None:
        name = str(node["metadata"]["name"])
        spec = self._specs.get(name)
        capacity = capacity_of(spec, self._site) if spec else SIMULATED_CAPACITY
        node = _following(node, self._capacity.get(name))
        status = node_status(node, self._site, now, capacity)
        self._capacity[name] = status["capacity"]
        if status != (self._cluster.cached(NODE, name) or node).get("status"):
            await self._cluster.patch(
                NODE, name, {"status": status}, subresource="status", field_manager=self.name
            )

    async def _renew(self, node: Object, now: datetime) -> None:
        name = str(node["metadata"]["name"])
        last = self._renewed_at.get(name)
        if last is not None and (now - last).total_seconds() < self._renew_seconds:
            return
        patch = {"spec": {"renewTime": format_micro_time(now)}}
        try:
            await self._cluster.client.patch(LEASE, name, patch, LEASES)
        except NotFound:
            await self._cluster.client.create(_lease(node, now), resource=LEASE)
        self._renewed_at[name] = now


def _following(node: Object, before: Object | None) -> Object:
    """Where a user changed the capacity alone, as much becomes allocatable."""
    status = node.get("status") or {}
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    if before is None or before == capacity:
        return node
    changed = {name: value for name, value in capacity.items() if before.get(name) != value}
    kept = {name: value for name, value in allocatable.items() if name in capacity}
    same = {name for name in changed if allocatable.get(name) == before.get(name)}
    follows = {**kept, **{name: changed[name] for name in same}}
    return {**node, "status": {**status, "allocatable": follows}}


def _lease(node: Object, now: datetime) -> Object:
    metadata = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {
            "name": metadata["name"],
            "namespace": LEASES,
            "ownerReferences": [owner],
        },
        "spec": {
            "holderIdentity": metadata["name"],
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format_micro_time(now),
        },
    }
