"""A manager and its workers that the tests of one module use in turn; each begins with queues of
its own, and finds nothing that was left.

    await world.begin(quota="8", workers={"worker1": "0", "worker2": "4"})
    await world.submit(job("one"))
    await world.passes(seconds=5)
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.support import dispatching
from tests.support import kueue as objects
from tests.support.dispatching import CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, WORKERS, Dispatching, Side
from tests.support.fault_jobs import PLAIN, Family

from fleetqueue import kueue
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.jobs import registry
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kueue import KueueOptions
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue import kinds, parts
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet, NotSettled

SETTLE_SECONDS_MAX = 300.0
READY = 'The workload was admitted on "{}"'.format
CRD_GROUPS = {
    "jobsets": "jobset.x-k8s.io",
    "appwrappers": "workload.codeflare.dev",
    "leaderworkersets": "leaderworkerset.x-k8s.io",
    "trainjobs": "trainer.kubeflow.org",
    "rayjobs": "ray.io",
}


class SharedWorld:
    """All of it, as the test that runs now sees it."""

    def __init__(self, world: Dispatching, options: KueueOptions, metrics: "Kept") -> None:
        self.world = world
        self.fleet = world.fleet
        self.manager = world.manager
        self.workers = world.workers
        self._metrics = metrics
        self._queues: list[tuple[Side, Object]] = []
        self._kinds: list[Resource] = [
            kind.resource for kind in registry.enabled_kinds(options.jobs)
        ]

    @property
    def sides(self) -> Sequence[Side]:
        return (self.manager, *self.workers.values())

    # Before a test

    async def begin(
        self,
        *,
        quota: Any = "8",
        workers: Any = "8",
        worker: Mapping[str, Any] | None = None,
        **queue: Any,
    ) -> None:
        """Queues with so much of each cluster; `worker` and `queue`: more of the ClusterQueues on
        the workers, and of the manager's.
        """
        await self.clear()
        strategy = {"admissionChecks": [{"name": CHECK}]}
        named = {"admissionChecksStrategy": strategy, **queue}
        await self.add(self.manager, *queues(quota, **named))
        for name, side in self.workers.items():
            amount = workers[name] if isinstance(workers, dict) else workers
            if amount is not None:
                await self.add(side, *queues(amount, **(worker or {})))
        await self.fleet.settle()

    async def clear(self) -> None:
        """Nothing of the test before is anywhere."""
        for name in self.workers:
            self.world.restore(name)
        for side in self.sides:
            for kind in self._kinds:
                await remove_all(side, kind)
        await self.passes(seconds=5)
        for side in self.sides:
            await remove_all(side, POD)
        await self.passes(seconds=3)
        for side in self.sides:
            assert not await side.workloads(), f"left on {side.name}"
        for side, obj in reversed(self._queues):
            await side.client.delete(_kind_of(obj), *_where(obj))
        self._queues = []
        await self.fleet.settle()

    async def add(self, side: Side, *objs: Object) -> None:
        """Queues and the like, which are gone after the test."""
        for obj in objs:
            await side.client.create(obj)
            self._queues.append((side, obj))

    # During a test

    async def submit(self, *jobs: Object) -> None:
        for each in jobs:
            await self.manager.client.create(each)
        await self.fleet.settle()

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()

    async def set_quota(self, side: Side, cpu: Any) -> None:
        groups = objects.cluster_queue(CLUSTER_QUEUE, cpu)["spec"]["resourceGroups"]
        patch = {"spec": {"resourceGroups": groups}}
        await side.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)
        await self.fleet.settle()

    async def stop_queue(self, side: Side, policy: str) -> None:
        patch = {"spec": {"stopPolicy": policy}}
        await side.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)

    # What is seen

    async def workload(self, job: str, side: Side | None = None) -> Object:
        """The one of a job, by the name of any of its owners; on a worker too, where copies have
        the names that the manager's have.
        """
        here = [each for each in await self.manager.workloads() if job in _owners(each)]
        assert len(here) == 1, f'"{job}" has {len(here)} workloads'
        if side is None or side is self.manager:
            return here[0]
        return await side.get(kinds.WORKLOAD, str(here[0]["metadata"]["name"]))

    async def told(self, job: str) -> Object:
        return dict((await self.workload(job))["status"])

    async def check(self, job: str) -> tuple[str, str]:
        """State and message."""
        [found] = (await self.told(job))["admissionChecks"]
        return found["state"], found["message"]

    async def conditions(
        self, job: str, side: Side | None = None
    ) -> dict[str, tuple[str, str, str]]:
        return objects.conditions_of(await self.workload(job, side))

    async def sites(self) -> list[str]:
        """The workers that have any copy."""
        return [name for name, side in self.workers.items() if await side.workloads()]

    async def is_clean(self) -> bool:
        """Whether no worker has anything of ours."""
        for side in self.workers.values():
            for kind in (kinds.WORKLOAD, *self._kinds):
                if await side.all(kind):
                    return False
        return True

    async def pods(self, side: Side) -> list[Object]:
        return await side.all(POD)

    def metric(self, name: str, **labels: str) -> float:
        """The sum over all samples with these labels."""
        samples = [
            sample
            for family in self._metrics.metrics.families()
            for sample in family.samples
            if family.name == name
        ]
        found = [each for each in samples if labels.items() <= dict(each.labels).items()]
        return sum(float(each.value) for each in found)


class Brisk(Fleet):
    """One that is quiet soon, or never."""

    async def settle(self) -> None:
        try:
            await asyncio.wait_for(super().settle(), SETTLE_SECONDS_MAX)
        except TimeoutError:
            raise NotSettled(f"still busy: {', '.join(self._busy())}") from None


class Kept:
    """The metrics of the manager that runs now."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    def install(
        self,
        manager: Manager,
        options: KueueOptions,
        settings: DispatchSettings,
        connect: Callable[[Access], Client],
    ) -> Any:
        self.metrics = kueue.install(manager, options).metrics
        return parts.install(manager, settings, connect, self.metrics, lambda kind: True)


