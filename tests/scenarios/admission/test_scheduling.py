"""Workloads meet queues: what fits is admitted, what does not waits for what changes that."""

import pytest
from tests.support.kueue import (
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)
from tests.support.scheduled import elsewhere, reason, start, with_checks

from fleetqueue.admission import kinds
from fleetqueue.kube.plan import owner_reference
from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule("kueue 13.2")


# Fitting, waiting, finishing


@pytest.mark.rule("kueue 6.6")
async def test_s1_what_fits_is_admitted_and_the_next_when_another_finishes(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(*(workload(name, cpu="2") for name in ("one", "two", "three")))
    assert await kueue.admitted() == ["one", "two"]
    status = (await kueue.queue())["status"]
    assert (status["pendingWorkloads"], status["admittedWorkloads"]) == (1, 2)

    await kueue.finish("one")

    assert await kueue.admitted() == ["three", "two"]
    status = (await kueue.queue())["status"]
    assert (status["pendingWorkloads"], status["admittedWorkloads"]) == (0, 2)


@pytest.mark.rule("kueue 6.7")
async def test_s2_quota_on_pods_counts_them(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota={"default": {"pods": "3"}}),
        local_queue(),
        cluster_queue("both", {"default": {"cpu": "9", "pods": "2"}}),
        local_queue("both", "both"),
    )
    await kueue.create(
        workload("two", sets=[pod_set(count=2)]),
        workload("more", sets=[pod_set(count=2)]),
        workload("last", sets=[pod_set()]),
        workload("wide", queue="both", sets=[pod_set(count=3, cpu="1")]),
        workload("narrow", queue="both", sets=[pod_set(count=2, cpu="4")]),
    )

    assert await kueue.admitted() == ["last", "narrow", "two"]
    [assigned] = (await kueue.workload("narrow"))["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"cpu": "8", "pods": "2"}


@pytest.mark.rule("kueue 3.9")
async def test_s3_pods_that_are_done_free_their_quota(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(quota="3"), local_queue())
    await kueue.create(workload("wide", sets=[pod_set(count=3, cpu="1")]), workload("next", "2"))
    assert await kueue.admitted() == ["wide"]

    done = {"status": {"reclaimablePods": [{"name": "main", "count": 2}]}}
    await kueue.patch(kinds.WORKLOAD, "wide", done, "status")

    assert await kueue.admitted() == ["next", "wide"]
    status = (await kueue.queue())["status"]
    assert status["flavorsUsage"][0]["resources"][0]["total"] == "3"


@pytest.mark.rule("kueue 3.3")
async def test_s4_a_queue_with_checks_reserves_first(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        admission_check("check", "example.com/it"),
        cluster_queue(**with_checks("check")),
        local_queue(),
    )
    await kueue.activate("check")
    await kueue.create(workload("checked"))
    told = await kueue.conditions("checked")
    assert told["QuotaReserved"][:2] == ("True", "QuotaReserved")
    assert told["Admitted"] == (
        "False",
        "UnsatisfiedAdmissionChecks",
        "The workload has not all checks ready",
    )
    status = (await kueue.queue())["status"]
    assert (status["reservingWorkloads"], status["admittedWorkloads"]) == (1, 0)

    await fleet.passes(seconds=5)
    await kueue.check("checked", "check", "Ready")

    assert await kueue.admitted() == ["checked"]
    last = (await kueue.events("checked"))[-1]
    assert last[:2] == ("Normal", "Admitted")
    waited = int(last[2].removesuffix("s").rpartition(" ")[2])
    assert last[2].startswith("Admitted by ClusterQueue queue, wait time since reservation was ")
    assert 5 <= waited <= 8


@pytest.mark.rule("kueue 3.11")
@pytest.mark.rule("kueue 4.2")
async def test_s5_what_a_held_queue_kept_is_admitted_by_priority(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(stopPolicy="Hold", quota="1"),
        local_queue(),
        cluster_queue("open", "1"),
        local_queue("held", "open", stopPolicy="Hold"),
    )
    for queue in ("main", "held"):
        await kueue.create(
            workload(f"{queue}-low", queue=queue, priority=1),
            workload(f"{queue}-high", queue=queue, priority=5),
        )
    assert await kueue.admitted() == []

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})
    await kueue.patch(kinds.LOCAL_QUEUE, "held", {"spec": {"stopPolicy": "None"}})

    assert await kueue.admitted() == ["held-high", "main-high"]


