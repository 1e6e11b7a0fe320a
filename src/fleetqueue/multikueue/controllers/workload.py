"""Takes every workload that has a MultiKueue check through its flow: looks, asks, does."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from fleetqueue.admission.delivery import deliver
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.base.leisure import Leisure
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import (
    DONE,
    HIGH_PRIORITY,
    Controller,
    Loop,
    Result,
    Watch,
)
from fleetqueue.kube.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Index, Source
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import checks, copies, flow, kinds
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.registry import Adapters, adapter_for, handed_over
from fleetqueue.multikueue.components import component_of
from fleetqueue.multikueue.dispatcher import Dispatcher
from fleetqueue.multikueue.errands import Errands
from fleetqueue.multikueue.flow import Decision, Site, Situation
from fleetqueue.multikueue.mirroring import Mirroring, NotOurs
from fleetqueue.multikueue.offers import Offers
from fleetqueue.multikueue.preflight import needed_by
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.standing import reasons, told
from fleetqueue.multikueue.workers import Farewell, Worker, Workers, nothing_to_keep

LOOKS_MAX = 32
"""Looks under way at once."""
PENDING_ON_WORKERS = "PendingOnWorkers"
UNDECIDED = ("PendingEvaluation", "Pending", "QuotaReserved")
"""What a worker says of a workload that it has not refused."""
POSTPONED_SECONDS = 2.0
"""After this a status is tried again that could not be copied yet."""
BY_CHECK = Index(kinds.WORKLOAD, "admission checks", lambda obj: checks.names_of(obj))
BY_OWNER = Index(kinds.WORKLOAD, "owners", lambda obj: checks.owner_uids(obj))
log = logging.getLogger(__name__)


class MissingConfig(FleetqueueError):
    """The check names no configuration that exists."""

    who_acts = "user"


class Refused(FleetqueueError):
    """The flow cannot go on; what it says is in its problem."""

    who_acts = "user"


@dataclass(frozen=True, slots=True)
class _Subject:
    """A workload and what its flow needs to know."""

    workload: Object
    check: Object
    adapter: Adapter
    jobs: Sequence[Object]
    configured: Sequence[str]

    @property
    def key(self) -> Key:
        return key_of(self.workload)


class DispatchController(Controller[Any]):
    """One for all workloads of the manager."""

    kind = kinds.WORKLOAD
    workers = LOOKS_MAX

    def __init__(
        self,
        cluster: Cluster,
        workers: Workers,
        adapters: Adapters,
        dispatcher: Dispatcher,
        settings: DispatchSettings,
        metrics: Metrics,
        farewell: Farewell = nothing_to_keep,
    ) -> None:
        self._cluster = cluster
        self._workers = workers
        self._adapters = adapters
        self._settings = settings
        self._metrics = metrics
        self._source: Source = Caches(cluster)
        self._offers = Offers(cluster, self._source, workers, dispatcher, settings)
        self._mirroring = Mirroring(cluster, self._source, settings, farewell)
        self._known: dict[Key, Adapter] = {}
        """By workload: how its mirrors are removed when it is gone."""
        self._jobs: dict[Key, list[tuple[Key, str]]] = {}
        """By workload: the names and uids of the jobs that may tell of mirrors."""
        self._uids: dict[Key, str] = {}
        self._had: dict[Key, str | None] = {}
        """By workload: the worker that had it last; None where that was before our time."""
        self._stale: dict[Key, set[str]] = {}
        """By workload: copies of its namesakes of before."""
        self._standings: dict[Key, tuple[tuple[str, str], ...]] = {}
        """By workload: what was told last of why no worker admits it."""
        self._complaints: dict[Key, str] = {}
        """By workload: what was told last of a job that a worker does not take."""
        self._leisure = Leisure()
        self.errands = Errands(cluster.random)
        for index in (BY_CHECK, BY_OWNER):
            cluster.informer(index.kind, indexes={index.name: index.values})
        self.watches = tuple(self._watches())

    @property
    def name(self) -> str:
        return "multikueue-workload"

    # Who is looked at, and when

    def _watches(self) -> Iterable[Watch]:
        after = self._settings.batch_seconds
        yield Watch(kinds.ADMISSION_CHECK, self._of_check, when=_spec_changed, after=after)
        yield Watch(kinds.CONFIG, self._of_config, when=_spec_changed, after=after)
        for adapter in self._adapters.values():
            if self._cluster_follows(adapter.resource):
                yield Watch(adapter.resource, self._of_job, when=_spec_changed)

    def _cluster_follows(self, kind: Resource) -> bool:
        return kind in set(self._cluster.followed())

    def follow(self, loop: Loop[Any]) -> None:
        """Lets changes on workers wake the workloads that they belong to."""
        queue = loop.queue
        self.errands.wake = queue.add_after
        after = self._settings.batch_seconds

        def on_change(worker: str, kind: Resource, obj: Object) -> None:
            priority = HIGH_PRIORITY if _is_news(kind, obj) else 0
            for key in self._of_remote(kind, obj):
                queue.add_after(key, after, priority)

        def on_state(worker: str) -> None:
            for key in self._of_worker(worker):
                queue.add_after(key, after)

        self._workers.listen(on_change, on_state)

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return any(each is not None and status.checks_of(each) for each in (old, new))

    def is_urgent(self, workload: Object, /) -> bool:
        return bool((workload.get("status") or {}).get("clusterName"))

    def _of_check(self, check: Object) -> Iterable[Key]:
        if checks.is_ours(check):
            yield from map(key_of, self._source.found(BY_CHECK, check["metadata"]["name"]))

    def _of_config(self, config: Object) -> Iterable[Key]:
        for check in self._source.all(kinds.ADMISSION_CHECK, ""):
            if checks.config_of(check) == config["metadata"]["name"]:
                yield from self._of_check(check)

    def _of_worker(self, worker: str) -> Iterable[Key]:
        """Workloads that hold quota and may be there; what others left is found when it is seen."""
        for config in self._source.all(kinds.CONFIG, ""):
            if worker in (config["spec"].get("clusters") or ()):
                for key in self._of_config(config):
                    found = self._source.get(kinds.WORKLOAD, key.namespace, key.name)
                    if found is not None and _is_under_way(found):
                        yield key

    def _of_job(self, job: Object) -> Iterable[Key]:
        return map(key_of, self._source.found(BY_OWNER, job["metadata"].get("uid") or ""))

    def _of_remote(self, kind: Resource, obj: Object) -> Iterable[Key]:
        if kind == kinds.WORKLOAD:
            return [key_of(obj)]
        adapter = self._adapters.get((kind.group, kind.kind))
        return [] if adapter is None else adapter.wakes(obj, self._settings)

    # One look

    async def reconcile(self, workload: Object, /) -> Result:
        check = checks.ours_of(workload, self._source)
        if check is None:
            return DONE
        found = adapter_for(workload, self._adapters)
        if isinstance(found, str):
            self._clear(key_of(workload))
            if not status.is_finished(workload) and check["state"] != "Rejected":
                await self._set_check(workload, check, "Rejected", found)
            return DONE
        if check["state"] == "Rejected":
            return DONE
        self._known[key_of(workload)] = found
        if is_deleting(workload) or self._has_leftovers(workload):
            self._remove_everywhere(key_of(workload), found)
            return DONE
        subject = await self._subject(workload, check, found)
        if subject is None:
            return DONE
        situation = self._situation(subject)
        if check["state"] == "Pending" and _is_offered(workload):
            await self._offers.learn(subject.jobs, situation.sites)
            self._tell_standing(subject, situation)
        return await self._do(subject, flow.decide(situation))

    def nominated(self, workload: Object) -> Object:
        """A workload that is about to get quota, with the workers that would be asked after that:
        one write instead of two. Without them where anything else comes first.
        """
        try:
            subject = self._plain_subject(workload)
            if subject is None or needed_by(subject.jobs[0]) or self._has_leftovers(workload):
                return workload
            return flow.nominated_by(flow.decide(self._situation(subject))) or workload
        except Exception:
            # Whatever a dispatcher gets wrong, it must not cost anybody the quota.
            log.exception("nobody could be nominated yet: workload=%s", key_of(workload))
            return workload

    def _plain_subject(self, workload: Object) -> _Subject | None:
        """None: something is to be told first."""
        check, adapter = (
            checks.ours_of(workload, self._source),
            adapter_for(workload, self._adapters),
        )
        if check is None or isinstance(adapter, str) or is_deleting(workload):
            return None
        jobs = adapter.jobs(workload, self._source, self._settings)
        configured = checks.clusters_of(check["name"], self._source)
        if not jobs or handed_over(adapter, jobs[0]) or configured is None:
            return None
        return _Subject(workload, check, adapter, jobs, configured)

    def _has_leftovers(self, workload: Object) -> bool:
        """Whether workers have copies of one that had this name before, as pod groups may."""
        key, uid = key_of(workload), uid_of(workload)
        before = self._uids.get(key, uid)
        self._uids[key] = uid
        if before == uid and key not in self._stale:
            return False
        connected = [worker for worker in self._workers.all() if worker.is_connected]
        left = {uid_of(copy) for worker in connected if (copy := worker.copy(key)) is not None}
        if before != uid:
            self._stale[key] = left
        if left & self._stale[key]:
            return True
        del self._stale[key]
        return False

    async def gone(self, key: Key, /) -> Result:
        self._complaints.pop(key, None)
        self._standings.pop(key, None)
        adapter = self._known.get(key)
        if adapter is None:
            return DONE
        is_left = self._remove_everywhere(key, adapter)
        await self._mirroring.reset(adapter, self._left_jobs(key, adapter))
        if not is_left:
            del self._known[key]
            self._jobs.pop(key, None)
            for known in (self._uids, self._stale, self._had):
                known.pop(key, None)
        return DONE

    def _left_jobs(self, key: Key, adapter: Adapter) -> list[Object]:
        """Jobs that lost their workload: they get another when they do not seem to run any more."""
        known = self._jobs.get(key) or ()
        found = [(self._source.get(adapter.resource, *job), uid) for job, uid in known]
        return [
            job
            for job, uid in found
            if job is not None and uid_of(job) == uid and not is_deleting(job)
        ]

    async def _subject(self, workload: Object, check: Object, adapter: Adapter) -> _Subject | None:
        jobs = adapter.jobs(workload, self._source, self._settings)
        if not jobs:
            # Its end follows: whoever made the workload for it takes that away, or finishes it.
            if status.is_finished(workload):
                self._remove_everywhere(key_of(workload), adapter)
            return None
        self._jobs[key_of(workload)] = [(key_of(job), uid_of(job)) for job in jobs]
        why = handed_over(adapter, jobs[0])
        if why:
            text = f"The owner is not managed by Kueue: {why}"
            await self._set_check(workload, check, "Rejected", text)
            return None
        configured = checks.clusters_of(check["name"], self._source)
        if configured is None:
            raise MissingConfig(f'the check "{check["name"]}" has no configuration that exists')
        return _Subject(workload, check, adapter, jobs, configured)

    def _situation(self, subject: _Subject) -> Situation:
        adapter, configured = subject.adapter, set(subject.configured)
        sites = [self._site(name, subject) for name in subject.configured]
        former = [
            site
            for worker in self._workers.all()
            if worker.name not in configured and worker.is_connected
            if not (site := self._site(worker.name, subject)).is_clean
        ]
        components, wanted = self._components(subject)
        nominate = partial(self._offers.ask, subject.workload, adapter, subject.jobs, sites)
        return Situation(
            workload=subject.workload,
            check=subject.check,
            sites=sites,
            former=former,
            now=self._cluster.clock.now(),
            settings=self._settings,
            nominate=nominate,
            components=components,
            components_wanted=wanted,
            is_activity_mirrored=any(adapter.reset(job) is not None for job in subject.jobs),
            had=self._last_worker(subject.workload),
            has_leisure=lambda: self._leisure.take(self._cluster.clock.now()),
        )

    def _last_worker(self, workload: Object) -> str | None:
        """The Workload itself forgets it when it is put out."""
        key, name = key_of(workload), (workload.get("status") or {}).get("clusterName")
        if name:
            self._had[key] = str(name)
        was_put_out = status.find_condition(workload, status.EVICTED) is not None
        return self._had.setdefault(key, None if was_put_out else "")

    def _site(self, name: str, subject: _Subject) -> Site:
        worker = self._workers.get(name)
        if worker is None or not worker.is_connected:
            return Site(name, is_connected=False, lost_since=self._workers.lost_since(name))
        key = subject.key
        adapter = subject.adapter
        mirrors = worker.mirrors_of(adapter.resource, key)
        has_ended = bool(adapter.managed_by) and any(
            adapter.has_ended(each, self._settings) for each in mirrors
        )
        return Site(name, copy=worker.copy(key), has_mirror=bool(mirrors), has_ended=has_ended)

    def _components(self, subject: _Subject) -> tuple[list[Any], int]:
        if not subject.adapter.has_components:
            return [], 0
        job = subject.jobs[0]
        found = self._source.found(BY_OWNER, job["metadata"]["uid"])
        replicas = (job.get("spec") or {}).get("replicas")
        return [component_of(each) for each in found], 1 if replicas is None else int(replicas)

    # What was decided

    async def _do(self, subject: _Subject, decision: Decision) -> Result:
        if decision.note:
            log.debug("workload=%s: %s", subject.key, decision.note)
        after = decision.after
        for step in decision.steps:
            if await self._do_one(subject, step):
                after = POSTPONED_SECONDS if after is None else after
        if decision.problem:
            raise Refused(decision.problem)
        return DONE if after is None else Result(timedelta(seconds=after))

    async def _do_one(self, subject: _Subject, step: flow.Step) -> bool:
        """Whether something was put off."""
        match step:
            case flow.Remove(site):
                self._remove(site, subject.key, subject.adapter)
            case flow.MakeCopy(site, obj):
                self._start(site, subject.key, partial(self._make_copy, subject, obj))
            case flow.UpdateCopy(site, copy, spec):
                self._start(site, subject.key, partial(_update_copy, copy, spec))
            case flow.WriteCopy(site, made):
                self._start(site, subject.key, partial(_write_copy, made))
            case flow.Test(site, copy):
                await self._test(subject, site, copy)
            case flow.Sync():
                return await self._sync(subject, step)
            case flow.Reset():
                await self._mirroring.reset(subject.adapter, subject.jobs)
            case flow.Write(made):
                await self._write(made)
            case flow.SetCheck(state, message):
                await self._apply_check(subject.workload, subject.check, state, message)
            case flow.Tell(message, type, reason):
                self._tell(subject.workload, type, message, reason)
            case flow.Count(site):
                queue = _queue_of(subject.workload)
                self._metrics.count("multikueue_workloads_admitted_total", queue, site)
            case flow.WakeComponents():
                for each in self._source.found(BY_OWNER, subject.jobs[0]["metadata"]["uid"]):
                    if key_of(each) != subject.key:
                        self.errands.wake(key_of(each), 0.0)
        return False

    async def _sync(self, subject: _Subject, step: flow.Sync) -> bool:
        try:
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
        self._complaints.pop(subject.key, None)
        return is_postponed

    async def _test(self, subject: _Subject, site: str, copy: Object) -> None:
        worker = self._worker(site)
        try:
            await self._mirroring.test(worker, subject.adapter, subject.jobs, copy)
        except (Forbidden, NotFound, NotOurs) as error:
            self._complain(subject, site, str(error))
            raise

    def _complain(self, subject: _Subject, site: str, why: str) -> None:
        """Once for each reason: it is tried again and again."""
        text = f'The job does not get to worker cluster "{site}": {why}'
        if self._complaints.get(subject.key) != text:
            self._complaints[subject.key] = text
            self._tell(subject.workload, "Warning", text)

    async def _write(self, made: Object) -> None:
        if not await deliver(self._cluster, made):
            raise Conflict({"message": "the workload changed while its worker was worked out"})

    def _tell_standing(self, subject: _Subject, seen: Situation) -> None:
        """Why nobody has admitted it, when all have said so; once for each change of that."""
        workload, adapter = subject.workload, subject.adapter
        found = self._offers.standings(workload, adapter, subject.jobs, seen.sites)
        names = reasons(found)
        is_open = any(reason in UNDECIDED for _, reason in names)
        if not found or is_open or self._standings.get(subject.key) == names:
            return
        self._standings[subject.key] = names
        self._event(workload, "Normal", PENDING_ON_WORKERS, told(found))

    async def _set_check(self, workload: Object, check: Object, state: str, text: str) -> None:
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

    def _tell(self, workload: Object, type: str, message: str, reason: str = flow.REASON) -> None:
        self._event(workload, type, reason, status.event_message(message))

    def _event(self, workload: Object, type: str, reason: str, text: str) -> None:
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

    async def _make_copy(self, subject: _Subject, obj: Object, worker: Worker) -> None:
        await worker.create(obj)
        queue = _queue_of(subject.workload)
        self._metrics.count("multikueue_workloads_dispatched_total", queue, worker.name)

    def _remove(self, site: str, key: Key, adapter: Adapter) -> None:
        keeps = partial(self._is_shared, key, adapter)
        worker = self._workers.get(site)
        if worker is None or not self._mirroring.leaves(key, adapter, keeps, worker):
            self._start(site, key, partial(self._mirroring.remove, key, adapter, keeps))

    def _is_shared(self, key: Key, adapter: Adapter, worker: Worker, mirror: Object) -> bool:
        """Whether another Workload of the same job is there too."""
        if not adapter.has_components:
            return False
        others = [each for each in adapter.wakes(mirror, self._settings) if each != key]
        local = [self._source.get(kinds.WORKLOAD, each.namespace, each.name) for each in others]
        return any(each is not None and component_of(each).cluster == worker.name for each in local)

    def _clear(self, key: Key) -> None:
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

    def _remove_everywhere(self, key: Key, adapter: Adapter) -> bool:
        """Whether there was anything left to remove."""
        found = False
        for worker in self._workers.all():
            if not worker.is_connected:
                continue
            if worker.copy(key) is not None or worker.mirrors_of(adapter.resource, key):
                self._remove(worker.name, key, adapter)
                found = True
        return found


async def _update_copy(copy: Object, spec: Object, worker: Worker) -> None:
    metadata = {"resourceVersion": copy["metadata"]["resourceVersion"]}
    patch = {"metadata": metadata, "spec": create_merge_patch(copy["spec"], spec)}
    await worker.patch(kinds.WORKLOAD, key_of(copy), patch)


async def _write_copy(made: Object, worker: Worker) -> None:
    await worker.patch(
        kinds.WORKLOAD, key_of(made), status.admission_patch(made),
        subresource="status", type=PatchType.APPLY, manager=status.MANAGER,
    )  # fmt: skip


def _queue_of(workload: Object) -> str:
    admission: Mapping[str, Any] = (workload.get("status") or {}).get("admission") or {}
    return str(admission.get("clusterQueue") or "")


def _is_news(kind: Resource, obj: Object) -> bool:
    """Whether it tells of a job that runs, or that may: that goes before new ones."""
    return kind != kinds.WORKLOAD or status.is_admitted(obj) or status.is_finished(obj)


def _is_offered(workload: Object) -> bool:
    """Whether it waits for a worker; one that is on its way out does not, while it has quota."""
    return status.has_quota(workload) and not status.is_evicted(workload)


def _is_under_way(workload: Object) -> bool:
    return status.has_quota(workload) and not status.is_finished(workload)


def _spec_changed(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return True
    return bool(old["metadata"].get("generation") != new["metadata"].get("generation"))
