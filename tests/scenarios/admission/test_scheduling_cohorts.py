"""Queues that share: what may be borrowed, what is kept, and who goes first."""

import pytest
from tests.support.kueue import cluster_queue, cohort, local_queue, workload
from tests.support.scheduled import reason, start

from fleetqueue.admission import kinds
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("kueue 13.2")


@pytest.mark.rule("kueue 6.3")
async def test_s15_what_the_cohort_does_not_use_may_be_borrowed(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota="2", cohortName="all"),
        local_queue(),
        cluster_queue("other", "2", cohortName="all"),
        local_queue("other", "other"),
    )
    await kueue.create(workload("theirs", "2", "other"), workload("large", "3"))
    assert await kueue.admitted() == ["theirs"]

    await kueue.finish("theirs")

    assert await kueue.admitted() == ["large"]
    status = (await kueue.queue())["status"]
    assert status["flavorsUsage"][0]["resources"] == [
        {"name": "cpu", "total": "3", "borrowed": "1"}
    ]


@pytest.mark.rule("kueue 5.7")
async def test_s16_who_stays_within_nominal_quota_goes_first(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        *(cluster_queue(name, "2", cohortName="all") for name in ("a", "b")),
        cluster_queue("c", "0", cohortName="all"),
        *(local_queue(name, name) for name in ("a", "b", "c")),
    )
    await kueue.create(workload("all", "4", "c"))
    await kueue.create(workload("borrower", "3", "a"))
    await fleet.passes(seconds=10)
    await kueue.create(workload("modest", "2", "b"))

    await kueue.finish("all")

    assert await kueue.admitted() == ["modest"]


@pytest.mark.rule("kueue 6.2")
async def test_s19_a_cohort_has_quota_of_its_own_for_those_who_join(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cohort("rich", "4"),
        cluster_queue("member", "0", cohortName="rich"),
        cluster_queue(quota="0"),
        local_queue("member", "member"),
        local_queue(),
    )
    await kueue.create(workload("inside", "2", "member"), workload("outside", "2"))
    assert await kueue.admitted() == ["inside"]

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"cohortName": "rich"}})

    assert await kueue.admitted() == ["inside", "outside"]


@pytest.mark.rule("kueue 6.2")
@pytest.mark.rule("kueue 6.8")
async def test_s20_a_lending_limit_keeps_the_rest_at_home(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue("lender", "4", limits={"lendingLimit": "1"}, cohortName="all"),
        cluster_queue(quota="1", cohortName="all"),
        local_queue(),
    )
    await kueue.create(workload("borrower", "3"))
    assert await reason(kueue, "borrower") == "ExceedsMaxQuota"

    lends = cluster_queue(quota="4", limits={"lendingLimit": "2"})["spec"]["resourceGroups"]
    await kueue.patch(kinds.CLUSTER_QUEUE, "lender", {"spec": {"resourceGroups": lends}})

    assert await kueue.admitted() == ["borrower"]


@pytest.mark.rule("kueue 6.2")
@pytest.mark.rule("kueue 1.3")
async def test_s28_a_sibling_that_leaves_takes_its_quota_along(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cohort("root"),
        cohort("rich", "4", parent="root"),
        cluster_queue("sibling", "2", cohortName="root"),
        cluster_queue(quota="1", cohortName="root"),
        local_queue(),
    )
    await kueue.create(workload("first", "7"))
    assert await kueue.admitted() == ["first"]
    await kueue.finish("first")

    await kueue.delete(kinds.COHORT, "rich")
    await kueue.create(workload("second", "7"), workload("third", "3"))
    assert await kueue.admitted() == ["third"]
    await kueue.finish("third")

    await kueue.delete(kinds.CLUSTER_QUEUE, "sibling")
    await kueue.create(workload("fourth", "3"), workload("fifth", "1"))
    assert await kueue.admitted() == ["fifth"]


@pytest.mark.rule("kueue 5.7")
async def test_s27_one_that_waits_to_reclaim_keeps_its_share_from_others(fleet: Fleet) -> None:
    """It would have to preempt, finds nobody, and its queue, strict, does not reclaim from all."""
    reclaims = {"reclaimWithinCohort": "LowerPriority"}
    kueue = await start(
        fleet,
        cluster_queue(
            "a", "4", cohortName="all", preemption=reclaims, queueingStrategy="StrictFIFO"
        ),
        cluster_queue("b", "2", cohortName="all"),
        cluster_queue("c", "0", cohortName="all"),
        *(local_queue(name, name) for name in ("a", "b", "c")),
    )
    await kueue.create(workload("equal", "3", "c"), workload("blocker", "3", "b"))
    await kueue.create(workload("waits", "4", "a"), workload("late", "3", "b"))
    assert await kueue.admitted() == ["blocker", "equal"]

    await kueue.finish("blocker")

    # 3 cpu are free, but belong to "waits", which is entitled to 4.
    assert await kueue.admitted() == ["equal"]
    assert await reason(kueue, "late") == "WaitingForQuota"
    await kueue.finish("equal")
    assert await kueue.admitted() == ["waits"]