@pytest.mark.rule("kueue 4.4")
async def test_s6_two_small_ones_follow_a_big_one(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("big", "4"), workload("small", "2"), workload("little", "2"))
    assert await kueue.admitted() == ["big"]

    await kueue.finish("big")

    assert await kueue.admitted() == ["little", "small"]


@pytest.mark.rule("kueue 5.3")
async def test_s7_nothing_of_an_unknown_resource_is_no_obstacle(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    nothing = pod_set(**{"cpu": "1", "example.com/gpu": "0"})
    await kueue.create(workload("none", sets=[nothing]))
    assert await kueue.admitted() == ["none"]


# What brings parked workloads back


@pytest.mark.rule("kueue 4.4")
async def test_s8_a_deleted_workload_makes_room_in_its_queue_and_its_cohort(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota="2", cohortName="all"),
        local_queue(),
        cluster_queue("other", "2", cohortName="all"),
        local_queue("other", "other"),
    )
    await kueue.create(workload("big", "4"), workload("same", "2"), workload("far", "2", "other"))
    assert await kueue.admitted() == ["big"]

    await kueue.delete(kinds.WORKLOAD, "big")

    assert await kueue.admitted() == ["far", "same"]


@pytest.mark.rule("kueue 4.4")
async def test_s9_more_quota_lets_the_parked_in(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(quota="1"), local_queue())
    await kueue.create(workload("big", "3"))
    assert await reason(kueue, "big") == "ExceedsMaxQuota"

    groups = cluster_queue(quota="3")["spec"]["resourceGroups"]
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"resourceGroups": groups}})

    assert await kueue.admitted() == ["big"]


@pytest.mark.rule("kueue 4.8")
async def test_s10_only_namespaces_that_the_queue_selects(fleet: Fleet) -> None:
    selector = {"matchLabels": {"team": "a"}}
    kueue = await start(
        fleet,
        namespace("team-a", labels={"team": "a"}),
        cluster_queue(namespaceSelector=selector),
        local_queue(),
        elsewhere(local_queue(), "team-a"),
    )
    await kueue.create(workload("theirs"), elsewhere(workload("ours"), "team-a"))

    ours = await kueue.client.get(kinds.WORKLOAD, "ours", "team-a")
    assert ours["status"]["admission"]["clusterQueue"] == "queue"
    told = await kueue.conditions("theirs")
    message = "workload namespace doesn't match ClusterQueue selector"
    assert told["QuotaReserved"] == ("False", "Misconfigured", message)

    labels = {"metadata": {"labels": {"team": "a"}}}
    await kueue.client.patch(kinds.NAMESPACE, "default", labels)
    await fleet.settle()
    assert await kueue.admitted() == ["theirs"]


@pytest.mark.rule("kueue 4.6")
async def test_s11_a_missing_flavor_holds_the_queue_until_it_comes(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(quota={"later": {"cpu": "4"}}), local_queue())
    await kueue.create(workload("waits"))
    assert await reason(kueue, "waits") == "Suspended"

    await kueue.create(flavor("later"))

    assert await kueue.admitted() == ["waits"]


# Strategies


@pytest.mark.rule("kueue 4.4")
@pytest.mark.rule("kueue 1.1")
async def test_s21_s26_a_strict_head_blocks_until_the_strategy_changes(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(queueingStrategy="StrictFIFO"), local_queue())
    await kueue.create(
        workload("runs", "3"), workload("large", "2", priority=5), workload("small", "1")
    )
    assert await kueue.admitted() == ["runs"]

    best = {"spec": {"queueingStrategy": "BestEffortFIFO"}}
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", best)

    assert await kueue.admitted() == ["runs", "small"]


@pytest.mark.rule("kueue 4.8")
async def test_s22_a_strict_queue_is_not_blocked_from_a_wrong_namespace(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        namespace("good", labels={"team": "a"}),
        cluster_queue(
            queueingStrategy="StrictFIFO", namespaceSelector={"matchLabels": {"team": "a"}}
        ),
        local_queue(),
        elsewhere(local_queue(), "good"),
    )
    await kueue.create(workload("wrong", priority=9), elsewhere(workload("right"), "good"))

    found = await kueue.client.get(kinds.WORKLOAD, "right", "good")
    assert "admission" in found["status"]
    assert await kueue.admitted() == []


