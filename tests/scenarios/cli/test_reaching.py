"""The way of `logs`, `exec` and `status` through a manager to workers that may not answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support import dispatching
from tests.support.dispatching import Dispatching, job

from fleetqueue.cli import fleet_table
from fleetqueue.cli.reaching import Asked, Way
from fleetqueue.errors import ClusterError, FleetqueueError, UserError
from fleetqueue.kube import kubeconfig
from fleetqueue.multikueue import kinds
from fleetqueue.testing import Fleet


@asynccontextmanager
async def world(fleet: Fleet, **wanted: Any) -> AsyncIterator[Dispatching]:
    """With a job that was sent to a worker."""
    async with await dispatching.start(fleet, install=dispatching.install_dispatch) as made:
        await made.join()
        await made.set_up()
        await made.manager.create(job("one", **wanted))
        await made.passes(seconds=5)
        yield made


async def has_it(made: Dispatching) -> str:
    [workload] = await made.manager.workloads()
    return str(workload["status"]["clusterName"])


async def names(made: Dispatching, pod: str = "", *, remembered: bool = True) -> list[str]:
    asked = Asked("job/one", "default", "", pod, None, "", "kueue-system")
    way = Way(made.manager.client, asked, made.connect)
    async with way.pods(remembered=remembered) as found:
        return [each.name for each in found]


async def refusal(made: Dispatching, pod: str = "", *, remembered: bool = True) -> FleetqueueError:
    with pytest.raises(FleetqueueError) as found:
        await names(made, pod, remembered=remembered)
    return found.value


async def test_only_the_worker_that_has_it_is_asked(fleet: Fleet) -> None:
    async with world(fleet) as made:
        [other] = set(made.workers) - {await has_it(made)}
        made.hang(other)

        [pod] = await names(made)

    assert pod.startswith("one-")


@pytest.mark.parametrize("remembered", [True, False])
async def test_a_worker_that_does_not_answer_is_named(fleet: Fleet, remembered: bool) -> None:
    async with world(fleet) as made:
        worker = await has_it(made)
        made.hang(worker)
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        error = await refusal(made, remembered=remembered)

        assert 10 <= loop.time() - began_at < 11
    assert isinstance(error, ClusterError)
    start = f'the worker "{worker}", which has job/one, does not answer. The manager has not missed'
    assert str(error).startswith(start)
    assert "workerLostTimeout (15m" in str(error)


async def test_a_worker_that_is_lost_is_told_of_and_what_becomes_of_the_job(fleet: Fleet) -> None:
    async with world(fleet) as made:
        worker = await has_it(made)
        made.cut(worker)
        await made.passes(seconds=20)

        error = await refusal(made)

    assert (
        f'the worker "{worker}", which has job/one, cannot be reached: cannot connect. It is'
        in (str(error))
    )
    assert "It is lost to the manager too, since " in str(error)
    assert "GET /" not in str(error)
    assert "moves a job to another worker" in str(error)


async def test_one_that_is_lost_meanwhile_is_told_of_too(fleet: Fleet) -> None:
    async with world(fleet) as made:
        worker = await has_it(made)
        asked = Asked("one", "default", "", "", None, "", "kueue-system")

        async def go_on() -> None:
            async with Way(made.manager.client, asked, made.connect).pods(remembered=True) as found:
                made.cut(worker)
                await found[0].client.list(kinds.WORKLOAD)

        with pytest.raises(ClusterError, match=f'the worker "{worker}", which has one'):
            await go_on()


async def test_a_pod_that_it_does_not_have(fleet: Fleet) -> None:
    async with world(fleet) as made:
        [pod] = await names(made)
        assert str(await refusal(made, "nope")) == f'job/one has no pod "nope": it has {pod}'


async def test_no_command_runs_in_a_job_that_has_finished(fleet: Fleet) -> None:
    async with world(fleet, run_seconds="1") as made:
        await made.passes(seconds=20)

        error = await refusal(made, remembered=False)
        kept = await refusal(made)

    assert isinstance(error, UserError)
    assert str(error).startswith("job/one has finished (Succeeded: ")
    assert "`fleetqueue logs job/one`" in str(error)
    assert str(kept).endswith("are gone, and no logs were kept")


async def test_one_that_is_switched_off_says_so(fleet: Fleet) -> None:
    async with world(fleet) as made:
        [workload] = await made.manager.workloads()
        name = workload["metadata"]["name"]
        patch = {"spec": {"active": False}}
        await made.manager.client.patch(kinds.WORKLOAD, name, patch, "default")
        await made.passes(seconds=20)

        error = await refusal(made)

    assert str(error).startswith("job/one is switched off: spec.active of its Workload is false")
    assert f"`fleetqueue kueue resume workload {name} -n default`" in str(error)


async def test_status_waits_five_seconds_for_all_together(fleet: Fleet) -> None:
    async with world(fleet) as made:
        clients = {"manager": made.manager.client}
        for name in made.workers:
            clients[name] = made.connect(kubeconfig.parse(dispatching.kubeconfig(name)).access())
            made.hang(name)
        made.restore("worker2")
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        heard = await fleet_table.hear(clients)

        assert 5 <= loop.time() - began_at < 5.5
    assert heard.workloads["worker1"] is None
    assert heard.workloads["worker2"] is not None
    assert [each["metadata"]["name"] for each in heard.clusters or ()] == ["worker1", "worker2"]


async def test_status_shows_clusters_that_joined(fleet: Fleet) -> None:
    async with world(fleet) as made:
        worker = await has_it(made)
        [other] = set(made.workers) - {worker}
        made.cut(other)
        await made.passes(seconds=20)

        rows = fleet_table.joined_rows(await fleet_table.hear({"manager": made.manager.client}))

    shown = {row[0]: row[1:] for row in rows}
    assert shown[worker] == ["joined", "", "", "yes", "1 admitted"]
    state, _, _, connected, workloads = shown[other]
    assert (state, workloads) == ("joined", "0 admitted")
    assert connected.startswith("no: ")
