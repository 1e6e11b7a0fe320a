"""Admission under random faults, its controllers killed at any moment, the server too: every
workload ends, none is lost, none gets quota twice without giving it back, and quota is never
oversold. Whatever the server stores is looked at, so nothing goes unseen that was wrong for a
moment only.
"""

import asyncio
import os
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from fleetqueue.admission import kinds, parts
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.apiserver.log import Row
from fleetqueue.base import codec
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object
from fleetqueue.testing import CALM, STORM, Fleet, FleetCluster
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload
from support.quota_ledger import QuotaLedger

pytestmark = pytest.mark.rule("kueue 3.3", "kueue 3.4", "kueue 6.4")

SEEDS = int(os.environ.get("FLEETQUEUE_SEEDS", "20"))
WORKLOADS = int(os.environ.get("FLEETQUEUE_WORKLOADS", "60"))
QUEUES = ("a", "b", "c")
NOMINAL, BORROWED = 20, 30
CLASSES = (("1", 50, 7), ("5", 100, 2), ("20", 200, 1))
"""Cpu, priority, and how often; as the admission benchmark has them."""
ROUNDS_MAX = 400


class Rows(dict[int, Row]):
    """The rows of a log, and what the workloads among them say about quota."""

    def __init__(self, rows: Mapping[int, Row]) -> None:
        super().__init__(rows)
        self.ledger = QuotaLedger(dict.fromkeys(QUEUES, "all"), NOMINAL, BORROWED)

    def __setitem__(self, revision: int, row: Row) -> None:
        super().__setitem__(revision, row)
        if row.resource.startswith("workloads."):
            self.ledger.saw(codec.decode(row.value), is_gone=row.is_delete)


class World:
    """A cluster with admission on it, and all who change something in it."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client
        self.random = random.Random(f"{fleet.seed}/world")
        self.rows = Rows(cluster.log.rows)
        cluster.log.rows = self.rows
        self.made: set[str] = set()

    async def start(self) -> None:
        await Kueue.prepare(self.fleet, self.cluster)
        await self.client.create(flavor())
        policy = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
        for name in QUEUES:
            limits = {"borrowingLimit": str(BORROWED)}
            made = cluster_queue(
                name, str(NOMINAL), limits=limits, cohortName="all", preemption=policy
            )
            await self.client.create(made)
            await self.client.create(local_queue(name, name))
        self.kill_admission = self.fleet.run_all(self._install, on=self.cluster)
        await self.fleet.settle()
        await self._borrow()

    async def _borrow(self) -> None:
        """One queue holds most of what is there when another wants its own back."""
        for _ in range(9):
            await self._create("5", 100, "a")
        await self.fleet.settle()
        await self._create("20", 200, "b")

    def _install(self, manager: object) -> None:
        parts.install(manager, AdmissionSettings())

    async def round(self, chance_of_kill: float) -> None:
        try:
            if len(self.made) < WORKLOADS:
                for _ in range(self.random.randint(1, 8)):
                    weights = [each[2] for each in CLASSES]
                    ((cpu, priority, _),) = self.random.choices(CLASSES, weights)
                    await self._create(cpu, priority, self.random.choice(QUEUES))
            await self._run_jobs()
            if self.random.random() < chance_of_kill:
                await self._kill()
        except KubeError:
            # The server died under it.
            assert not self.cluster.is_up
        await asyncio.sleep(self.random.random() * 2)
        if not self.cluster.is_up:
            await self._restart_server()

    async def _create(self, cpu: str, priority: int, queue: str) -> None:
        name = f"w-{len(self.made)}"
        made = workload(name, cpu, queue, priority=priority)
        self.made.add(name)
        try:
            await self.client.create(made)
        except KubeError:
            if name not in {each["metadata"]["name"] for each in self.stored()}:
                self.made.discard(name)
            raise

    async def _run_jobs(self) -> None:
        """The jobs' part: those that are to stop do, those that run end, sooner or later."""
        now = self.fleet.clock.now()
        for each in await self.workloads():
            if status.is_finished(each) or not status.has_quota(each):
                continue
            if status.is_evicted(each):
                made = status.release_evicted(each, now)
            elif status.is_admitted(each) and self.random.random() < 0.4:
                made = status.finish(each, "Succeeded", "done", now)
            else:
                continue
            await self._write(made)

    async def _write(self, made: Object) -> None:
        """Refused where the workload changed meanwhile, as a job's controller would have it."""
        body = status.admission_patch(made)
        try:
            await self.client.apply(
                body, force=True, subresource="status", field_manager=status.MANAGER
            )
        except KubeError:
            assert not self.cluster.is_up or await self._changed(made)

    async def _changed(self, made: Object) -> bool:
        found = await self.client.get(
            kinds.WORKLOAD, made["metadata"]["name"], made["metadata"]["namespace"]
        )
        return bool(found["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"])

    async def _kill(self) -> None:
        chance = self.random.random()
        if chance < 0.7:
            await self.kill_admission()
        elif chance < 0.85:
            await self._restart_server()
        else:
            self.cluster.log.writes_left = self.random.randint(1, 20)

    async def _restart_server(self) -> None:
        await self.cluster.restart()
        Kueue.hook(self.cluster)

    async def come_to_rest(self) -> None:
        self.cluster.set_weather(CALM)
        await self._restart_server()
        for _ in range(ROUNDS_MAX):
            await self.fleet.settle()
            await self._run_jobs()
            if all(map(status.is_finished, await self.workloads())):
                return
        raise AssertionError("some workloads never end")

    async def workloads(self) -> list[Object]:
        return (await self.client.list(kinds.WORKLOAD, "default")).items

    def stored(self) -> list[Object]:
        rows = [row for row in self.rows.values() if row.resource.startswith("workloads.")]
        return [codec.decode(row.value) for row in rows]


PREEMPTING = range(5)
"""Seeds whose runs have preemptions; by chance some of the others have none."""


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_every_workload_ends_and_quota_is_never_oversold(seed: int) -> None:
    async with Fleet(seed) as fleet:
        world = World(fleet, await fleet.add_cluster("one"))
        await world.start()
        world.cluster.set_weather(replace(STORM, late_watch=0.3))
        while len(world.made) < WORKLOADS:
            await world.round(chance_of_kill=0.4)
            assert not world.rows.ledger.problems
        await world.come_to_rest()
        assert not world.rows.ledger.problems
        names = {each["metadata"]["name"] for each in await world.workloads()}
        assert names == world.made
        assert len(world.rows.ledger.finished) == len(names)
        if seed in PREEMPTING:
            assert world.rows.ledger.evictions, (
                "nothing was preempted: this shows less than it should"
            )
