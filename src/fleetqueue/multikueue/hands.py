"""Does what was decided about a workload: on the manager at once, on workers by errands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fleetqueue.admission.delivery import deliver
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.merged_status import merge_patch
from fleetqueue.api.meta import Key
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.base.leisure import Leisure
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.kube.workqueue import SLOW_SECONDS
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import checks, copies, kinds
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.registry import Adapters
from fleetqueue.multikueue.components import component_of
from fleetqueue.multikueue.crowds import Crowds
from fleetqueue.multikueue.errands import Errands
from fleetqueue.multikueue.flow import steps
from fleetqueue.multikueue.mirroring import Mirroring, NotOurs
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Farewell, Worker, Workers


@dataclass(frozen=True, slots=True)
class Subject:
    """A workload and what its flow needs to know."""

    workload: Object
    check: Object
    adapter: Adapter
    jobs: Sequence[Object]
    configured: Sequence[str]

    @property
    def key(self) -> Key:
        return key_of(self.workload)


class Refused(FleetqueueError):
    """The flow cannot go on; what it says is in its problem."""

    who_acts = "user"


class Hands:
    """Writes, tells and counts for the controller of workloads."""

    def __init__(
        self,
        cluster: Cluster,
        source: Source,
        workers: Workers,
        adapters: Adapters,
        settings: DispatchSettings,
        metrics: Metrics,
        farewell: Farewell,
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._workers = workers
        self._adapters = adapters
        self._settings = settings
        self._metrics = metrics
        leisure = Leisure(is_busy=lambda: self.is_busy)
        self._mirroring = Mirroring(cluster, source, settings, farewell, leisure)
        self._complaints: dict[Key, dict[str, str]] = {}
        """By workload and worker: what was told last of a job that does not get there."""
        self.errands = Errands(cluster.random)
        self._crowds = Crowds(cluster.clock)
        self.is_busy = False
        """Whether the manager's server took long for what was written of a workload last."""

    async def do(self, subject: Subject, step: steps.Step) -> bool:
        """Whether something was put off."""
        match step:
            case steps.Remove(site):
                self._remove(site, subject.key, subject.adapter)
            case steps.MakeCopy(site, obj):
                self._start(site, subject.key, partial(self._make_copy, subject, obj))
            case steps.UpdateCopy(site, copy, spec):
                self._start(site, subject.key, partial(_update_copy, copy, spec))
            case steps.WriteCopy(site, made):
                merges = self._settings.gates.merge_patches
                self._start(site, subject.key, partial(write_copy, made, merges))
            case steps.Test(site, copy):
                await self._test(subject, site, copy)
            case steps.Sync():
                return await self._sync(subject, step)
            case steps.Reset():
                await self._mirroring.reset(subject.adapter, subject.jobs)
            case steps.Write(made):
                await self._write(made)
            case steps.SetCheck(state, message):
                await self._apply_check(subject.workload, subject.check, state, message)
            case steps.Tell(message, type, reason):
                self._tell(subject.workload, type, message, reason)
            case steps.Count(site):
                queue = _queue_of(subject.workload)
                self._metrics.count("multikueue_workloads_admitted_total", queue, site)
            case steps.WakeComponents():
                for each in checks.workloads_of(self._source, subject.jobs[0]):
                    if key_of(each) != subject.key:
                        self.errands.wake(key_of(each), 0.0)
        return False

    async def _sync(self, subject: Subject, step: steps.Sync) -> bool:
        if step.makes and returned(self._workers, subject, step.site):
            return True
        try:
            with self._crowds.joined(step.site):
                is_postponed = await self._mirroring.sync(
                    self._worker(step.site),
                    subject.adapter,
                    subject.workload,
                    subject.jobs,
                    step.copy,
                    makes=step.makes,
                    is_final=step.is_final,
                    is_stopped=step.is_stopped,
                )
        except (BadRequest, Forbidden, Invalid, NotFound, NotOurs) as error:
            self._complain(subject, step.site, str(error))
            raise
        self._complaints.get(subject.key, {}).pop(step.site, None)
        return is_postponed

    async def _test(self, subject: Subject, site: str, copy: Object) -> None:
        worker = self._worker(site)
        try:
            with self._crowds.joined(site):
                await self._mirroring.test(worker, subject.adapter, subject.jobs, copy)
        except (Forbidden, NotFound, NotOurs) as error:
            self._complain(subject, site, str(error))
            raise

    def _complain(self, subject: Subject, site: str, why: str) -> None:
        """Once for each reason: it is tried again and again."""
        text = f'The job does not get to worker cluster "{site}": {why}'
        told = self._complaints.setdefault(subject.key, {})
        if told.get(site) != text:
            told[site] = text
            self._tell(subject.workload, "Warning", text)

    async def _write(self, made: Object) -> None:
        clock = self._cluster.clock
        began = clock.monotonic()
        is_written = await deliver(self._cluster, made)
        self.is_busy = clock.monotonic() - began > SLOW_SECONDS
        if not is_written:
            raise Conflict({"message": "the workload changed while its worker was worked out"})

    async def set_check(self, workload: Object, check: Object, state: str, text: str) -> None:
        message = copies.with_previous(text, check["state"])
        await self._apply_check(workload, check, state, message)

    async def _apply_check(self, workload: Object, check: Object, state: str, message: str) -> None:
        made = copies.check_state(check, state, message, self._cluster.clock.now())
        names = ("name", "namespace", "resourceVersion", "uid")
        known = workload["metadata"]
        body = {
            "apiVersion": workload["apiVersion"],
            "kind": workload["kind"],
            "metadata": {name: known[name] for name in names if known.get(name)},
            "status": {"admissionChecks": [made]},
        }
        await self._cluster.apply(
            body, force=True, subresource="status", field_manager=kinds.CONTROLLER
        )

    def _tell(self, workload: Object, type: str, message: str, reason: str = steps.REASON) -> None:
        self.event(workload, type, reason, status.event_message(message))

    def event(self, workload: Object, type: str, reason: str, text: str) -> None:
        self._cluster.events.record(
            workload, type, reason, text, component=kinds.WORKLOAD_COMPONENT, action=reason
        )

    # On workers

    def _worker(self, site: str) -> Worker:
        worker = self._workers.get(site)
        if worker is None or not worker.is_connected:
            raise Refused(f'the worker "{site}" is not connected')
        return worker

    def _start(self, site: str, key: Key, run: Callable[[Worker], Any]) -> None:
        if not self.errands.is_under_way(site, key):
            self.errands.start(site, key, lambda: run(self._worker(site)))

    async def _make_copy(self, subject: Subject, obj: Object, worker: Worker) -> None:
        try:
            await worker.create(obj)
        except (BadRequest, Forbidden, Invalid) as error:
            self._complain(subject, worker.name, str(error))
            raise
        queue = _queue_of(subject.workload)
        self._metrics.count("multikueue_workloads_dispatched_total", queue, worker.name)

    def _remove(self, site: str, key: Key, adapter: Adapter) -> None:
        if self.errands.is_under_way(site, key):
            return
        keeps = partial(self._is_shared, key, adapter)
        worker = self._workers.get(site)
        if worker is None or not self._mirroring.leaves(key, adapter, keeps, worker):
            run = partial(self._mirroring.remove, key, adapter, keeps)
            self.errands.start_removal(site, key, lambda: run(self._worker(site)))

    def _is_shared(self, key: Key, adapter: Adapter, worker: Worker, mirror: Object) -> bool:
        """Whether another Workload of the same job is there too."""
        if not adapter.has_components:
            return False
        others = [each for each in adapter.wakes(mirror, self._settings) if each != key]
        local = [self._source.get(kinds.WORKLOAD, each.namespace, each.name) for each in others]
        return any(each is not None and component_of(each).cluster == worker.name for each in local)

    def forget(self, key: Key) -> None:
        """A workload is gone."""
        self._complaints.pop(key, None)
        self.errands.forget(key)

    async def reset(self, adapter: Adapter, left: Sequence[Object]) -> None:
        """Of these jobs, whose workload is gone, nothing runs any more."""
        await self._mirroring.reset(adapter, left)

    def clear(self, key: Key) -> None:
        """Of one that says no more whose it was: its job went and left it behind."""
        for worker in self._workers.all():
            if not worker.is_connected:
                continue
            there = [
                each for each in self._adapters.values() if worker.mirrors_of(each.resource, key)
            ]
            if there or worker.copy(key) is not None:
                adapter = there[0] if there else next(iter(self._adapters.values()))
                self._remove(worker.name, key, adapter)

    def remove_everywhere(self, key: Key, adapter: Adapter) -> bool:
        """Whether there was anything left to remove."""
        found = False
        for worker in self._workers.all():
            if not worker.is_connected:
                continue
            mirrors = worker.mirrors_of(adapter.resource, key)
            if any(self._is_carried_on(key, adapter, worker, each) for each in mirrors):
                continue
            if worker.copy(key) is not None or mirrors:
                self._remove(worker.name, key, adapter)
                found = True
        return found

    def _is_carried_on(self, key: Key, adapter: Adapter, worker: Worker, mirror: Object) -> bool:
        """Whether the job has another Workload, which this worker has: it runs on until that has
        taken over its mirror.
        """
        if adapter.has_components:
            return False
        job = self._source.get(adapter.resource, *key_of(mirror))
        return checks.is_there_too(self._source, job, key, worker.name)


