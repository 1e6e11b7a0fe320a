"""A queue whose MultiKueue check is replaced, taken away or added while its jobs run: each of them
goes on where it runs, or starts again elsewhere, and never runs twice.
"""

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from tests.support import apps, dispatching, leader_workers, shared_world
from tests.support.dispatching import CHECK, CLUSTER_QUEUE, WORKERS, Side, job
from tests.support.fault_jobs import PODS, Family, pod_of
from tests.support.shared_world import READY, SharedWorld, delete, evict_copy, for_queue

from fleetqueue.jobs.resources import STATEFUL_SET
from fleetqueue.kube.resources import Object, uid_of
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.controllers import stateful_set
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.operators import leader_worker_set

pytestmark = pytest.mark.asyncio(loop_scope="module")
SECOND = "second"
LOST = 'Admitting remote no longer exists, Previously: "Pending"'
SETS = Family(
    ("statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"),
    ("leaderworkersets",),
    (stateful_set.OPERATOR, leader_worker_set.OPERATOR),
    tuple(leader_worker_set.WEBHOOKS),
    (),
)
CONFIG = "multiKueue: {workerLostTimeout: 60s}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(PODS, SETS, config=CONFIG) as made:
        await made.manager.client.create(dispatching.config(*WORKERS, name=SECOND))
        await made.manager.client.create(dispatching.admission_check(SECOND, SECOND))
        yield made


# Replaced


@pytest.mark.rule("IMP-2", "LOST-4", "ROLE-1")
async def test_a_job_moves_when_the_new_check_does_not_know_its_worker(world: SharedWorld) -> None:
    await begin_second(world, "worker2")
    await world.submit(job("one"))
    await world.passes(seconds=3)
    assert await world.check("one") == ("Ready", READY("worker1"))
    await ask_for(world, SECOND)
    await world.passes(seconds=30)

    assert await world.check("one") == ("Ready", READY("worker2"))
    assert await world.sites() == ["worker2"]
    assert await world.workers["worker1"].all(JOB) == []
    assert len(await world.pods(world.workers["worker2"])) == 1
    told = await events(world, "one")
    assert [text for text in told if LOST in text]


@pytest.mark.rule("IMP-2", "ROLE-1", "FLOW-34")
async def test_a_job_runs_on_when_the_new_check_knows_its_worker(world: SharedWorld) -> None:
    await begin_second(world, *reversed(WORKERS))
    await world.submit(job("one"))
    await world.passes(seconds=3)
    [pod] = await world.pods(world.workers["worker1"])
    await ask_for(world, SECOND)
    await world.passes(seconds=30)

    assert await world.check("one") == ("Ready", READY("worker1"))
    assert await world.sites() == ["worker1"]
    assert [uid_of(each) for each in await world.pods(world.workers["worker1"])] == [uid_of(pod)]
    assert "Evicted" not in await world.conditions("one")


@pytest.mark.rule("LOST-1", "LOST-2", "LOST-3")
@pytest.mark.parametrize(("away", "there"), [(30, "worker1"), (90, "worker2")])
async def test_a_new_check_waits_for_the_worker_as_long_as_any(
    world: SharedWorld, away: int, there: str
) -> None:
    await begin_second(world, *WORKERS)
    await world.submit(job("one"))
    await world.passes(seconds=3)
    world.world.cut("worker1")
    await world.fleet.passes(seconds=2)
    await ask_for(world, SECOND)
    await world.fleet.passes(seconds=away)
    world.world.restore("worker1")
    await world.passes(seconds=90)

    assert await world.check("one") == ("Ready", READY(there))
    assert await world.sites() == [there]
    assert len(await world.pods(world.workers[there])) == 1
    assert ("Evicted" in await world.conditions("one")) == (there == "worker2")


@pytest.mark.rule("FLOW-56", "ROLE-1")
async def test_a_worker_puts_a_job_out_whose_check_is_new(world: SharedWorld) -> None:
    await begin_second(world, *WORKERS)
    await world.submit(job("one"))
    await world.passes(seconds=3)
    await evict_copy(world, world.workers["worker1"], "one")
    await ask_for(world, SECOND)
    await world.passes(seconds=30)

    assert (await world.check("one"))[0] == "Ready"
    assert "Evicted" in await world.conditions("one")
    assert sum([len(await world.pods(each)) for each in world.workers.values()]) == 1


# Taken away


@pytest.mark.rule("POD-1", "STS-3", "ROLE-1", "IMP-2")
async def test_pods_stay_held_here_when_nobody_sends_them_away_any_more(world: SharedWorld) -> None:
    await world.begin()
    await world.submit(lone("one"), *group("a", "b"), sets(2), leaders())
    await world.passes(seconds=15)
    running = await names(world.workers["worker1"])
    assert len(running) == 6
    await ask_for(world)
    await world.passes(seconds=20)

    assert await names(world.workers["worker1"]) == running
    assert await let_go(world.manager) == []
    assert not (await world.told("one")).get("admissionChecks")

    await ask_for(world, CHECK)
    await world.passes(seconds=20)
    assert await names(world.workers["worker1"]) == running
    assert await let_go(world.manager) == []
    assert await world.check("one") == ("Ready", READY("worker1"))
    await disband(world)