@asynccontextmanager
async def start(
    *families: Family,
    workers: Iterable[str] = WORKERS,
    frameworks: Iterable[str] = (),
    flavors: Iterable[Object] = (),
    furniture: Iterable[Object] = (),
    groups: Iterable[str] = (),
    **options: Any,
) -> AsyncIterator[SharedWorld]:
    """Kinds of jobs by their families, batch Jobs always; `furniture` is made on every cluster;
    the rest as `dispatching.start` has it.
    """
    families = (PLAIN, *families)
    wanted = [name for family in families for name in family.frameworks] + list(frameworks)
    operators = {each.name: each for family in families for each in family.operators}
    found = [CRD_GROUPS.get(crd, "kubeflow.org") for family in families for crd in family.crds]
    kept = Kept()
    async with Brisk() as fleet:
        world = await dispatching.start(
            fleet,
            workers=workers,
            install=kept.install,
            frameworks=wanted,
            operators=operators.values(),
            groups=list(dict.fromkeys([*found, *groups])),
            **options,
        )
        for side in (world.manager, *world.workers.values()):
            _hook(side, families)
            for obj in (*(flavors or (objects.flavor(),)), *furniture):
                await side.client.create(obj)
        await world.manager.client.create(dispatching.config(*world.workers))
        await world.manager.client.create(dispatching.admission_check())
        await world.join()
        read = kueue.read_options(dispatching.CONFIGURATION % ", ".join(wanted))
        yield SharedWorld(world, read, kept)


def _hook(side: Side, families: Iterable[Family]) -> None:
    instance = side.cluster.instance
    for webhook in (each for family in families for each in family.webhooks):
        instance.core.hooks.add(DeclaredHook(webhook, instance.core, instance.gate))


def queues(quota: Any, **spec: Any) -> list[Object]:
    return [
        objects.cluster_queue(CLUSTER_QUEUE, quota, **spec),
        objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE),
    ]


def with_labels(obj: Object, **labels: str) -> Object:
    """`priority_class="high"` and `queue_name="other"` are labels of Kueue."""
    metadata = obj["metadata"]
    more = {f"kueue.x-k8s.io/{name.replace('_', '-')}": value for name, value in labels.items()}
    return {**obj, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **more}}}


def for_queue(obj: Object, queue: str = LOCAL_QUEUE) -> Object:
    """What only a server sets is left out."""
    left_out = ("uid", "creationTimestamp", "generation", "resourceVersion")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in left_out}
    made = {**obj, "metadata": {"namespace": dispatching.SPACE, **metadata}}
    return with_labels(made, queue_name=queue)


async def evict_copy(world: SharedWorld, side: Side, job: str, reason: str = "Preempted") -> None:
    """What a worker would write that puts a workload out."""
    copy = await world.workload(job, side)
    made = status.with_condition(
        copy, status.EVICTED, True, reason, "By the test", world.fleet.clock.now()
    )
    patch = {"status": {"conditions": made["status"]["conditions"]}}
    await side.patch(kinds.WORKLOAD, key_of(copy).name, patch, "status")


async def remove_all(side: Side, kind: Resource) -> None:
    for obj in (await side.client.list(kind, side.space)).items:
        # Mirrors go with what they mirror.
        with suppress(NotFound):
            await delete(side, kind, str(obj["metadata"]["name"]))


async def delete(side: Side, kind: Resource, name: str) -> None:
    """As kubectl does it."""
    space = side.space if kind.namespaced else ""
    await side.client.delete(kind, name, space, propagation="Background")


def _owners(workload: Object) -> list[str]:
    found = workload["metadata"].get("ownerReferences") or ()
    return [str(each["name"]) for each in found]


def _kind_of(obj: Object) -> Resource:
    known = (kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE, kinds.ADMISSION_CHECK)
    return next(each for each in known if each.kind == obj["kind"])


def _where(obj: Object) -> tuple[str, str]:
    return str(obj["metadata"]["name"]), str(obj["metadata"].get("namespace") or "")
