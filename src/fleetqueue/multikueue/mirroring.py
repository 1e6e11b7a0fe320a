"""Keeps mirrors of a job on one worker: makes and changes them, and copies their status back."""

from collections.abc import Callable, Sequence

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.workloads import pod_set_counts
from fleetqueue.api.meta import Key
from fleetqueue.api.patches import create_merge_patch
from fleetqueue.api.times import format_time
from fleetqueue.base.leisure import Leisure
from fleetqueue.errors import FleetqueueError
from fleetqueue.jobs import identity
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import AlreadyExists, NotFound
from fleetqueue.kube.finalizers import is_deleting, removed
from fleetqueue.kube.resources import Object, Resource, created_at, key_of, uid_of
from fleetqueue.kube.sources import Source
from fleetqueue.multikueue import checks, kinds
from fleetqueue.multikueue.adapter import Adapter, Copied, Copying, has_origin
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Farewell, Worker, nothing_to_keep

MANAGER = "kueue"


class NotOurs(FleetqueueError):
    """Something of the mirror's name exists on the worker, and this manager did not make it."""

    who_acts = "user"


class Busy(FleetqueueError):
    """An older mirror is still on its way out."""

    who_acts = "user"


class Mirroring:
    """Everything here is about the worker that has the workload."""

    def __init__(
        self,
        cluster: Cluster,
        source: Source,
        settings: DispatchSettings,
        farewell: Farewell = nothing_to_keep,
        leisure: Leisure | None = None,
    ) -> None:
        self._cluster = cluster
        self._farewell = farewell
        self._source = source
        self._settings = settings
        self._leisure = leisure or Leisure()

    async def test(
        self, worker: Worker, adapter: Adapter, jobs: Sequence[Object], copy: Object
    ) -> None:
        """Raises where a mirror's name is taken by an object that is not ours."""
        if not self._settings.origin:
            raise NotOurs("multikueue origin is empty")
        for job in jobs:
            key = key_of(job)
            is_known = worker.mirror(adapter.resource, key) is not None
            if not is_known and not was_there(copy, adapter.resource, key):
                self._check(await worker.read(adapter.resource, key), adapter)

    async def sync(
        self,
        worker: Worker,
        adapter: Adapter,
        workload: Object,
        jobs: Sequence[Object],
        copy: Object,
        *,
        makes: bool,
        is_final: bool,
        is_stopped: bool = False,
    ) -> bool:
        """Whether something is to be done later."""
        is_full = makes and await self._replace(worker, adapter, workload, jobs)
        is_postponed = False
        for job in jobs:
            mirror = worker.mirror(adapter.resource, key_of(job))
            if is_final and (mirror is None or not adapter.has_ended(mirror, self._settings)):
                # Workloads and jobs come by watches of their own: this one is behind.
                mirror = await worker.read(adapter.resource, key_of(job)) or mirror
            if mirror is not None and self._is_older(mirror, adapter, workload, job):
                if makes:
                    await self._remove_older(worker, adapter, mirror)
                    is_postponed = True
                    continue
                mirror = None
            if is_stopped and (mirror is None or is_deleting(mirror)):
                # Nobody will tell any more that it does not run.
                await self.reset(adapter, [job])
            elif mirror is not None:
                self._check(mirror, adapter)
                copying = Copying(workload, job, mirror, self._settings, is_final)
                is_postponed |= await self._follow(worker, adapter, copying)
            elif makes and not is_deleting(job):
                is_postponed |= is_full or await self._make(worker, adapter, workload, job, copy)
        return is_postponed

    def _is_older(self, mirror: Object, adapter: Adapter, workload: Object, job: Object) -> bool:
        """Whether it is the mirror of a job that had this name before. That of an elastic job may
        name a slice that nobody knows any more.
        """
        if not has_origin(mirror, self._settings):
            return False
        if noted := identity.annotations_of(mirror).get(labels.MULTIKUEUE_ORIGIN_UID):
            return noted != uid_of(job)
        if identity.is_elastic(job, self._settings.jobs):
            return False
        named = set(adapter.wakes(mirror, self._settings))
        own = {key_of(each) for each in checks.workloads_of(self._source, job)}
        return bool(named) and not named & {key_of(workload), *own}

    async def _replace(
        self, worker: Worker, adapter: Adapter, workload: Object, jobs: Sequence[Object]
    ) -> bool:
        """Members of a group that are gone here go there too. Whether others have to wait for a
        place of theirs.
        """
        known = {key_of(job) for job in jobs}
        left = [
            mirror
            for mirror in worker.mirrors_of(adapter.resource, key_of(workload))
            if key_of(mirror) not in known and adapter.has_place(mirror)
            if has_origin(mirror, self._settings)
        ]
        for mirror in left:
            is_over = is_deleting(mirror) or adapter.has_ended(mirror, self._settings)
            if not is_over and await self._is_gone(adapter.resource, key_of(mirror)):
                await worker.delete(mirror, adapter.resource, adapter.propagation)
        places = sum(pod_set_counts(workload).values())
        return bool(left) and len(left) + len(jobs) > places

    async def _is_gone(self, kind: Resource, key: Key) -> bool:
        """One that nobody knows may be one that a watch has not brought yet."""
        if self._source.get(kind, *key) is not None:
            return False
        try:
            await self._cluster.client.get(kind, key.name, key.namespace)
        except NotFound:
            return True
        return False

    async def _remove_older(self, worker: Worker, adapter: Adapter, mirror: Object) -> None:
        if not is_deleting(mirror):
            await worker.delete(mirror, adapter.resource, adapter.propagation)

    async def reset(self, adapter: Adapter, jobs: Sequence[Object]) -> None:
        for job in jobs:
            made = adapter.without_run(job, self._settings)
            if made is not None:
                timed = _timed(made, format_time(self._cluster.clock.now()))
                await self._write_status(adapter.resource, job, timed)

    async def remove(
        self,
        key: Key,
        adapter: Adapter,
        is_shared: Callable[[Worker, Object], bool],
        worker: Worker,
    ) -> None:
        """The mirrors first; they have nothing to wait for when the copy goes."""
        mirrors = self._removable(key, adapter, is_shared, worker)
        workload = self._source.get(kinds.WORKLOAD, key.namespace, key.name)
        if mirrors and workload is not None and status.is_finished(workload):
            await self._farewell(worker, adapter.resource, mirrors)
        for mirror in mirrors:
            await worker.delete(mirror, adapter.resource, adapter.propagation)
        copy = worker.copy(key)
        if copy is None:
            return
        left = removed(copy, labels.RESOURCE_IN_USE_FINALIZER)
        if left is not None:
            await worker.patch(kinds.WORKLOAD, key, left)
        if not is_deleting(copy):
            await worker.delete(copy, kinds.WORKLOAD, None)

    def leaves(
        self,
        key: Key,
        adapter: Adapter,
        is_shared: Callable[[Worker, Object], bool],
        worker: Worker,
    ) -> bool:
        """Whether all that is there is on its way out, so that nothing is left to be done."""
        copy = worker.copy(key)
        if copy is not None and not is_deleting(copy):
            return False
        is_held = copy is not None and removed(copy, labels.RESOURCE_IN_USE_FINALIZER) is not None
        return not is_held and not self._removable(key, adapter, is_shared, worker)

    def _removable(
        self,
        key: Key,
        adapter: Adapter,
        is_shared: Callable[[Worker, Object], bool],
        worker: Worker,
    ) -> list[Object]:
        return [
            mirror
            for mirror in worker.mirrors_of(adapter.resource, key)
            if not is_deleting(mirror) and has_origin(mirror, self._settings)
            if not is_shared(worker, mirror)
        ]

    async def _follow(self, worker: Worker, adapter: Adapter, copying: Copying) -> bool:
        is_leaving = is_deleting(copying.mirror) and not copying.is_final
        patch = adapter.forward(copying)
        if patch is not None and not is_leaving and not copying.is_final:
            await worker.patch(adapter.resource, key_of(copying.mirror), patch)
        copied = adapter.copy(copying)
        if is_leaving and (
            copied.status is None or not await self._has_failed(worker, adapter, copying)
        ):
            return False
        if copied.status is not None and not self._is_spared(copying, copied):
            await self._write_status(adapter.resource, copying.job, copied.status)
        return copied.is_postponed

    async def _has_failed(self, worker: Worker, adapter: Adapter, copying: Copying) -> bool:
        """Whether a mirror that somebody deleted there has ended, as a job would that ran at home.
        When its Workload was put out, or went, that was no end of the job.
        """
        mirror, workload = copying.mirror, copying.workload
        if not adapter.has_ended(mirror, self._settings) or status.was_put_out(workload):
            # What it lost then is deleted by us.
            return False
        # Workloads and jobs come by watches of their own: what is known of it may be older.
        copy = await worker.read(kinds.WORKLOAD, key_of(workload))
        return copy is not None and _runs_on(copy) and created_at(copy) <= created_at(mirror)

    def _is_spared(self, copying: Copying, copied: Copied) -> bool:
        """While much happens, a job that is let go in this moment is not told that it waits."""
        is_let_go = copied.is_postponed and status.is_admitted(copying.workload)
        return is_let_go and not self._leisure.take(self._cluster.clock.now())

    async def _make(
        self, worker: Worker, adapter: Adapter, workload: Object, job: Object, copy: Object
    ) -> bool:
        """Whether another has to go first."""
        key = key_of(job)
        if was_there(copy, adapter.resource, key):
            # It ran there and is gone: to make it again would run it twice.
            return False
        try:
            await worker.create(adapter.mirror(job, workload, self._settings))
        except AlreadyExists:
            found = await worker.read(adapter.resource, key)
            self._check(found, adapter)
            if found is not None and self._is_older(found, adapter, workload, job):
                await self._remove_older(worker, adapter, found)
                return True
            if found is not None and is_deleting(found):
                raise Busy(f'an older "{key.name}" is still being deleted there') from None
        return False

    def _check(self, found: Object | None, adapter: Adapter) -> None:
        if found is not None and not has_origin(found, self._settings):
            title = f"{adapter.resource.kind} {key_of(found)} has no such origin"
            raise NotOurs(f"remote object is not owned by MultiKueue: {title}")

    async def _write_status(self, kind: Resource, job: Object, made: Object) -> None:
        before = job.get("status") or {}
        if before == made:
            return
        key = key_of(job)
        patch = {
            "metadata": {"resourceVersion": job["metadata"]["resourceVersion"]},
            "status": create_merge_patch(before, made),
        }
        await self._cluster.patch(
            kind, key.name, patch, key.namespace, subresource="status", field_manager=MANAGER
        )


def _timed(made: Object, now: str) -> Object:
    """Conditions that have no time are new."""
    conditions = made.get("conditions")
    if not conditions:
        return made
    timed = [{"lastTransitionTime": now, **each} for each in conditions]
    return {**made, "conditions": timed}


def _runs_on(copy: Object) -> bool:
    """Whether it was never put out: it may have been admitted again since then."""
    was_put_out = status.find_condition(copy, status.EVICTED) is not None
    is_over = is_deleting(copy) or status.is_finished(copy)
    return status.is_admitted(copy) and not was_put_out and not is_over


def was_there(copy: Object, kind: Resource, key: Key) -> bool:
    """Whether an object of that kind and name took the copy for its own once."""
    owners = copy["metadata"].get("ownerReferences") or ()
    return any(each["kind"] == kind.kind and each["name"] == key.name for each in owners)