@pytest.mark.rule("kueue 4.5")
@pytest.mark.rule("kueue 3.2")
async def test_s33_a_fitting_one_behind_many_alike_that_do_not(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(stopPolicy="Hold"), local_queue())
    await kueue.create(
        *(workload(f"large{number}", "5", priority=1) for number in range(3)), workload("small")
    )
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})

    assert await kueue.admitted() == ["small"]
    told = await kueue.conditions("large2")
    bypassed = "Bypassed scheduling evaluation because an equivalent workload recently failed"
    assert told["QuotaReserved"] == ("False", "ExceedsMaxQuota", bypassed)


@pytest.mark.rule("kueue 4.4")
async def test_s34_many_events_are_one_evaluation(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("all", "4"), *(workload(f"w{n}") for n in range(4)))
    await kueue.create(*(workload(f"huge{n}", f"{n}") for n in range(5, 8)))
    assert await kueue.admitted() == ["all"]
    assert kueue.admission is not None
    tried: list[str] = []
    kueue.admission.scheduler.on_cycle.append(
        lambda plan: tried.extend(each.workload.key.name for each in plan.decisions)
    )

    for name in ("w0", "w1", "w2", "w3"):
        await kueue.client.delete(kinds.WORKLOAD, name, "default")
    await fleet.settle()

    assert sorted(tried) == ["huge5", "huge6", "huge7"]


# Elastic workloads

ELASTIC = {
    "kueue.x-k8s.io/elastic-job": "true",
    "kueue.x-k8s.io/workload-slice-name": "first",
}


@pytest.mark.rule("kueue 9.9")
async def test_s39_a_larger_slice_is_charged_the_difference(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(quota="5"), local_queue())
    first = workload("first", sets=[pod_set(count=3, cpu="1")])
    first["metadata"]["annotations"] = dict(ELASTIC)
    second = workload("second", sets=[pod_set(count=5, cpu="1")])
    replaced = "kueue.x-k8s.io/workload-slice-replacement-for"
    second["metadata"]["annotations"] = {**ELASTIC, replaced: "default/first"}

    await kueue.create(first)
    await kueue.create(second)

    told = await kueue.conditions("first")
    assert told["Finished"][:2] == ("True", "WorkloadSliceReplaced")
    assert await kueue.admitted() == ["second"]
    await kueue.create(workload("waits", "2"))
    assert await kueue.admitted() == ["second"]

    smaller = [pod_set(count=3, cpu="1")]
    await kueue.patch(kinds.WORKLOAD, "second", {"spec": {"podSets": smaller}})
    assert await kueue.admitted() == ["second", "waits"]


@pytest.mark.rule("kueue 9.9")
async def test_a_slice_of_another_namespace_is_not_replaced(fleet: Fleet) -> None:
    furniture = namespace("theirs"), elsewhere(local_queue(), "theirs")
    kueue = await start(fleet, cluster_queue(quota="5"), local_queue(), *furniture)
    first = workload("first", sets=[pod_set(count=3, cpu="1")])
    first["metadata"]["annotations"] = dict(ELASTIC)
    second = elsewhere(workload("second", sets=[pod_set(count=5, cpu="1")]), "theirs")
    replaced = "kueue.x-k8s.io/workload-slice-replacement-for"
    second["metadata"]["annotations"] = {**ELASTIC, replaced: "default/first"}

    await kueue.create(first)
    await kueue.create(second)

    assert await kueue.admitted() == ["first"]
    assert "Finished" not in await kueue.conditions("first")


@pytest.mark.rule("kueue 9.9")
async def test_a_slice_of_another_job_is_not_replaced(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(quota="5"), local_queue())
    owner = await kueue.get(kinds.LOCAL_QUEUE, "main")
    first = workload("first", sets=[pod_set(count=3, cpu="1")])
    first["metadata"]["annotations"] = dict(ELASTIC)
    first["metadata"]["ownerReferences"] = [owner_reference(owner)]
    second = workload("second", sets=[pod_set(count=5, cpu="1")])
    replaced = "kueue.x-k8s.io/workload-slice-replacement-for"
    second["metadata"]["annotations"] = {**ELASTIC, replaced: "default/first"}

    await kueue.create(first)
    await kueue.create(second)

    assert await kueue.admitted() == ["first"]
    assert "Finished" not in await kueue.conditions("first")
