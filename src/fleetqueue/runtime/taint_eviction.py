"""Removes pods from nodes whose taints they do not tolerate, or not for so long."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.api.pods.taints import is_match
from fleetqueue.api.times import parse_time
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.runtime.kinds import NODE, POD
from fleetqueue.runtime.pod_conditions import disruption
from fleetqueue.runtime.pod_facts import is_terminal, node_name
from fleetqueue.runtime.pod_writes import delete_pod, patch_status

COMPONENT = "taint-eviction-controller"
MANAGER = "kube-controller-manager"
REASON = "DeletionByTaintManager"
MESSAGE = "Taint manager: deleting due to NoExecute taint"
BY_NODE = "node"


class TaintEviction(Controller[Any]):
    """Each pod has its own time to go."""

    kind: ClassVar[Resource] = POD
    workers = 4

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._since: dict[tuple[str, str, str], datetime] = {}
        """By node, key and value: when we first saw a taint that does not say so itself."""
        self._leaving: set[Key] = set()
        cluster.informer(POD, indexes={BY_NODE: lambda pod: (node_name(pod),)})
        self.watches = (Watch(NODE, wakes=self._pods_of, when=_changes_taints),)

    @property
    def name(self) -> str:
        return COMPONENT

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        """Of what happens to a pod, only a node and new tolerations count."""
        if old is None or new is None:
            return True
        return _matters(old) != _matters(new)

    async def reconcile(self, pod: Object, /) -> Result:
        node = self._cluster.cached(NODE, node_name(pod)) if node_name(pod) else None
        taints = _chasing(node) if node is not None else []
        if not taints or is_deleting(pod) or is_terminal(pod):
            return self._stays(pod)
        now = self._cluster.clock.now()
        dated = [(taint, self._added_at(node_name(pod), taint, now)) for taint in taints]
        due_at = evicted_at(pod["spec"].get("tolerations") or [], dated)
        if due_at is None:
            return self._stays(pod)
        if due_at > now:
            self._leaving.add(key_of(pod))
            return Result(due_at - now)
        await self._evict(pod, now)
        return DONE

    async def gone(self, key: Key, /) -> Result:
        self._leaving.discard(key)
        return DONE

    def _stays(self, pod: Object) -> Result:
        key = key_of(pod)
        if key in self._leaving:
            self._leaving.discard(key)
            if not is_deleting(pod):
                self._note(pod, f"Cancelling deletion of Pod {key.namespace}/{key.name}")
        return DONE

    async def _evict(self, pod: Object, now: datetime) -> None:
        key = key_of(pod)
        self._leaving.discard(key)
        self._note(pod, f"Marking for deletion Pod {key.namespace}/{key.name}")
        status = disruption(pod, REASON, MESSAGE, now)
        if await patch_status(self._cluster, pod, status, MANAGER):
            await delete_pod(self._cluster, pod)

    def _note(self, pod: Object, message: str) -> None:
        self._cluster.events.record(
            pod, "Normal", "TaintManagerEviction", message, component=COMPONENT
        )

    def _added_at(self, node: str, taint: Object, now: datetime) -> datetime:
        if said := taint.get("timeAdded"):
            return parse_time(said)
        which = (node, str(taint.get("key")), str(taint.get("value") or ""))
        return self._since.setdefault(which, now)

    def _pods_of(self, node: Object) -> list[Key]:
        name = str(node["metadata"]["name"])
        there = self._cluster.cached(NODE, name)
        chasing = [] if there is None else _chasing(there)
        current = {(t.get("key"), t.get("value") or "") for t in chasing}
        for which in [w for w in self._since if w[0] == name and (w[1], w[2]) not in current]:
            del self._since[which]
        return [key_of(pod) for pod in self._cluster.cached_by(POD, BY_NODE, name)]


def evicted_at(
    tolerations: Sequence[Object], taints: Sequence[tuple[Object, datetime]]
) -> datetime | None:
    """When a pod must leave a node with these taints, each with the time it came; None: it may
    stay. The shortest of the tolerations counts, from the first of the taints.
    """
    began_at = min(added_at for _, added_at in taints)
    shortest: float | None = None
    for taint, _ in taints:
        matching = [each for each in tolerations if is_match(each, taint)]
        if not matching:
            return began_at
        limits = [each["tolerationSeconds"] for each in matching if "tolerationSeconds" in each]
        if limits:
            least = max(min(limits), 0)
            shortest = least if shortest is None else min(shortest, least)
    return None if shortest is None else began_at + timedelta(seconds=shortest)


def _chasing(node: Object) -> list[Object]:
    taints = (node.get("spec") or {}).get("taints") or []
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def _changes_taints(old: Object | None, new: Object | None) -> bool:
    return (_chasing(old) if old else []) != (_chasing(new) if new else [])


def _matters(pod: Object) -> tuple[Any, ...]:
    return node_name(pod), pod["spec"].get("tolerations"), is_deleting(pod), is_terminal(pod)
