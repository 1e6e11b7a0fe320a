"""Who has to go for whom: by priority in a queue, by right in a cohort."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import (
    Kueue,
    cluster_queue,
    cohort,
    conditions_of,
    flavor,
    local_queue,
    pod_set,
    workload,
)

pytestmark = pytest.mark.rule("kueue 13.3")

LOWER = {"withinClusterQueue": "LowerPriority"}
ANY = {"reclaimWithinCohort": "Any"}
ELASTIC = {
    "kueue.x-k8s.io/elastic-job": "true",
    "kueue.x-k8s.io/workload-slice-name": "first",
}


async def start(fleet: Fleet, *objects: Object) -> Kueue:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), *objects)
    return kueue


async def one_queue(fleet: Fleet, quota: str = "4", **preemption: Any) -> Kueue:
    return await start(fleet, cluster_queue(quota=quota, preemption=preemption), local_queue())


async def two_queues(
    fleet: Fleet, quotas: tuple[str, str], preemption: Object, limits: Object | None = None
) -> Kueue:
    """Two that share a cohort; the first may preempt."""
    return await start(
        fleet,
        cluster_queue("a", quotas[0], cohortName="all", preemption=preemption, limits=limits),
        cluster_queue("b", quotas[1], cohortName="all", limits=limits),
        local_queue("a", "a"),
        local_queue("b", "b"),
    )


async def one_after_the_other(fleet: Fleet, kueue: Kueue, *objects: Object) -> None:
    """Times on the wire are whole seconds."""
    for obj in objects:
        await kueue.create(obj)
        await fleet.passes(seconds=1)


async def evicted(kueue: Kueue) -> dict[str, str]:
    """Name and reason of those that were preempted and whose jobs have not stopped yet."""
    found = (await kueue.client.list(kinds.WORKLOAD, "default")).items
    told = {each["metadata"]["name"]: conditions_of(each) for each in found}
    return {
        name: conditions["Preempted"][1]
        for name, conditions in told.items()
        if all(conditions.get(type, ("",))[0] == "True" for type in ("Preempted", "QuotaReserved"))
    }


# In a queue


@pytest.mark.rule("kueue 7.4")
@pytest.mark.rule("kueue 7.10")
async def test_pr1_no_more_go_than_must(fleet: Fleet) -> None:
    """The one that came last goes first; what is then too much is given back."""
    kueue = await one_queue(fleet, "4", **LOWER)
    await one_after_the_other(
        fleet, kueue, workload("low-1", "2", priority=-1), workload("low-2", "2", priority=-1)
    )
    await kueue.create(workload("high", "2", priority=5))
    assert await evicted(kueue) == {"low-2": "InClusterQueue"}
    assert not await kueue.is_admitted("high")

    await kueue.stop_evicted()

    assert await kueue.admitted() == ["high", "low-1"]
    told = await kueue.conditions("low-2")
    assert told["QuotaReserved"][0] == "False"
    assert told["Requeued"][:2] == ("True", "Preempted")


@pytest.mark.rule("kueue 7.4")
async def test_pr1_fill_back_spares_those_that_need_not_go(fleet: Fleet) -> None:
    kueue = await one_queue(fleet, "7", **LOWER)
    await one_after_the_other(
        fleet, kueue, workload("four", "4"), workload("one", "1"), workload("two", "2")
    )
    await kueue.create(workload("high", "4", priority=5))
    assert await evicted(kueue) == {"four": "InClusterQueue"}


@pytest.mark.rule("kueue 7.1")
async def test_pr2_newer_ones_of_the_same_priority(fleet: Fleet) -> None:
    """The older one waited while the queue was full of another."""
    kueue = await one_queue(fleet, "4", withinClusterQueue="LowerOrNewerEqualPriority")
    await one_after_the_other(
        fleet, kueue, workload("first", "4"), workload("older", "3"), workload("newer", "2")
    )
    assert await evicted(kueue) == {}
    await kueue.patch(kinds.WORKLOAD, "older", {"spec": {"active": False}})
    await kueue.finish("first")
    assert await kueue.admitted() == ["newer"]

    await kueue.patch(kinds.WORKLOAD, "older", {"spec": {"active": True}})

    assert await evicted(kueue) == {"newer": "InClusterQueue"}


@pytest.mark.rule("kueue 7.8")
async def test_pr3_pr9_a_victim_is_told_once_by_whom(fleet: Fleet) -> None:
    kueue = await one_queue(fleet, "4", **LOWER)
    await kueue.create(workload("low", "4"))
    high = workload("high", "4", priority=5)
    high["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": "the-job"}
    await kueue.create(high)
    uid = (await kueue.workload("high"))["metadata"]["uid"]
    message = (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: the-job) due to prioritization "
        "in the ClusterQueue; preemptor path: /queue; preemptee path: /queue"
    )
    told = await kueue.conditions("low")
    assert told["Preempted"] == ("True", "InClusterQueue", message)
    assert told["Evicted"] == ("True", "Preempted", message)

    # The preemptor is tried again while its victim's pods go.
    await fleet.passes(minutes=1)
    await kueue.create(workload("other", "4", priority=3))

    found = await kueue.workload("low")
    assert found["status"]["schedulingStats"]["evictions"] == [
        {"reason": "Preempted", "underlyingCause": "", "count": 1}
    ]
    events = [event[1] for event in await kueue.events("low")]
    assert events.count("EvictedDueToPreempted") == 1
    assert await evicted(kueue) == {"low": "InClusterQueue"}


# In a cohort


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.10")
async def test_pr4_a_queue_takes_back_what_is_its_own(fleet: Fleet) -> None:
    kueue = await two_queues(fleet, ("5", "5"), ANY)
    borrowers = [workload(f"b{number}", "3", "b", priority=9) for number in range(3)]
    await one_after_the_other(fleet, kueue, *borrowers)

    await kueue.create(workload("mine", "3", "a"))

    assert await evicted(kueue) == {"b2": "InCohortReclamation"}
    await kueue.stop_evicted()
    assert await kueue.admitted() == ["b0", "b1", "mine"]


@pytest.mark.rule("kueue 5.4")
async def test_pr5_who_would_borrow_does_not_preempt_others(fleet: Fleet) -> None:
    kueue = await two_queues(fleet, ("5", "5"), ANY)
    await kueue.create(workload("borrower", "9", "b"))
    await kueue.create(workload("large", "6", "a", priority=9))
    assert await evicted(kueue) == {}
    told = await kueue.conditions("large")
    assert told["QuotaReserved"][1] == "WaitingForQuota"


@pytest.mark.rule("kueue 7.1")
@pytest.mark.rule("kueue 7.2")
async def test_pr6_borrowing_may_preempt_below_a_threshold(fleet: Fleet) -> None:
    borrows = {"policy": "LowerPriority", "maxPriorityThreshold": 3}
    kueue = await two_queues(fleet, ("2", "6"), {**ANY, "borrowWithinCohort": borrows})
    await one_after_the_other(
        fleet, kueue, workload("important", "4", "b", priority=4), workload("low", "4", "b")
    )

    await kueue.create(workload("large", "4", "a", priority=9))
    assert await evicted(kueue) == {"low": "InCohortReclaimWhileBorrowing"}
    await kueue.stop_evicted()
    assert await kueue.admitted() == ["important", "large"]

    # The other one is above the threshold.
    await kueue.create(workload("more", "4", "a", priority=9))
    assert await evicted(kueue) == {}


@pytest.mark.rule("kueue 7.4")
async def test_pr7_lending_limits_do_not_hinder_preemption_at_home(fleet: Fleet) -> None:
    kueue = await two_queues(fleet, ("4", "4"), LOWER, limits={"lendingLimit": "0"})
    await kueue.create(workload("low", "4", "a"))
    await kueue.create(workload("high", "2", "a", priority=5))
    assert await evicted(kueue) == {"low": "InClusterQueue"}


@pytest.mark.rule("kueue 5.7")
async def test_pr8_two_preemptors_of_the_same_victims_are_both_admitted(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        *(cluster_queue(name, "3", cohortName="all", preemption=ANY) for name in ("a", "b")),
        cluster_queue("c", "0", cohortName="all"),
        *(local_queue(name, name) for name in ("a", "b", "c")),
    )
    await kueue.create(workload("big", "6", "c"))
    for name in ("a", "b"):
        await kueue.client.create(workload(f"for-{name}", "3", name))
    await fleet.settle()
    assert await evicted(kueue) == {"big": "InCohortReclamation"}

    await kueue.stop_evicted()

    assert await kueue.admitted() == ["for-a", "for-b"]


@pytest.mark.rule("kueue 7.1")
async def test_pr10_a_guaranteed_queue_deep_in_a_tree(fleet: Fleet) -> None:
    """It fits in its own quota, so it has the advantage over everybody in the tree."""
    kueue = await start(
        fleet,
        cohort("root"),
        cohort("left", parent="root"),
        cohort("right", parent="root"),
        cluster_queue("guaranteed", "4", cohortName="left", preemption=ANY),
        cluster_queue("best-effort", "0", cohortName="left"),
        cluster_queue("far", "0", cohortName="right"),
        *(local_queue(name, name) for name in ("guaranteed", "best-effort", "far")),
    )
    await one_after_the_other(
        fleet,
        kueue,
        workload("near", "2", "best-effort", priority=9),
        workload("far", "2", "far", priority=9),
    )
    assert await kueue.admitted() == ["far", "near"]

    await kueue.create(workload("entitled", "4", "guaranteed"))

    assert await evicted(kueue) == dict.fromkeys(("far", "near"), "InCohortReclamation")
    await kueue.stop_evicted()
    assert await kueue.admitted() == ["entitled"]


@pytest.mark.rule("kueue 9.9")
async def test_pr11_an_elastic_workload_preempts_to_grow(fleet: Fleet) -> None:
    kueue = await one_queue(fleet, "5", **LOWER)
    first = workload("first", sets=[pod_set(count=2, cpu="1")], priority=5)
    first["metadata"]["annotations"] = dict(ELASTIC)
    await kueue.create(first, workload("low", "3"))
    assert await kueue.admitted() == ["first", "low"]

    second = workload("second", sets=[pod_set(count=4, cpu="1")], priority=5)
    replaced = "kueue.x-k8s.io/workload-slice-replacement-for"
    second["metadata"]["annotations"] = {**ELASTIC, replaced: "default/first"}
    await kueue.create(second)
    assert await evicted(kueue) == {"low": "InClusterQueue"}
    await kueue.stop_evicted()

    assert await kueue.admitted() == ["second"]
    assert (await kueue.conditions("first"))["Finished"][1] == "WorkloadSliceReplaced"
