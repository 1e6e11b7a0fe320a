"""Takes every workload that has a MultiKueue check through its flow: looks, asks, does."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.base.leisure import Leisure
from fleetqueue.errors import FleetqueueError
from fleetqueue.jobs.slices import replaced_by
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import (
    DONE,
    HIGH_PRIORITY,
    Controller,
    Loop,
    Result,
    Watch,
)
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Caches
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Source
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import checks, kinds
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.registry import Adapters, adapter_for, handed_over
from fleetqueue.multikueue.components import component_of
from fleetqueue.multikueue.crowds import Crowded
from fleetqueue.multikueue.dispatcher import Dispatcher
from fleetqueue.multikueue.errands import Errands
from fleetqueue.multikueue.flow import deciding
from fleetqueue.multikueue.flow.look import nominated
from fleetqueue.multikueue.flow.situation import Site, Situation, without_aliases
from fleetqueue.multikueue.flow.steps import REASON, Decision
from fleetqueue.multikueue.hands import Hands, Refused, Subject
from fleetqueue.multikueue.last_workers import LastWorkers
from fleetqueue.multikueue.left_jobs import LeftJobs
from fleetqueue.multikueue.namesakes import Namesakes
from fleetqueue.multikueue.offers import Offers
from fleetqueue.multikueue.preflight import needed_by
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.standing import reasons, standings, told
from fleetqueue.multikueue.workers import Farewell, Workers, nothing_to_keep

LOOKS_MAX = 32
"""Looks under way at once."""
PENDING_ON_WORKERS = "PendingOnWorkers"
UNDECIDED = ("PendingEvaluation", "QuotaReserved")
"""What a worker says of a workload that it has not refused."""
POSTPONED_SECONDS = 2.0
"""After this a status is tried again that could not be copied yet."""
CROWDED_SECONDS = 0.5
"""After this a worker is asked again for which too many wait."""
LEFT_SECONDS = 1.0
"""How often it is looked whether a worker has let go of what was deleted, if it does not say so."""
log = logging.getLogger(__name__)


class MissingConfig(FleetqueueError):
    """The check names no configuration that exists."""

    who_acts = "user"


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
        self._source: Source = Caches(cluster)
        self._offers = Offers(cluster, self._source, workers, dispatcher, settings)
        self._hands = Hands(cluster, self._source, workers, adapters, settings, metrics, farewell)
        self._known: dict[Key, Adapter] = {}
        """By workload: how its mirrors are removed when it is gone."""
        self._left = LeftJobs(self._source, workers, settings)
        self._namesakes = Namesakes(workers)
        self._last = LastWorkers(lambda: format_time(workers.started_at))
        self._put_out: dict[Key, set[tuple[str, str]]] = {}
        """By workload: workers, and the uids of copies that were seen evicted there."""
        self._standings: dict[Key, tuple[tuple[str, str], ...]] = {}
        """By workload: what was told last of why no worker admits it."""
        self._notes: dict[Key, str] = {}
        """By workload: what was logged last."""
        self._leisure = Leisure(is_busy=lambda: self._hands.is_busy)
        for index in (checks.BY_CHECK, checks.BY_OWNER):
            cluster.informer(index.kind, indexes={index.name: index.values})
        self.watches = tuple(self._watches())

    @property
    def name(self) -> str:
        return "multikueue-workload"

    @property
    def errands(self) -> Errands:
        return self._hands.errands

    # Who is looked at, and when

    def _watches(self) -> Iterable[Watch]:
        after = self._settings.batch_seconds
        yield Watch(kinds.ADMISSION_CHECK, self._of_check, when=_spec_changed, after=after)
        yield Watch(kinds.CONFIG, self._of_config, when=_spec_changed, after=after)
        for adapter in self._adapters.values():
            if self._cluster_follows(adapter.resource):
                of_job = partial(self._of_job, adapter)
                yield Watch(adapter.resource, of_job, when=_spec_changed)

    def _cluster_follows(self, kind: Resource) -> bool:
        return kind in set(self._cluster.followed())

    def follow(self, loop: Loop[Any]) -> None:
        """Lets changes on workers wake the workloads that they belong to."""
        queue = loop.queue
        self.errands.wake = queue.add_after
        after = self._settings.batch_seconds

        def on_change(worker: str, kind: Resource, obj: Object) -> None:
            priority = HIGH_PRIORITY if _is_news(kind, obj) else 0
            if kind == kinds.WORKLOAD and status.is_evicted(obj) and key_of(obj) in self._known:
                # It may be admitted there again before anybody looks.
                self._put_out.setdefault(key_of(obj), set()).add((worker, uid_of(obj)))
            for key in self._of_remote(kind, obj):
                queue.add_after(key, after, priority)

        def on_state(worker: str) -> None:
            for key in (*self._of_worker(worker), *self._left.waiting):
                queue.add_after(key, after)

        self._workers.listen(on_change, on_state)

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        if any(each is not None and status.checks_of(each) for each in (old, new)):
            return True
        return old is not None and new is None and self._is_known(key_of(old))

    def _is_known(self, key: Key) -> bool:
        """Also where nobody asks us any more."""
        return key in self._known or self._namesakes.knows(key)

    def is_urgent(self, workload: Object, /) -> bool:
        return bool(status.cluster_of(workload))

    def _of_check(self, check: Object) -> Iterable[Key]:
        if checks.is_ours(check):
            yield from map(key_of, self._source.found(checks.BY_CHECK, check["metadata"]["name"]))

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

    def _of_job(self, adapter: Adapter, job: Object) -> Iterable[Key]:
        found = checks.workloads_of(self._source, job)
        if found or (left := self._left.found(adapter, job)) is None:
            return map(key_of, found)
        self._known.setdefault(left, adapter)
        self._last.doubt(left)
        return [left]

    def _of_remote(self, kind: Resource, obj: Object) -> Iterable[Key]:
        if kind == kinds.WORKLOAD:
            return [key_of(obj)]
        adapter = self._adapters.get((kind.group, kind.kind))
        if adapter is None:
            return []
        # The job that has its name now may wait for it to go.
        job = self._source.get(kind, *key_of(obj)) if self._cluster_follows(kind) else None
        own = () if job is None else checks.workloads_of(self._source, job)
        return dict.fromkeys([*adapter.wakes(obj, self._settings), *map(key_of, own)])

    # One look

    async def reconcile(self, workload: Object, /) -> Result:
        check = checks.ours_of(workload, self._source)
        if check is None:
            return DONE
        found = adapter_for(workload, self._adapters)
        if isinstance(found, str):
            self._hands.clear(key_of(workload))
            if not status.is_finished(workload) and check["state"] != "Rejected":
                await self._hands.set_check(workload, check, "Rejected", found)
            return DONE
        if check["state"] == "Rejected":
            return DONE
        self._known[key_of(workload)] = found
        if is_deleting(workload):
            jobs = found.jobs(workload, self._source, self._settings)
            self._left.remember(key_of(workload), jobs)
            self._last.note(workload, found, jobs)
        self._namesakes.look(workload)
        if is_deleting(workload) or self._namesakes.blocks(key_of(workload), found.resource):
            self._hands.remove_everywhere(key_of(workload), found)
            return DONE
        subject = await self._subject(workload, check, found)
        if subject is None:
            return DONE
        self._wake_replaced(workload)
        situation = self._situation(subject)
        waits = check["state"] == "Pending" and not situation.runs_here
        if waits and _is_offered(workload):
            await self._offers.learn(subject.jobs, situation.sites)
            self._tell_standing(subject, situation)
        return await self._do(subject, deciding.decide(situation))

    def nominated(self, workload: Object) -> Object:
        """A workload that is about to get quota, with the workers that would be asked after that:
        one write instead of two. Without them where anything else comes first.
        """
        try:
            subject = self._plain_subject(workload)
            if subject is None or needed_by(subject.jobs[0]):
                return workload
            self._namesakes.look(workload)
            if self._namesakes.blocks(subject.key, subject.adapter.resource):
                return workload
            return deciding.nominated_by(deciding.decide(self._situation(subject))) or workload
        except Exception:
            # Whatever a dispatcher gets wrong, it must not cost anybody the quota.
            log.exception("nobody could be nominated yet: workload=%s", key_of(workload))
            return workload

    def _plain_subject(self, workload: Object) -> Subject | None:
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
        return Subject(workload, check, adapter, jobs, configured)

    async def gone(self, key: Key, /) -> Result:
        self._standings.pop(key, None)
        self._offers.forget(key)
        adapter = self._known.get(key)
        if adapter is None:
            self._forget(key)
            return DONE
        is_left = self._hands.remove_everywhere(key, adapter)
        had = self._last.of(key)
        jobs, lost = self._left.alone(self._left.of(key, adapter)), self._left.lost(had)
        wait = self._left.seconds_left(lost, self._cluster.clock.now())
        if wait > 0:
            self._tell_waiting(key, jobs, lost)
            return Result(timedelta(seconds=wait))
        if jobs and self._left.is_mirrored(key, adapter, had):
            # What the job says of pods elsewhere is all that outlives a restart of ours.
            return Result(timedelta(seconds=LEFT_SECONDS))
        self._hands.forget(key)
        await self._hands.reset(adapter, jobs)
        if not is_left:
            self._forget(key)
        return DONE

    def _forget(self, key: Key) -> None:
        """One that is gone, and of which no worker has anything that we could remove."""
        for books in (self._hands, self._left, self._namesakes, self._last):
            books.forget(key)
        for known in (self._known, self._put_out, self._notes):
            known.pop(key, None)

    def _tell_waiting(self, key: Key, jobs: Iterable[Object], lost: Iterable[str]) -> None:
        if key not in self._left.waiting:
            self._left.waiting.add(key)
            names = ", ".join(f'"{name}"' for name in lost)
            text = f"The Workload was deleted, and the job may still run on {names}: it waits"
            for job in jobs:
                self._hands.event(job, "Warning", REASON, f"{text} until that can be asked")

    async def _subject(self, workload: Object, check: Object, adapter: Adapter) -> Subject | None:
        jobs = adapter.jobs(workload, self._source, self._settings)
        if not jobs:
            # Its end follows: whoever made the workload for it takes that away, or finishes it.
            if status.is_finished(workload):
                self._hands.remove_everywhere(key_of(workload), adapter)
            return None
        why = handed_over(adapter, jobs[0])
        if why:
            text = f"The owner is not managed by Kueue: {why}"
            await self._hands.set_check(workload, check, "Rejected", text)
            return None
        configured = checks.clusters_of(check["name"], self._source)
        if configured is None:
            raise MissingConfig(f'the check "{check["name"]}" has no configuration that exists')
        return Subject(workload, check, adapter, jobs, configured)

    def _situation(self, subject: Subject) -> Situation:
        self._left.remember(subject.key, subject.jobs)
        self._last.note(subject.workload, subject.adapter, subject.jobs)
        adapter = subject.adapter
        claimed = status.cluster_of(subject.workload)
        if subject.check["state"] != "Ready":
            self._put_out.pop(subject.key, None)
        sites = without_aliases([self._site(name, subject) for name in subject.configured], claimed)
        former = self._former(subject, sites)
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
            is_activity_mirrored=any(
                adapter.without_run(job, self._settings) is not None for job in subject.jobs
            ),
            is_held=any(map(adapter.is_held, subject.jobs)),
            runs_here=self._runs_here(subject),
            holder=self._holder(subject),
            had=self._last.settle(subject.workload, sites),
            has_leisure=lambda: self._leisure.take(self._cluster.clock.now()),
        )

    def _runs_here(self, subject: Subject) -> bool:
        """Also where another Workload of the job does: all of them go to one cluster. Jobs that
        have to be handed over do not run here, or are rejected.
        """
        adapter, workload = subject.adapter, subject.workload
        if adapter.managed_by or status.cluster_of(workload):
            return False
        if not adapter.has_components:
            return status.runs_here(workload)
        return any(map(status.runs_here, checks.workloads_of(self._source, subject.jobs[0])))

    def _former(self, subject: Subject, sites: Iterable[Site]) -> list[Site]:
        """Workers that are not configured any more and have something of it, unless they are known
        under another name.
        """
        known = {uid_of(site.copy) for site in sites if site.copy is not None}
        kind, key = subject.adapter.resource, subject.key
        found = [
            self._site(worker.name, subject)
            for worker in self._workers.all()
            if worker.name not in subject.configured and worker.is_connected
            if worker.copy(key) is not None or worker.mirrors_of(kind, key)
        ]
        return [site for site in found if site.copy is None or uid_of(site.copy) not in known]

    def _holder(self, subject: Subject) -> str:
        """As those slices tell that are not over. One that was never put out, and has no worker
        yet, gets this one's.
        """
        own = status.cluster_of(subject.workload)
        if not own or not status.is_finished(subject.workload):
            return own
        for each in checks.workloads_of(self._source, subject.jobs[0]):
            if not status.is_finished(each):
                was_put_out = status.find_condition(each, status.EVICTED) is not None
                found = status.cluster_of(each)
                return found if found or was_put_out else own
        return ""

    def _wake_replaced(self, workload: Object) -> None:
        """The slice whose place it takes, while workers have copies of that: they go when the job
        is over, or goes elsewhere, and nothing tells that slice so.
        """
        space, _, name = replaced_by(workload).partition("/")
        connected = [worker for worker in self._workers.all() if worker.is_connected]
        if name and any(worker.copy(Key(space, name)) is not None for worker in connected):
            self.errands.wake(Key(space, name), 0.0)

    def _site(self, name: str, subject: Subject) -> Site:
        worker = self._workers.get(name)
        if worker is None or not worker.is_connected:
            return Site(name, is_connected=False, lost_since=self._workers.lost_since(name))
        key, adapter = subject.key, subject.adapter
        copy, mirrors = worker.copy(key), worker.mirrors_of(adapter.resource, key)
        is_removing = self.errands.is_removing(name, key)
        if copy is None and not mirrors:
            # Of most workers, for most workloads.
            return Site(name, is_leaving=is_removing)
        has_ended = bool(adapter.managed_by) and any(
            adapter.has_ended(each, self._settings) for each in mirrors
        )
        return Site(
            name,
            copy=copy,
            has_mirror=bool(mirrors),
            has_ended=has_ended,
            was_put_out=copy is not None and (name, uid_of(copy)) in self._put_out.get(key, ()),
            is_leaving=is_removing or self._namesakes.is_one(key, copy),
        )

    def _components(self, subject: Subject) -> tuple[list[Any], int]:
        if not subject.adapter.has_components:
            return [], 0
        job = subject.jobs[0]
        found = checks.workloads_of(self._source, job)
        replicas = (job.get("spec") or {}).get("replicas")
        return [component_of(each) for each in found], 1 if replicas is None else int(replicas)

    # What was decided

    async def _do(self, subject: Subject, decision: Decision) -> Result:
        if decision.note != self._notes.get(subject.key, ""):
            self._notes[subject.key] = decision.note
            if decision.note:
                log.info("workload=%s: %s", subject.key, decision.note)
        after = decision.after
        try:
            for step in decision.steps:
                if await self._hands.do(subject, step):
                    after = POSTPONED_SECONDS if after is None else after
        except Crowded:
            return Result(timedelta(seconds=CROWDED_SECONDS))
        if decision.problem:
            raise Refused(decision.problem)
        return DONE if after is None else Result(timedelta(seconds=after))

    def _tell_standing(self, subject: Subject, seen: Situation) -> None:
        """Why nobody has admitted it, when all have said so; once for each change of that."""
        workload, adapter = subject.workload, subject.adapter
        copies = {site.name: site.copy for site in seen.sites if site.copy is not None}
        if any(each.reason in UNDECIDED for each in standings(copies, {})):
            return
        found = self._offers.standings(workload, adapter, subject.jobs, seen.sites)
        names = reasons(found)
        asked = nominated(workload) or [site.name for site in seen.sites]
        is_open = not {*asked} <= {worker for worker, _ in names}
        if not found or is_open or self._standings.get(subject.key) == names:
            return
        self._standings[subject.key] = names
        self._hands.event(workload, "Normal", PENDING_ON_WORKERS, told(found))


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
