"""Keeps the objects of this member as its Works say: a pass whenever a Work or an object changes
and, less and less often, when nothing seems to; what came of it goes back to the hub.
"""

import asyncio
from datetime import timedelta
from typing import Any

from fleetqueue.api.fleet import labels, naming
from fleetqueue.api.meta import Key
from fleetqueue.base.backoff import Backoff
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide.delivery import forms, requeue, work_status
from fleetqueue.fleet.member import applier_metrics
from fleetqueue.fleet.member.clearing import Clearing
from fleetqueue.fleet.member.following import Following
from fleetqueue.fleet.member.joined import Membership
from fleetqueue.fleet.member.member_objects import MemberObjects
from fleetqueue.fleet.member.passes import Passed, Passes
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Loop, Result
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.metrics.registry import Metrics

Json = dict[str, Any]

APPLY_TIME = "work_apply_time_seconds"
WORKERS = 5
RETRY = timedelta(seconds=5)
NEWS_SECONDS = 0.25
"""How soon a changed object is looked at; what changes meanwhile is seen with it."""


def install(
    manager: Manager,
    member: Cluster,
    settings: MemberSettings,
    metrics: Metrics,
    membership: Membership,
) -> None:
    applier = Applier(manager.cluster, member, settings, metrics, membership)
    manager.follow(member)
    applier.attach(manager.add(applier))
    manager.add_task("what is applied", applier.following.run, needs_leader=True)


class Applier(Controller[Any]):
    """Woken by Works, by their AppliedWorks that go, by the objects, and by the clock."""

    kind = kinds.WORK
    workers = WORKERS
    backoff = Backoff(0.05, 15.0)
    """Of passes during which a cluster did not answer: it may be back any moment."""

    def __init__(
        self,
        hub: Cluster,
        member: Cluster,
        settings: MemberSettings,
        metrics: Metrics,
        membership: Membership,
    ) -> None:
        self.namespace = naming.member_namespace(settings.name)
        self.following = Following(member, self._wake)
        self._hub, self._member, self._settings = hub, member, settings
        self._metrics = metrics
        self._membership = membership
        objects = MemberObjects(member.client, self.following)
        self._clearing = Clearing(hub, member, objects, settings)
        self._passes = Passes(
            hub, member, objects, self._clearing, self.following, settings, self.namespace
        )
        self._loop: Loop[Any] | None = None
        self._paces: dict[Key, requeue.Pace] = {}
        self._since: dict[Key, tuple[int, float | None]] = {}
        """The generation that is being applied, and when it was first seen; None once it is."""
        self._at_work: set[Key] = set()
        self._rests = asyncio.Event()
        self._rests.set()
        membership.on_join(self._wake_all)
        membership.on_leave(self._leave)

    def attach(self, loop: Loop[Any]) -> None:
        """`loop`: where it is woken."""
        self._loop = loop
        self._member.informer(kinds.APPLIED_WORK).listen(self._applied_work_changed)
        if self._settings.uses_priorities:
            self._hub.informer(self.kind, self.namespace).listen(self._work_changed)

    def wanted(self, old: Any, new: Any, /) -> bool:
        """Its own reports do not wake it."""
        return not self._settings.uses_priorities and _is_news(old, new)

    async def reconcile(self, work: Object, /) -> Result:
        if not self._membership.is_joined:
            return Result(RETRY)
        key = key_of(work)
        self._at_work.add(key)
        self._rests.clear()
        try:
            if finalizers.is_deleting(work):
                return await self._clearing.clear(work)
            self._note_generation(work)
            passed = await self._passes.make(work)
            return Result(RETRY) if passed is None else await self._report(passed)
        finally:
            self._at_work.discard(key)
            if not self._at_work:
                self._rests.set()

    async def gone(self, key: Key, /) -> Result:
        self._paces.pop(key, None)
        self._since.pop(key, None)
        self.following.follow(key, ())
        self._metrics.remove(APPLY_TIME, name=key.name)
        return DONE

    # What came of a pass

    async def _report(self, passed: Passed) -> Result:
        plan = passed.plan
        status = work_status.status(
            passed.work,
            passed.outcomes,
            self._hub.clock.now(),
            is_report=plan.is_report,
            reports_back=plan.reports_back,
        )
        await self._passes.list_applied(passed)
        work = await self._passes.write_status(passed.work, status)
        applier_metrics.count(self._metrics, status["conditions"], passed.outcomes, plan)
        self._observe(work)
        return self._again(work, passed)

    def _note_generation(self, work: Object) -> None:
        key, generation = key_of(work), forms.generation(work)
        if key not in self._since or self._since[key][0] != generation:
            self._since[key] = (generation, self._member.clock.monotonic())

    def _observe(self, work: Object) -> None:
        key = key_of(work)
        generation, since = self._since[key]
        if since is not None and applier_metrics.is_done(work["status"]["conditions"]):
            seconds = self._member.clock.monotonic() - since
            self._metrics.observe(APPLY_TIME, seconds, key.name)
            self._since[key] = (generation, None)

    def _again(self, work: Object, passed: Passed) -> Result:
        """Less and less often, from the start where this pass came to something new."""
        key, told = key_of(work), self._settings.requeue
        said = [(each.result, each.availability and each.availability.reason)
                for each in passed.outcomes]  # fmt: skip
        result = f"{forms.generation(work)} {said}"
        known = self._paces.get(key)
        pace = requeue.next_look(known, result, requeue.is_at_rest(work), told)
        self._paces[key] = pace
        seconds = requeue.wait(pace, told)
        if self._settings.uses_priorities and self._loop is not None:
            self._loop.queue.add_after(key, seconds, requeue.TIMED)
            return DONE
        return Result(timedelta(seconds=seconds))

    # Waking and leaving

    def _wake(self, key: Key) -> None:
        if self._loop is not None:
            self._loop.queue.add_after(key, NEWS_SECONDS)

    def _wake_all(self) -> None:
        if self._loop is not None:
            for work in self._hub.cached_all(kinds.WORK, self.namespace):
                self._loop.queue.add(key_of(work))

    def _applied_work_changed(self, old: Object | None, new: Object | None) -> None:
        """One that went, or is going, is looked after by its Work."""
        is_news = old is not None and (new is None or finalizers.is_deleting(new))
        if self._loop is not None and is_news:
            self._loop.queue.add(Key(self.namespace, key_of(old or {}).name))

    def _work_changed(self, old: Object | None, new: Object | None) -> None:
        if self._loop is None or not _is_news(old, new):
            return
        told, changed = self._settings, new if old is not None else None
        now = self._hub.clock.now()
        urgency = requeue.priority(changed, now, told.priority_a, told.priority_b)
        self._loop.queue.add(key_of(new or old or {}), urgency)

    async def _leave(self) -> None:
        """Lets go of all Works; what they put on the member stays."""
        await self._rests.wait()
        for work in (await self._hub.client.list(kinds.WORK, self.namespace)).items:
            await self._clearing.release(work)


def _is_news(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return True
    names = ("generation", "deletionTimestamp", "annotations")
    if any(old["metadata"].get(name) != new["metadata"].get(name) for name in names):
        return True
    lost = {*finalizers.finalizers_of(old)} - {*finalizers.finalizers_of(new)}
    return labels.WORK_FINALIZER in lost
