"""Shares of a cohort stay level: who is admitted next, who has to give, and LocalQueues that share
by what they used.
"""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import (
    Kueue,
    admission_check,
    cluster_queue,
    cohort,
    flavor,
    local_queue,
    workload,
)
from support.looking import Looking

pytestmark = pytest.mark.rule("kueue 13.3")

FAIR = """
fairSharing:
  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
"""
BY_USAGE = """
admissionFairSharing:
  usageHalfLifeTime: 10m
  usageSamplingInterval: 5m
"""
ANY = {"reclaimWithinCohort": "Any"}


async def start(fleet: Fleet, *objects: Object, config: str = FAIR) -> Kueue:
    kueue = await Kueue.start(fleet, config=config)
    await kueue.create(flavor(), *objects)
    return kueue


def team(name: str, quota: str = "0", parent: str = "all", **more: Any) -> list[Object]:
    return [cluster_queue(name, quota, cohortName=parent, **more), local_queue(name, name)]


def many(team: str, count: int, cpu: str = "1", start: int = 0) -> list[Object]:
    return [workload(f"{team}{number}", cpu, team) for number in range(start, start + count)]


async def running(kueue: Kueue, *teams: str) -> dict[str, int]:
    names = await kueue.admitted()
    return {team: sum(name.startswith(team) for name in names) for team in teams}


async def calm(kueue: Kueue) -> None:
    """Until nobody is evicted any more."""
    for _ in range(20):
        if not await kueue.stop_evicted():
            return
    raise AssertionError("they preempt each other endlessly")


async def share(kueue: Kueue, name: str) -> int:
    return int((await kueue.queue(name))["status"]["fairSharing"]["weightedShare"])


@pytest.mark.rule("kueue 7.5")
@pytest.mark.rule("kueue 7.6")
async def test_fs1_admissions_keep_shares_level(fleet: Fleet) -> None:
    kueue = await start(fleet, cohort("all", "6"), *team("a"), *team("b"), *team("c"))
    await kueue.create(workload("all", "6", "c"))
    await kueue.create(*many("a", 6), *many("b", 6))

    await kueue.finish("all")

    assert await running(kueue, "a", "b") == {"a": 3, "b": 3}
    assert (await share(kueue, "a"), await share(kueue, "c")) == (500, 0)


@pytest.mark.rule("kueue 7.7")
@pytest.mark.rule("kueue 7.10")
async def test_fs2_a_newcomer_gets_its_share_and_no_more(fleet: Fleet) -> None:
    kueue = await start(
        fleet, cohort("all", "10"), *team("a", preemption=ANY), *team("b", preemption=ANY)
    )
    await kueue.create(*many("a", 10))
    assert await running(kueue, "a") == {"a": 10}

    await kueue.create(*many("b", 10))
    told = [await kueue.conditions(f"a{number}") for number in range(10)]
    [reason] = {each["Preempted"][1] for each in told if "Preempted" in each}
    assert reason == "InCohortFairSharing"
    await calm(kueue)

    assert await running(kueue, "a", "b") == {"a": 5, "b": 5}


@pytest.mark.rule("kueue 7.6")
async def test_fs3_queues_without_weight_do_not_play_ping_pong(fleet: Fleet) -> None:
    none = {"weight": "0"}
    kueue = await start(
        fleet,
        cohort("all", "4"),
        *team("a", preemption=ANY, fairSharing=none),
        *team("b", preemption=ANY, fairSharing=none),
    )
    await kueue.create(*many("a", 4))
    await kueue.create(*many("b", 4))
    await calm(kueue)

    assert sum((await running(kueue, "a", "b")).values()) == 4
    assert await share(kueue, "a") == 9223372036854775807


@pytest.mark.rule("kueue 7.5")
async def test_fs4_a_tree_shares_by_subtree_first(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cohort("root", "5"),
        cohort("left", parent="root"),
        cohort("right", parent="root"),
        *team("a", parent="left"),
        *team("b", parent="left"),
        *team("c", parent="right"),
        *team("d", parent="right"),
    )
    await kueue.create(workload("whole", "5", "d"))
    await kueue.create(*many("a", 8), *many("b", 8), *many("c", 8))

    await kueue.finish("whole")

    # One of each goes, then the right side, which has less than the left, goes first.
    found = await running(kueue, "a", "b", "c")
    assert (found["a"] + found["b"], found["c"]) == (3, 2)


@pytest.mark.rule("kueue 4.4")
async def test_fs5_a_head_over_its_share_does_not_block_the_next(fleet: Fleet) -> None:
    kueue = await start(
        fleet, cohort("all", "4"), *team("a", preemption=ANY), *team("b", preemption=ANY)
    )
    await kueue.create(*many("a", 2), *many("b", 2))
    await kueue.create(workload("a-large", "3", "a", priority=5))
    await kueue.finish("a0")
    assert await running(kueue, "a", "b") == {"a": 1, "b": 2}

    await kueue.create(workload("a-small", "1", "a"))

    assert await running(kueue, "a-small") == {"a-small": 1}


@pytest.mark.rule("kueue 4.2")
async def test_fs6_a_preemptor_that_goes_gives_way(fleet: Fleet) -> None:
    """It stays at the head while its victims stop, but not when it is deleted."""
    kueue = await start(
        fleet, cohort("all", "4"), *team("a", preemption=ANY), *team("b", preemption=ANY)
    )
    await kueue.create(workload("a-all", "4", "a"))
    await kueue.create(workload("b-preemptor", "2", "b"), workload("b-next", "1", "b"))
    assert (await kueue.conditions("a-all"))["Evicted"][0] == "True"

    await kueue.delete(kinds.WORKLOAD, "b-preemptor")
    await kueue.stop_evicted()

    assert "b-next" in await kueue.admitted()


