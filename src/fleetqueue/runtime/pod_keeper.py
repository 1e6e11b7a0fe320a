"""Keeps the pods of this machine's nodes running: a worker for each that is bound to one."""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.pod_facts import is_terminal
from fleetqueue.runtime.pod_worker import PodWorker, Tools
from fleetqueue.runtime.pod_writes import delete_pod


class PodKeeper(Controller[Any]):
    """The part of a node that runs pods. `is_ours` says which pods it runs."""

    kind = POD
    workers = 8

    def __init__(self, tools: Tools, is_ours: Callable[[Object], bool]) -> None:
        self._tools = tools
        self._is_ours = is_ours
        self._workers: dict[str, PodWorker] = {}
        """By uid: a name may be used again while the end of its last owner is still under way."""
        self._uids: dict[Key, str] = {}
        self._ended: dict[str, Object] = {}
        """By uid: pods that ended; their files are kept as long as their objects."""

    @property
    def name(self) -> str:
        return "kubelet"

    async def reconcile(self, pod: Object, /) -> Result:
        if not self._is_ours(pod):
            return DONE
        key, uid = key_of(pod), str(pod["metadata"]["uid"])
        await self._leave(key, uid)
        self._uids[key] = uid
        worker = self._workers.get(uid)
        if worker is not None:
            worker.seen(pod)
        elif not is_terminal(pod):
            self._workers[uid] = PodWorker(pod, self._tools, self._forget)
            self._workers[uid].seen(pod)
        elif is_deleting(pod):
            await self._remove(pod)
        else:
            self._ended[uid] = pod
        return DONE

    async def gone(self, key: Key, /) -> Result:
        await self._leave(key, "")
        return DONE

    async def _leave(self, key: Key, uid: str) -> None:
        """The name is free, or belongs to another pod by now: what was there before must end."""
        before = self._uids.get(key)
        if before is None or before == uid:
            return
        del self._uids[key]
        worker = self._workers.get(before)
        ended = self._ended.pop(before, None)
        if worker is not None:
            worker.gone()
        elif ended is not None:
            await self._tools.preparation.release(ended)

    async def _remove(self, pod: Object) -> None:
        """A pod that ended long ago and is deleted now."""
        self._ended.pop(str(pod["metadata"]["uid"]), None)
        await delete_pod(self._tools.cluster, pod, grace_seconds=0)
        await self._tools.preparation.release(pod)

    def find(self, pod: Object) -> PodWorker | None:
        """The worker of a pod, for those who want to reach into it."""
        return self.find_by_uid(str(pod["metadata"]["uid"]))

    def find_by_uid(self, uid: str) -> PodWorker | None:
        return self._workers.get(uid)

    def _forget(self, worker: PodWorker) -> None:
        self._workers.pop(worker.uid, None)
        is_there = self._uids.get(key_of(worker.pod)) == worker.uid
        if is_there and not is_deleting(worker.pod):
            self._ended[worker.uid] = worker.pod

    async def stop(self) -> None:
        """The machine goes down: nothing more is written; whoever starts again finds the state."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.abandon()
        for worker in workers:
            await worker.ended()
