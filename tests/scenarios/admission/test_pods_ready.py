"""Workloads whose pods do not get ready in time make room, come back later, and give up at last."""

from datetime import timedelta

import pytest
from tests.support import golden, whole

from fleetqueue.admission import kinds
from fleetqueue.api.meta import Key
from fleetqueue.api.times import parse_time
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = [pytest.mark.rule("kueue 13.4"), pytest.mark.rule("kueue 3.7")]

BLOCKS = """
waitForPodsReady:
  timeout: 10s
  blockAdmission: true
"""
RETRIES = """
waitForPodsReady:
  timeout: 10s
  requeuingStrategy: {backoffLimitCount: 2, backoffBaseSeconds: 20}
"""
SORTED = """
waitForPodsReady:
  timeout: 10s
  requeuingStrategy: {backoffBaseSeconds: 1, timestamp: %s}
"""


async def start(fleet: Fleet, config: str, quota: str = "4") -> Kueue:
    kueue = await Kueue.start(fleet, config=config)
    await kueue.create(flavor(), cluster_queue(quota=quota), local_queue())
    return kueue


async def passes(fleet: Fleet, seconds: float) -> None:
    await fleet.passes(seconds=seconds)
    await fleet.settle()


async def test_w1_one_at_a_time_gets_its_pods_ready(fleet: Fleet) -> None:
    kueue = await start(fleet, BLOCKS)
    await kueue.create(workload("first"))
    await kueue.client.create(workload("second"))
    await fleet.passes(seconds=1)
    assert await kueue.admitted() == ["first"]
    told = await kueue.conditions("second")
    message = "waiting for all admitted workloads to be in PodsReady condition"
    assert told["QuotaReserved"] == ("False", "WaitingForPodsReady", message)

    await kueue.ready("first")

    assert await kueue.admitted() == ["first", "second"]


@pytest.mark.parametrize("queue", ["main", "other"])
async def test_w1_also_those_that_come_together(fleet: Fleet, queue: str) -> None:
    """The second is held back while the first reservation is still being written."""
    kueue = await start(fleet, BLOCKS)
    await kueue.create(cluster_queue("another"), local_queue("other", "another"))
    await kueue.client.create(workload("first"))
    await kueue.client.create(workload("second", queue=queue))
    await fleet.passes(seconds=1)
    [first] = await kueue.admitted()
    [second] = {"first", "second"} - {first}
    told = await kueue.conditions(second)
    assert told["QuotaReserved"][:2] == ("False", "WaitingForPodsReady")

    await kueue.ready(first)

    assert await kueue.admitted() == ["first", "second"]


@pytest.mark.parametrize("ends", ["deleted", "late"])
async def test_w2_the_block_is_lifted_when_the_first_goes(fleet: Fleet, ends: str) -> None:
    kueue = await start(fleet, BLOCKS)
    await kueue.create(workload("first"))
    await kueue.client.create(workload("second"))
    await fleet.passes(seconds=1)
    assert await kueue.admitted() == ["first"]

    if ends == "deleted":
        await kueue.delete(kinds.WORKLOAD, "first")
    else:
        await fleet.passes(seconds=11)
        await kueue.release("first")

    assert "second" in await kueue.admitted()


@pytest.mark.parametrize("goes", ["second", "large"])
async def test_what_goes_while_others_get_ready_is_decided_about_no_more(
    fleet: Fleet, goes: str
) -> None:
    kueue = await start(fleet, BLOCKS)
    await kueue.create(workload("first"))
    for queue, quota in (("enough", "4"), ("small", "1")):
        await kueue.create(cluster_queue(queue, {"late": {"cpu": quota}}))
        await kueue.create(local_queue(queue, queue))
    await kueue.create(workload("second", queue="enough"))
    await kueue.create(workload("large", queue="small", cpu="2"))
    await kueue.client.create(flavor("late"))
    await fleet.passes(seconds=1)
    assert await kueue.admitted() == ["first"]
    assert kueue.admission is not None
    verdicts = kueue.admission.scheduler.verdicts
    assert [*verdicts] == [Key(NAMESPACE, "second")]

    await kueue.client.delete(kinds.WORKLOAD, goes, NAMESPACE)
    await fleet.passes(seconds=1)
    await kueue.ready("first")

    stays = {"second": "large", "large": "second"}[goes]
    assert {key.name for key in verdicts} == {"large"} & {stays}
    assert await kueue.admitted() == sorted({"first", "second"} - {goes})