# By what LocalQueues used

SCOPE = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


@pytest.mark.rule("kueue 4.10")
async def test_fs7_local_queues_take_turns_and_the_newcomer_goes_first(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota="2", **SCOPE),
        *(local_queue(name) for name in ("a", "b", "c")),
        config=BY_USAGE,
    )
    await kueue.create(*many("a", 4), *many("b", 2))
    await fleet.passes(minutes=11)
    assert await running(kueue, "a", "b") == {"a": 2, "b": 0}
    queue = (await kueue.get(kinds.LOCAL_QUEUE, "a"))["status"]["fairSharing"]
    consumed = queue["admissionFairSharingStatus"]["consumedResources"]
    assert "cpu" in consumed
    assert queue["weightedShare"] == 0

    # A queue that used nothing goes before one that has.
    await kueue.finish((await kueue.admitted())[0])
    assert await running(kueue, "a", "b") == {"a": 1, "b": 1}
    await kueue.create(workload("c0", queue="c"))
    await kueue.finish(next(name for name in await kueue.admitted() if name.startswith("b")))
    assert await running(kueue, "a", "b", "c") == {"a": 1, "b": 0, "c": 1}


@pytest.mark.rule("kueue 4.10")
async def test_what_queues_used_is_known_after_a_restart(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota="2", **SCOPE),
        local_queue("a"),
        local_queue("b"),
        config=BY_USAGE,
    )
    await kueue.create(*many("a", 2))
    await fleet.passes(minutes=11)
    await kueue.create(*many("a", 2, start=2), workload("b0", queue="b"))
    before = (await kueue.get(kinds.LOCAL_QUEUE, "a"))["status"]["fairSharing"]
    assert before["admissionFairSharingStatus"]["consumedResources"]["cpu"] != "0"

    await kueue.restart()

    assert (await kueue.get(kinds.LOCAL_QUEUE, "a"))["status"]["fairSharing"] == before
    await kueue.finish((await kueue.admitted())[0])
    assert await running(kueue, "a", "b") == {"a": 1, "b": 1}


@pytest.mark.rule("kueue 4.10")
async def test_fs8_a_penalty_goes_with_its_workload(fleet: Fleet) -> None:
    """One that is deleted before its check was ready has used nothing."""
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "check"}]}}
    kueue = await start(
        fleet,
        admission_check("check", "example.com/it"),
        cluster_queue(quota="4", **SCOPE, **checks),
        local_queue("a"),
        local_queue("b"),
        config=BY_USAGE,
    )
    await kueue.activate("check")
    assert kueue.admission is not None
    usage = kueue.admission.ledger.usage
    assert usage is not None
    await kueue.create(workload("a0", "4", "a"))
    key = next(iter(kueue.admission.ledger.local_queues))
    assert key.name == "a"
    assert usage.usage(key) > 0

    await kueue.delete(kinds.WORKLOAD, "a0")

    assert usage.usage(key) == 0


@pytest.mark.rule("kueue 11.2")
async def test_fs9_the_figures_of_cohorts_follow_moves_and_new_parents(fleet: Fleet) -> None:
    kueue = await start(
        fleet, cohort("root", "8"), cohort("mid", "4", parent="root"), *team("a", "2", "mid")
    )
    seen = Looking(kueue)
    await kueue.create(workload("a0", "1", "a"))
    assert await quotas(seen) == {"root": (14, 1), "mid": (6, 1)}

    await kueue.patch(kinds.CLUSTER_QUEUE, "a", {"spec": {"cohortName": "root"}})
    assert await quotas(seen) == {"root": (14, 1), "mid": (4, 0)}

    await kueue.patch(kinds.COHORT, "mid", {"spec": {"parentName": None}})
    assert await quotas(seen) == {"root": (10, 1), "mid": (4, 0)}


async def quotas(seen: Looking) -> dict[str, tuple[float | None, float | None]]:
    """By cohort, the quota of its subtree and what is reserved of that."""
    told = await seen.metrics()
    cpu = {"flavor": "default", "resource": "cpu"}
    return {
        name: (
            told.value("cohort_subtree_quota", cohort=name, **cpu),
            told.value("cohort_subtree_resource_reservations", cohort=name, **cpu),
        )
        for name in ("root", "mid")
    }


@pytest.mark.rule("kueue 7.6")
async def test_a_share_changes_with_the_quota_of_others(fleet: Fleet) -> None:
    kueue = await start(fleet, cohort("all"), *team("poor", "2"), *team("rich", "6"))
    await kueue.create(workload("one", "5", queue="poor"))
    assert await share(kueue, "poor") == 375

    more = cluster_queue("rich", "10")["spec"]["resourceGroups"]
    await kueue.patch(kinds.CLUSTER_QUEUE, "rich", {"spec": {"resourceGroups": more}})
    assert await share(kueue, "poor") == 250
    await kueue.patch(kinds.CLUSTER_QUEUE, "rich", {"spec": {"cohortName": None}})
    assert await share(kueue, "poor") == 1500


@pytest.mark.rule("kueue 7.6")
async def test_the_share_of_a_cohort_changes_with_its_members(fleet: Fleet) -> None:
    members = (*team("poor", "2", parent="mid"), *team("rich", "6"))
    kueue = await start(fleet, cohort("all"), cohort("mid", parent="all"), *members)
    await kueue.create(workload("one", "5", queue="poor"))

    async def of_cohort() -> int:
        await fleet.passes(seconds=1.1)
        found = await kueue.get(kinds.COHORT, "mid")
        return int(found["status"]["fairSharing"]["weightedShare"])

    assert await of_cohort() == 375
    await kueue.patch(kinds.CLUSTER_QUEUE, "poor", {"spec": {"cohortName": "all"}})
    assert await of_cohort() == 0
