"""Gives pods their nodes: follows the cluster, asks the scheduling core, binds what fits, and tells
the others why they wait.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.kube import subresources
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import KubeError, NotFound
from fleetqueue.kube.resources import Object, Resource, uid_of
from fleetqueue.runtime.conditions import find
from fleetqueue.runtime.kinds import CLAIM, DISRUPTION_BUDGET, NAMESPACE, NODE, POD, VOLUME
from fleetqueue.runtime.pod_conditions import condition, disruption, said
from fleetqueue.runtime.pod_writes import delete_pod, patch_status
from fleetqueue.runtime.scheduling import messages, volumes
from fleetqueue.runtime.scheduling.cycle import Placed, Waits, schedule
from fleetqueue.runtime.scheduling.pods import DEFAULT_SCHEDULER, PodInfo, waits
from fleetqueue.runtime.scheduling.preemption import REASON, Preemption
from fleetqueue.runtime.scheduling.tracking import Tracker

STORAGE_CLASS = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
TOGETHER_MAX = 64
"""Pods that are bound at once."""
ACTIONS = {"Scheduled": "Binding", "FailedScheduling": "Scheduling", "Preempted": "Preempting"}
"""What the events of each reason say was being done."""
_ANY = Key("", "scheduler")


class Binder(Controller[Any]):
    """The default scheduler. One worker: decisions follow each other, writes go together."""

    kind: ClassVar[Resource] = POD
    workers = 1

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tracker = Tracker()
        self._doubtful: dict[str, tuple[PodInfo, str]] = {}
        """Bindings of which nobody knows whether they happened."""
        self._volumes = volumes.Volumes(
            claim=lambda namespace, name: cluster.cached(CLAIM, name, namespace),
            volume=lambda _, name: cluster.cached(VOLUME, name),
            storage_class=lambda _, name: cluster.cached(STORAGE_CLASS, name),
        )
        followed = {
            POD: self._tracker.pod_changed,
            NODE: self._tracker.node_changed,
            NAMESPACE: self._tracker.namespace_changed,
            CLAIM: self._tracker.volumes_changed,
            VOLUME: self._tracker.volumes_changed,
            STORAGE_CLASS: self._tracker.volumes_changed,
            DISRUPTION_BUDGET: None,
        }
        # Before the manager listens: what an event changes is known when it wakes us.
        for kind, listener in followed.items():
            informer = cluster.informer(kind)
            if listener is not None:
                informer.listen(listener)
        self.watches = tuple(
            Watch(kind, wakes=lambda _: (_ANY,), when=self._has_work)
            for kind in followed
            if kind is not POD
        )

    @property
    def name(self) -> str:
        return DEFAULT_SCHEDULER

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return self._has_work(old, new)

    async def reconcile(self, pod: Object, /) -> Result:
        return await self._drain()

    async def gone(self, key: Key, /) -> Result:
        return await self._drain()

    def _has_work(self, old: Object | None, new: Object | None) -> bool:
        return self._tracker.pending.is_active

    async def _drain(self) -> Result:
        """Until no pod is left that has not been tried since something changed."""
        while steps := self._decide():
            done = await asyncio.gather(*steps, return_exceptions=True)
            for error in done:
                if isinstance(error, BaseException):
                    raise error
        return DONE

    def _decide(self) -> list[Awaitable[object]]:
        tracker = self._tracker
        steps: list[Awaitable[object]] = [self._bind(*each) for each in self._doubtful.values()]
        self._doubtful.clear()
        while len(steps) < TOGETHER_MAX:
            minded = tracker.state.minded_labels
            info = tracker.pending.next(minded)
            if info is None:
                break
            decision = schedule(tracker.state, info, self._volumes, self._budgets())
            if isinstance(decision, Placed):
                tracker.assume(info, decision.node)
                steps.append(self._bind(info, decision.node))
            elif decision.preemption is not None:
                tracker.wait_for_room(info, decision.preemption.node)
                steps.append(self._preempt(info, decision, decision.preemption))
            else:
                alike = tracker.pending.failed(info, decision.message, minded)
                steps += [self._tell(each, decision) for each in alike if _is_news(each, decision)]
        return steps

    def _budgets(self) -> Sequence[Object]:
        return self._cluster.cached_all(DISRUPTION_BUDGET)

    # Carrying out

    async def _bind(self, info: PodInfo, node: str) -> None:
        try:
            if not await self._have_volumes(info, node):
                return
            await subresources.bind(self._cluster.client, info.name, node, info.namespace)
        except BaseException as error:
            self._doubtful[info.uid] = (info, node)
            if not isinstance(error, KubeError):
                raise
            if await self._is_settled(info):
                return
            raise
        message = f"Successfully assigned {info.namespace}/{info.name} to {node}"
        self._record(info.object, "Normal", "Scheduled", message)

    async def _is_settled(self, info: PodInfo) -> bool:
        """A binding that failed may have happened: what the pod says counts. Its place is kept as
        long as that is not known.
        """
        try:
            pod = await self._cluster.client.get(POD, info.name, info.namespace)
        except NotFound:
            pod = None
        self._doubtful.pop(info.uid, None)
        is_same = pod is not None and uid_of(pod) == info.uid
        if pod is not None and is_same and pod["spec"].get("nodeName"):
            self._cluster.accept(pod)
            return True
        self._tracker.give_up(info, comes_back=pod is not None and is_same and waits(pod))
        return not is_same

    async def _have_volumes(self, info: PodInfo, node: str) -> bool:
        """Volumes that wait for a pod are asked for; it is bound once they are there."""
        missing = volumes.unbound_claims(info, self._volumes) if info.claims else []
        for claim in missing:
            metadata = claim["metadata"]
            if (metadata.get("annotations") or {}).get(volumes.SELECTED_NODE) == node:
                continue
            patch = {"metadata": {"annotations": {volumes.SELECTED_NODE: node}}}
            await self._cluster.patch(CLAIM, metadata["name"], patch, metadata["namespace"])
        if missing:
            self._tracker.hold(info, node)
        return not missing

    async def _preempt(self, info: PodInfo, decision: Waits, found: Preemption) -> None:
        lower = self._tracker.lower_nominated(info, found.node)
        if not await self._tell(info, decision):
            return
        try:
            for other in lower:
                await self._patch(other, {"nominatedNodeName": None})
            await asyncio.gather(*(self._evict(victim, info, found) for victim in found.victims))
        except BaseException:
            self._tracker.pending.wake_pod(info.uid)
            raise

    async def _evict(self, victim: PodInfo, preemptor: PodInfo, found: Preemption) -> None:
        message = f"{DEFAULT_SCHEDULER}: preempting to accommodate a higher priority pod"
        now = self._cluster.clock.now()
        if not await self._patch(victim, disruption(victim.object, REASON, message, now)):
            return
        if await delete_pod(self._cluster, victim.object):
            what = f"Preempted by pod {preemptor.uid} on node {found.node}"
            self._record(victim.object, "Normal", "Preempted", what)

    async def _tell(self, info: PodInfo, decision: Waits) -> bool:
        """The condition and the event that say why the pod waits; False where it is gone."""
        text = messages.event_message(decision.message)
        self._record(info.object, "Warning", "FailedScheduling", text)
        what = said(False, "Unschedulable", decision.message)
        now = self._cluster.clock.now()
        status: Object = {"conditions": [condition(info.object, "PodScheduled", what, now)]}
        nominated = _nomination(info, decision)
        if nominated != info.told_nomination:
            status["nominatedNodeName"] = nominated or None
        try:
            return await self._patch(info, status)
        except BaseException:
            self._tracker.pending.wake_pod(info.uid)
            raise

    async def _patch(self, info: PodInfo, status: Object) -> bool:
        return await patch_status(self._cluster, info.object, status, "kube-scheduler")

    def _record(self, pod: Object, type: str, reason: str, message: str) -> None:
        self._cluster.events.record(
            pod, type, reason, message, component=DEFAULT_SCHEDULER, action=ACTIONS[reason]
        )


def _nomination(info: PodInfo, decision: Waits) -> str:
    if decision.preemption is not None:
        return decision.preemption.node
    return info.nominated if decision.keeps_nomination else ""


def _is_news(info: PodInfo, decision: Waits) -> bool:
    """Whether the pod does not say so already."""
    told = find((info.object.get("status") or {}).get("conditions"), "PodScheduled") or {}
    says = (told.get("status"), told.get("reason"), told.get("message"))
    wanted = ("False", "Unschedulable", decision.message)
    return says != wanted or _nomination(info, decision) != info.told_nomination