@pytest.mark.rule("kueue 3.5")
@pytest.mark.rule("kueue 3.13")
async def test_w3_it_comes_back_later_each_time_until_it_gives_up(fleet: Fleet) -> None:
    kueue = await start(fleet, RETRIES)
    await kueue.create(workload("slow"))
    message = "Exceeded the PodsReady timeout default/slow"
    for count in (1, 2):
        await passes(fleet, 11)
        found = await kueue.workload("slow")
        told = await kueue.conditions("slow")
        assert told["Evicted"] == ("True", "PodsReadyTimeout", message)
        state = found["status"]["requeueState"]
        assert state["count"] == count
        evicted = next(c for c in found["status"]["conditions"] if c["type"] == "Evicted")
        pause = parse_time(state["requeueAt"]) - parse_time(evicted["lastTransitionTime"])
        assert abs(pause - timedelta(seconds=20 * count)) <= timedelta(seconds=1)
        await kueue.stop_evicted()
        told = await kueue.conditions("slow")
        assert told["Requeued"] == ("False", "PodsReadyTimeout", message)

        await passes(fleet, 20 * count + 1)
        told = await kueue.conditions("slow")
        assert told["Requeued"] == ("True", "BackoffFinished", "The workload backoff was finished")
        assert await kueue.is_admitted("slow")

    await passes(fleet, 11)
    found = await kueue.workload("slow")
    assert found["spec"]["active"] is False
    assert "requeueState" not in found["status"]
    told = await kueue.conditions("slow")
    why = "exceeding the maximum number of re-queuing retries"
    assert told["Evicted"] == (
        "True",
        "DeactivatedDueToRequeuingLimitExceeded",
        f"The workload is deactivated due to {why}",
    )
    await kueue.stop_evicted()

    # Kueue leaves a workload that it deactivated itself parked for ever; here it comes back.
    await kueue.patch(kinds.WORKLOAD, "slow", {"spec": {"active": True}})
    assert (await kueue.conditions("slow"))["Requeued"][:2] == ("True", "Reactivated")
    assert await kueue.is_admitted("slow")
    await passes(fleet, 11)
    assert (await kueue.workload("slow"))["status"]["requeueState"]["count"] == 1


@pytest.mark.rule("kueue 4.2")
@pytest.mark.parametrize(("timestamp", "first"), [("Eviction", "later"), ("Creation", "slow")])
async def test_w4_where_it_waits_after_that(fleet: Fleet, timestamp: str, first: str) -> None:
    kueue = await start(fleet, SORTED % timestamp, quota="1")
    await kueue.create(workload("slow"))
    await passes(fleet, 5)
    await kueue.create(workload("later"))
    await passes(fleet, 6)
    queue = {"spec": {"stopPolicy": "Hold"}}
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", queue)
    await kueue.stop_evicted()
    await passes(fleet, 5)

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})

    assert await kueue.admitted() == [first]


async def test_w5_without_the_block_all_that_fit_are_admitted(fleet: Fleet) -> None:
    kueue = await start(fleet, BLOCKS.replace("true", "false"))
    for name in ("first", "second"):
        await kueue.client.create(workload(name))
    await fleet.settle()
    assert await kueue.admitted() == ["first", "second"]


@pytest.mark.rule("kueue 13.6")
async def test_w6_the_condition_over_a_jobs_life(fleet: Fleet) -> None:
    here = await whole.start(fleet, "life")
    await here.create(flavor(), cluster_queue(), local_queue())
    async with here:
        await here.create(golden.job("sample", "main", "1", "life", pods=2))
        [pod, _] = await here.names(POD)
        await here.client.delete(POD, pod, "life")
        await here.passes(seconds=30)

    assert here.seen.track("Workload", "job-sample-*", "PodsReady") == [
        golden.not_started(),
        golden.all_ready(),
        golden.recovers(),
        golden.all_ready().replace("Started", "Recovered"),
    ]
