"""The least that a load can cost on an API server: each workload is created, given quota and
finished by three writes, one after the other, as fast as the server takes them. Nobody decides.
"""

import asyncio
import time
from collections import deque
from typing import Any

from benchmarks.admission import objects
from benchmarks.admission.loads import Load, WorkloadClass
from benchmarks.admission.progress import Progress
from benchmarks.admission.runner import Outcome
from fleetqueue.admission.kinds import WORKLOAD
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base.clock import Clock
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object

AT_ONCE = 32
"""As many as our controller has under way at most."""


class BareRunner:
    """Of one load, on one cluster; follows the workloads by one watch, as any controller would."""

    def __init__(self, cluster: Cluster, load: Load, clock: Clock, progress: Progress) -> None:
        self._cluster = cluster
        self._load = load
        self._clock = clock
        self._progress = progress
        self.outcome = Outcome(waits={each.name: [] for each in load.classes})

    async def run(self) -> Outcome:
        self._cluster.informer(WORKLOAD).listen(self._changed)
        self._cluster.start()
        await self._cluster.wait_synced()
        left = deque(
            (queue, kind, number)
            for kind in self._load.classes
            for number in range(kind.count)
            for queue in objects.queue_names(self._load)
        )
        begun = time.perf_counter()
        async with self._progress.told(), asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._work(left))
        self.outcome.seconds = time.perf_counter() - begun
        await self._cluster.stop()
        return self.outcome

    async def _work(self, left: deque[tuple[str, WorkloadClass, int]]) -> None:
        while left:
            queue, kind, number = left.popleft()
            made = objects.workload(queue, kind, number, self._load)
            created = await self._cluster.client.create(made, resource=WORKLOAD)
            self._progress.created += 1
            begun, now = time.perf_counter(), self._clock.now()
            held = await self._apply(status.reserve(created, admission(queue, kind), now))
            self.outcome.waits[kind.name].append(time.perf_counter() - begun)
            await self._apply(status.finish(held, "ByTest", "By test runner", self._clock.now()))
            self._progress.finished += 1

    async def _apply(self, made: Object) -> Any:
        return await self._cluster.client.apply(
            status.admission_patch(made),
            force=True,
            subresource="status",
            field_manager=status.MANAGER,
        )

    def _changed(self, old: Object | None, new: Object | None) -> None:
        self.outcome.versions += new is not None


def admission(queue: str, kind: WorkloadClass) -> Object:
    """What our scheduler writes, places left out."""
    held = {
        "name": "main",
        "flavors": {"cpu": objects.FLAVOR},
        "resourceUsage": {"cpu": f"{kind.cpu_millis // 1000}"},
        "count": kind.pods,
    }
    return {"clusterQueue": queue, "podSetAssignments": [held]}
