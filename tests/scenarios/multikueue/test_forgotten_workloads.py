"""A manager runs for months: what it knows of a Workload goes with the Workload."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest_asyncio
from tests.support import dispatching
from tests.support.dispatching import CLUSTER_QUEUE, Dispatching, job

from fleetqueue import kueue
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube.client import Client
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import kinds, parts
from fleetqueue.multikueue.controllers.workload import DispatchController
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet


@dataclass
class Seen:
    """A job that runs on a worker, and what dispatching knows."""

    world: Dispatching
    controller: Any
    workload: Object

    def books(self, key: Key | None = None) -> set[str]:
        """Where something is written under the name of the Workload."""
        made, at = self.controller, key or key_of(self.workload)
        holders = (made, made._left, made._namesakes, made._last, made._hands, made.errands)
        return {
            f"{type(holder).__name__}.{name}"
            for holder in (*holders, made._offers._rounds)
            for name, book in vars(holder).items()
            if isinstance(book, dict | set) and at in book
        }


@pytest_asyncio.fixture
async def seen(fleet: Fleet) -> AsyncIterator[Seen]:
    found: list[DispatchController] = []

    def install(
        manager: Manager,
        options: KueueOptions,
        settings: DispatchSettings,
        connect: Callable[[Access], Client],
    ) -> Any:
        made = kueue.install(manager, options)
        connections = parts.install(
            manager, settings, connect, made.metrics, lambda kind: True, writer=made.writer
        )
        found.append(made.writer.goes_on.__self__)  # type: ignore[union-attr]
        return connections

    async with await dispatching.start(fleet, install=install) as world:
        await world.join()
        await world.set_up()
        await world.manager.create(job("one", run_seconds="3600"))
        await world.passes(seconds=5)
        [workload] = await world.manager.workloads()
        yield Seen(world, found[-1], workload)


async def delete_job(world: Dispatching) -> None:
    await world.manager.client.delete(JOB, "one", "default", propagation="Background")
    await world.passes(seconds=30)
    assert not await world.manager.workloads()


async def test_of_a_job_that_was_deleted_nothing_is_known(seen: Seen) -> None:
    assert status.cluster_of(seen.workload)
    assert "DispatchController._known" in seen.books()
    await delete_job(seen.world)
    assert seen.books() == set()


async def test_nor_of_one_whose_checks_were_taken_away_before(seen: Seen) -> None:
    manager = seen.world.manager
    patch = {"spec": {"admissionChecksStrategy": None}}
    await manager.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)
    await seen.world.passes(seconds=5)
    [workload] = await manager.workloads()
    assert not status.checks_of(workload)

    await delete_job(seen.world)

    assert seen.books() == set()


async def test_nor_of_one_that_went_before_it_was_looked_at(seen: Seen) -> None:
    """Workers were nominated for it with the write that gave it quota."""
    metadata = {**seen.workload["metadata"], "name": "other", "uid": "other"}
    other = {**seen.workload, "metadata": metadata}
    seen.controller.nominated(other)
    assert seen.books(key_of(other))

    assert seen.controller.wanted(status.changed(other, admissionChecks=None), None)
    await seen.controller.gone(key_of(other))

    assert seen.books(key_of(other)) == set()


async def test_nor_of_one_for_which_an_errand_fails_after_it_went(seen: Seen) -> None:
    await delete_job(seen.world)

    async def fail() -> None:
        seen.controller._hands._complaints[key_of(seen.workload)] = {"worker1": "no"}
        raise FleetqueueError("no")

    seen.controller.errands.start("worker1", key_of(seen.workload), fail)
    await seen.world.passes(seconds=30)

    assert seen.books() == set()