def returned(workers: Workers, subject: Subject, site: str) -> list[str]:
    """Workers that came back with a mirror of what another is to run, while that was written down,
    which may take long: theirs goes before there is another.
    """
    kind, key = subject.adapter.resource, subject.key
    known = {
        each.name: bool(each.mirrors_of(kind, key)) for each in workers.all() if each.is_connected
    }
    return [] if known.get(site) else [name for name, has in known.items() if has]


async def write_copy(made: Object, merges: bool, worker: Worker) -> None:
    """By apply, or, where nobody shall own what is written, as a merge patch."""
    key, body = key_of(made), status.admission_patch(made)
    known = worker.copy(key)
    if merges and known is not None:
        patch = merge_patch(known, body, status.MANAGER)
        await worker.patch(kinds.WORKLOAD, key, patch, subresource="status")
        return
    await worker.patch(
        kinds.WORKLOAD, key, body,
        subresource="status", type=PatchType.APPLY, manager=status.MANAGER,
    )  # fmt: skip


async def _update_copy(copy: Object, spec: Object, worker: Worker) -> None:
    metadata = {"resourceVersion": copy["metadata"]["resourceVersion"]}
    patch = {"metadata": metadata, "spec": create_merge_patch(copy["spec"], spec)}
    await worker.patch(kinds.WORKLOAD, key_of(copy), patch)


def _queue_of(workload: Object) -> str:
    admission: Mapping[str, Any] = (workload.get("status") or {}).get("admission") or {}
    return str(admission.get("clusterQueue") or "")