# Added


@pytest.mark.rule("POD-1", "STS-3", "ROLE-1", "MB-3")
async def test_pods_that_run_here_are_not_sent_away(world: SharedWorld) -> None:
    await world.begin(admissionChecksStrategy=None)
    await world.submit(lone("one"), *group("a", "b"), sets(2), leaders())
    await world.passes(seconds=15)
    running = await let_go(world.manager)
    assert len(running) == 6
    await ask_for(world, CHECK)
    await world.passes(seconds=30)

    assert await world.is_clean()
    assert await let_go(world.manager) == running
    assert (await world.check("one"))[0] == "Pending"
    assert "Evicted" not in await world.conditions("one")
    await disband(world)


@pytest.mark.rule("STS-3", "ROLE-1")
async def test_a_set_that_runs_here_replaces_its_pods_here(world: SharedWorld) -> None:
    await world.begin(admissionChecksStrategy=None)
    await world.submit(sets(2))
    await world.passes(seconds=10)
    await ask_for(world, CHECK)
    await world.passes(seconds=5)
    [gone, _] = await let_go(world.manager)
    await delete(world.manager, POD, gone)
    await world.passes(seconds=40)

    assert len(await let_go(world.manager)) == 2
    assert await world.is_clean()


@pytest.mark.rule("STS-3", "ROLE-1", "FLOW-50")
async def test_a_set_that_ran_here_is_sent_away_when_it_was_put_out(world: SharedWorld) -> None:
    await world.begin(admissionChecksStrategy=None)
    await world.submit(sets(2))
    await world.passes(seconds=10)
    await ask_for(world, CHECK)
    await world.passes(seconds=5)
    await world.stop_queue(world.manager, "HoldAndDrain")
    await world.passes(seconds=60)
    await world.stop_queue(world.manager, "None")
    await world.passes(seconds=60)

    assert await let_go(world.manager) == []
    assert await world.check("web") == ("Ready", READY("worker1"))
    assert len(await let_go(world.workers["worker1"])) == 2
    assert await world.workers["worker1"].all(STATEFUL_SET)


# Queues and jobs


async def begin_second(world: SharedWorld, *clusters: str) -> None:
    """Queues with the usual check, and another check that knows these workers."""
    await world.begin()
    patch = {"spec": {"clusters": list(clusters)}}
    await world.manager.client.patch(kinds.CONFIG, SECOND, patch)
    await world.fleet.settle()


async def ask_for(world: SharedWorld, *checks: str) -> None:
    """The manager's queue has these checks from now on."""
    strategy: Any = {"admissionChecks": [{"name": name} for name in checks]} if checks else None
    patch = {"spec": {"admissionChecksStrategy": strategy}}
    await world.manager.client.patch(kinds.CLUSTER_QUEUE, CLUSTER_QUEUE, patch)


def lone(name: str, **more: Any) -> Object:
    return pod_of(name, Random(0), run_seconds="never", **more)


def group(*members: str) -> list[Object]:
    labels = {"kueue.x-k8s.io/pod-group-name": "group"}
    total = {"kueue.x-k8s.io/pod-group-total-count": str(len(members))}
    return [lone(name, labels=labels, annotations=total) for name in members]


async def disband(world: SharedWorld) -> None:
    """The group goes for good; its Workload would wait for other members."""
    await delete(world.manager, kinds.WORKLOAD, "group")
    await world.passes(seconds=5)


def sets(replicas: int) -> Object:
    made = for_queue(apps.workload("StatefulSet", replicas=replicas))
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = {"fleetqueue.io/sim-run-seconds": "never"}
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return made


def leaders() -> Object:
    container = {"name": "main", "image": "one", "resources": {"requests": {"cpu": "1"}}}
    notes = {"fleetqueue.io/sim-run-seconds": "never"}
    worker = {"metadata": {"annotations": notes}, "spec": {"containers": [container]}}
    template = {"workerTemplate": worker}
    return for_queue(leader_workers.lws(replicas=1, size=1, name="lws", template=template))


async def names(side: Side) -> list[str]:
    return sorted(str(each["metadata"]["name"]) for each in await side.all(POD))


async def let_go(side: Side) -> list[str]:
    """The pods there that may run."""
    found = [each for each in await side.all(POD) if not each["spec"].get("schedulingGates")]
    return sorted(str(each["metadata"]["name"]) for each in found)


async def events(world: SharedWorld, job: str) -> list[str]:
    name = str((await world.workload(job))["metadata"]["name"])
    return [text for _, _, text in await world.manager.events(name)]
