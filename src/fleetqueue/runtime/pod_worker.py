"""One pod on this machine, from its binding to its end: what starts when, what ends it, and what
its status says meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from fleetqueue.api import times
from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import Conflict, KubeError, NotFound
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.container_worker import ContainerWorker, Role
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.pod_status import (
    DEADLINE_EXCEEDED,
    ContainerFacts,
    Failure,
    PodFacts,
    Waiting,
    build_status,
    is_sidecar,
)
from fleetqueue.runtime.pod_writes import delete_pod
from fleetqueue.runtime.preparation import NotReady, Preparation, Sandbox
from fleetqueue.runtime.processes import Processes
from fleetqueue.runtime.recovery import known_containers
from fleetqueue.runtime.surroundings import RestartBackoff

logger = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
DEFAULT_GRACE_SECONDS = 30.0
INITIALIZING = Waiting("PodInitializing")
CREATING = Waiting("ContainerCreating")
COMPONENT = "kubelet"


@dataclass(frozen=True, slots=True)
class Tools:
    """What all pod workers of a node share."""

    cluster: Cluster
    processes: Processes
    preparation: Preparation
    clock: Clock
    backoff: RestartBackoff
    as_run: Callable[[Object], Object] = lambda spec: spec
    """The spec of a pod as this machine runs it, where that differs from what it says."""


class PodWorker:
    """Runs one pod. `seen` tells it of changes of the object; it ends by itself."""

    def __init__(self, pod: Object, tools: Tools, done: Callable[["PodWorker"], None]) -> None:
        self.pod = pod
        self.uid = str(pod["metadata"]["uid"])
        self.processes = tools.processes
        self.preparation = tools.preparation
        self.clock = tools.clock
        self.backoff = tools.backoff.as_said_by(pod)
        self._cluster = tools.cluster
        self._as_run = tools.as_run
        self._done = done
        self.sandbox: Sandbox
        self.has_sandbox = False
        self._started_at: datetime | None = None
        self.workers: list[ContainerWorker] = self._make_workers()
        self._failure: Failure | None = None
        self._stop = asyncio.Event()
        self._grace: float | None = None
        self._dirty = asyncio.Event()
        self._is_over = False
        self._is_gone = False
        self._task = asyncio.create_task(self._run(), name=f"pod {pod['metadata']['name']}")

    def _make_workers(self) -> list[ContainerWorker]:
        """With what the status says of an earlier runtime's work."""
        known = known_containers(self.pod)
        waits = INITIALIZING if self.pod["spec"].get("initContainers") else CREATING
        return [
            ContainerWorker(self, spec, role, known.get(spec["name"], ContainerFacts(waits)))
            for spec, role in containers(self._as_run(self.pod["spec"]))
        ]

    # What its owner tells it

    def seen(self, pod: Object) -> None:
        """The object changed."""
        self.pod = pod
        if is_deleting(pod):
            self.stop(_grace(pod))

    def stop(self, grace: float) -> None:
        """End within so many seconds; another call can only hurry it."""
        if self._grace is None or grace < self._grace:
            self._grace = grace
            self._stop.set()

    def gone(self) -> None:
        """The object is no more: nothing may run, and nobody reads a status."""
        self._is_gone = True
        self.stop(0.0)

    def abandon(self) -> None:
        """Leave everything as it is: the machine goes down, or the runtime does."""
        self._task.cancel()

    async def ended(self) -> None:
        await asyncio.gather(self._task, return_exceptions=True)

    # What its containers tell it

    def changed(self) -> None:
        self._dirty.set()

    def note(self, type: str, reason: str, message: str) -> None:
        self._cluster.events.record(self.pod, type, reason, message, component=COMPONENT)

    # Its life

    async def _run(self) -> None:
        writer = asyncio.create_task(self._write_statuses(), name=f"status of {self.uid}")
        try:
            await self._live()
            # Before anybody learns of its end and takes what it had.
            self.preparation.retire(self.pod)
            self._is_over = True
            self.changed()
            await writer
            await self._bury()
        except Exception:
            logger.exception("a pod failed", extra={"uid": self.uid})
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._done(self)

    async def _live(self) -> None:
        if self._stop.is_set():
            # Deleted before it began, or before an earlier runtime ended: nothing of it runs.
            await asyncio.gather(*(worker.settle() for worker in self.workers))
            return
        life = asyncio.create_task(self._work(), name=f"life of {self.uid}")
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                (life, stop), timeout=self._seconds_left(), return_when=asyncio.FIRST_COMPLETED
            )
            if not life.done() and not stop.done():
                self._failure = DEADLINE_EXCEEDED
                self.stop(_grace(self.pod))
            if not life.done():
                await self._end_containers(life)
            else:
                life.result()
        finally:
            stop.cancel()
            life.cancel()
            await asyncio.gather(life, stop, return_exceptions=True)

    def _seconds_left(self) -> float | None:
        limit = self.pod["spec"].get("activeDeadlineSeconds")
        if limit is None:
            return None
        begun = self._begun()
        return max(float(limit) - (self.clock.now() - begun).total_seconds(), 0.0)

    def _begun(self) -> datetime:
        text = (self.pod.get("status") or {}).get("startTime")
        if self._started_at is None:
            self._started_at = times.parse_time(text) if text else self.clock.now()
        return self._started_at

    async def _work(self) -> None:
        """Sandbox, init containers one after the other, then all main containers."""
        self._begun()
        self.changed()
        await self._make_sandbox()
        for worker in self._of("init", "sidecar"):
            if worker.role == "init":
                exit = await worker.run()
                if exit.code != 0:
                    # Nothing restarts it, so nothing after it can begin.
                    return
            else:
                self._spawn(worker)
                await worker.started.wait()
        mains = self._of("main")
        for worker in mains:
            if worker.shown.state == INITIALIZING:
                worker.shown = replace(worker.shown, state=CREATING)
        self.changed()
        await asyncio.gather(*(worker.run() for worker in mains))
        await self._end_sidecars(DEFAULT_GRACE_SECONDS)

    def _spawn(self, worker: ContainerWorker) -> None:
        worker.task = asyncio.create_task(worker.run(), name=f"sidecar {worker.name}")

    async def _make_sandbox(self) -> None:
        while True:
            try:
                self.sandbox = await self.preparation.sandbox(self.pod)
            except NotReady as missing:
                self.note("Warning", missing.reason, missing.message)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self.has_sandbox = True
                self.changed()
                return

    # Its end

    async def _end_containers(self, life: "asyncio.Task[None]") -> None:
        """Main and init containers together, then sidecars in reverse order."""
        loop = asyncio.get_running_loop()
        while True:
            grace = self._grace or 0.0
            self._stop.clear()
            ends_at = loop.time() + grace
            ending = asyncio.create_task(self._end_all(life, ends_at))
            hurry = asyncio.create_task(self._stop.wait())
            await asyncio.wait((ending, hurry), return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
            if ending.done():
                ending.result()
                return
            # Somebody asked again, for less time.
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)

    async def _end_all(self, life: "asyncio.Task[None]", ends_at: float) -> None:
        loop = asyncio.get_running_loop()
        for worker in self._of("init", "main"):
            worker.forbid()
        running = [worker for worker in self._of("init", "main") if worker.is_live]
        grace = max(ends_at - loop.time(), 0.0)
        await asyncio.gather(*(worker.stop(grace) for worker in running))
        await self._end_sidecars(max(ends_at - loop.time(), 0.0))
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)

    async def _end_sidecars(self, grace: float) -> None:
        for worker in reversed(self._of("sidecar")):
            if worker.is_live:
                await worker.stop(grace)

    async def _bury(self) -> None:
        """A pod that is being deleted goes when nothing of it runs; others stay to be read."""
        if is_deleting(self.pod) and not self._is_gone:
            await delete_pod(self._cluster, self.pod, grace_seconds=0)
        if self._is_gone or is_deleting(self.pod):
            await self.preparation.release(self.pod)

    # Its status

    async def _write_statuses(self) -> None:
        """One write at a time, each with all that changed since the one before."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            is_last = self._is_over
            if not self._is_gone:
                await self._write_status()
            if is_last and not self._dirty.is_set():
                return

    async def _write_status(self) -> None:
        while True:
            pod = self._newest()
            status = self._status(pod)
            if (pod.get("status") or {}) == status or self._is_gone:
                return
            patch = {
                "metadata": {
                    "uid": self.uid,
                    "resourceVersion": pod["metadata"]["resourceVersion"],
                },
                "status": _patch(pod.get("status") or {}, status),
            }
            metadata = pod["metadata"]
            try:
                self.pod = await self._cluster.patch(
                    POD,
                    metadata["name"],
                    patch,
                    metadata["namespace"],
                    subresource="status",
                    field_manager=COMPONENT,
                )
                return
            except NotFound:
                self.gone()
                return
            except Conflict:
                await self._refresh()
            except KubeError as error:
                logger.warning("a status was not written: pod=%s: %s", self.uid, error)
                await asyncio.sleep(RETRY_SECONDS)

    def _newest(self) -> Object:
        metadata = self.pod["metadata"]
        cached = self._cluster.cached(POD, metadata["name"], metadata["namespace"])
        if cached is not None and cached["metadata"]["uid"] == self.uid:
            return cached
        return self.pod

    async def _refresh(self) -> None:
        metadata = self.pod["metadata"]
        try:
            fresh = await self._cluster.client.get(POD, metadata["name"], metadata["namespace"])
        except NotFound:
            self.gone()
            return
        if fresh["metadata"]["uid"] != self.uid:
            self.gone()
            return
        self._cluster.accept(fresh)

    def _status(self, pod: Object) -> Object:
        """The whole status that the pod should have."""
        facts = PodFacts(
            containers={worker.name: worker.shown for worker in self.workers},
            has_sandbox=self.has_sandbox,
            is_over=self._is_over,
            failure=self._failure,
            started_at=self._started_at,
            pod_ip=self.sandbox.address if self.has_sandbox else "",
            host_ip=self.sandbox.host_address if self.has_sandbox else "",
        )
        return build_status(pod, facts, self.clock.now())

    def _of(self, *roles: Role) -> list[ContainerWorker]:
        return [worker for worker in self.workers if worker.role in roles]


def containers(spec: Object) -> list[tuple[Object, Role]]:
    """The containers of a pod in the order in which they begin."""
    found: list[tuple[Object, Role]] = []
    for each in spec.get("initContainers") or ():
        found.append((each, "sidecar" if is_sidecar(each) else "init"))
    found += [(each, "main") for each in spec["containers"]]
    return found


def _grace(pod: Object) -> float:
    metadata, spec = pod["metadata"], pod["spec"]
    seconds = metadata.get("deletionGracePeriodSeconds")
    if seconds is None:
        seconds = spec.get("terminationGracePeriodSeconds")
    return DEFAULT_GRACE_SECONDS if seconds is None else float(seconds)


def _patch(old: Object, new: Object) -> Object:
    """What a merge patch must say to turn one status into the other."""
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    return {**{name: None for name in old if name not in new}, **changed}
