"""Workloads meet queues: what fits is admitted, what does not waits for what changes that."""

from itertools import permutations
from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, named, namespace
from support.kueue import (
    Kueue,
    admission_check,
    cluster_queue,
    cohort,
    flavor,
    local_queue,
    pod_set,
    workload,
)

pytestmark = pytest.mark.rule("kueue 13.2")


async def start(fleet: Fleet, *objects: Object, **more: Any) -> Kueue:
    """With the flavor "default" and whatever else is there from the beginning."""
    kueue = await Kueue.start(fleet, **more)
    await kueue.create(flavor(), *objects)
    return kueue


def with_checks(*names: str, **on_flavors: list[str]) -> Object:
    rules: list[Object] = [{"name": name} for name in names]
    rules += [{"name": name, "onFlavors": wanted} for name, wanted in on_flavors.items()]
    return {"admissionChecksStrategy": {"admissionChecks": rules}}


def elsewhere(obj: Object, space: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": space}}


def two_flavors(one: str, two: str) -> dict[str, Any]:
    return {"one": {"cpu": one}, "two": {"cpu": two}}


async def flavor_of(kueue: Kueue, name: str) -> str:
    found = await kueue.workload(name)
    [assigned] = found["status"]["admission"]["podSetAssignments"]
    return str(assigned["flavors"]["cpu"])


async def reason(kueue: Kueue, name: str) -> str:
    """Why it has no quota."""
    status, found, _ = (await kueue.conditions(name)).get("QuotaReserved", ("False", "", ""))
    assert status == "False"
    return found


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


# Flavors

SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
TOLERATES = {"tolerations": [{"key": "spot", "operator": "Exists"}]}


@pytest.mark.rule("kueue 5.3")
@pytest.mark.rule("kueue 4.4")
async def test_s12_s32_taints_choose_flavors_and_their_end_is_noticed(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one", nodeTaints=[SPOT]),
        flavor("two"),
        cluster_queue(quota=two_flavors("4", "4")),
        local_queue(),
        cluster_queue("tainted", {"one": {"cpu": "4"}}),
        local_queue("tainted", "tainted"),
    )
    await kueue.create(
        workload("plain"),
        workload("tolerant", sets=[pod_set(pod=TOLERATES, cpu="1")]),
        workload("kept-out", queue="tainted"),
    )
    assert await flavor_of(kueue, "plain") == "two"
    assert await flavor_of(kueue, "tolerant") == "one"
    told = await kueue.conditions("kept-out")
    assert told["QuotaReserved"] == (
        "False",
        "NoMatchingFlavor",
        "couldn't assign flavors to pod set main: "
        "untolerated taint {spot true NoSchedule <nil>} in flavor one",
    )

    await kueue.patch(kinds.RESOURCE_FLAVOR, "one", {"spec": {"nodeTaints": None}})

    assert await flavor_of(kueue, "kept-out") == "one"


@pytest.mark.rule("kueue 5.3")
async def test_s13_affinity_chooses_the_flavor(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one", nodeLabels={"size": "small"}),
        flavor("two", nodeLabels={"size": "large"}),
        cluster_queue(quota=two_flavors("4", "4")),
        local_queue(),
    )
    wanted = {"key": "size", "operator": "In", "values": ["large"]}
    terms = [{"matchExpressions": [wanted]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    affine = pod_set(pod={"affinity": {"nodeAffinity": required}}, cpu="1")
    selected = pod_set(pod={"nodeSelector": {"size": "large"}}, cpu="1")
    await kueue.create(workload("affine", sets=[affine]), workload("selected", sets=[selected]))

    assert await flavor_of(kueue, "affine") == "two"
    assert await flavor_of(kueue, "selected") == "two"


@pytest.mark.rule("kueue 4.4")
async def test_s14_any_order_of_creation_ends_in_admission(fleet: Fleet) -> None:
    kueue = await start(fleet)
    names = []
    for number, order in enumerate(permutations(range(4))):
        name = f"n{number}"
        names.append(name)
        made = [
            flavor(name),
            cluster_queue(name, {name: {"cpu": "1"}}),
            local_queue(name, name),
            workload(name, queue=name),
        ]
        await kueue.create(*(made[each] for each in order))
    assert await kueue.admitted() == sorted(names)


@pytest.mark.rule("kueue 5.3")
@pytest.mark.rule("kueue 5.7")
async def test_s17_another_flavor_is_preferred_to_borrowing(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one"),
        flavor("two"),
        cluster_queue("eager", two_flavors("2", "4"), cohortName="all"),
        cluster_queue(
            "modest",
            two_flavors("2", "4"),
            cohortName="all",
            flavorFungibility={"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        ),
        cluster_queue("lender", two_flavors("8", "0"), cohortName="all"),
        local_queue("eager", "eager"),
        local_queue("modest", "modest"),
    )
    await kueue.create(workload("borrows", "3", "eager"), workload("moves", "3", "modest"))

    assert await flavor_of(kueue, "borrows") == "one"
    assert await flavor_of(kueue, "moves") == "two"


@pytest.mark.rule("kueue 5.3")
async def test_s18_preemption_on_the_first_flavor_may_end_the_search(fleet: Fleet) -> None:
    fungible = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}
    within = {"withinClusterQueue": "LowerPriority"}
    kueue = await start(
        fleet,
        flavor("one"),
        flavor("two"),
        cluster_queue(quota=two_flavors("2", "2"), flavorFungibility=fungible, preemption=within),
        local_queue(),
    )
    await kueue.create(workload("low", "2"), workload("high", "2", priority=9))
    assert await kueue.stop_evicted() == ["low"]

    assert await flavor_of(kueue, "high") == "one"
    assert await flavor_of(kueue, "low") == "two"


# Cohorts


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


# What keeps workloads out


@pytest.mark.rule("kueue 4.6")
async def test_s23_a_terminating_queue_admits_nothing_new(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("runs"))
    await kueue.delete(kinds.CLUSTER_QUEUE, "queue")

    await kueue.create(workload("late"))

    assert await kueue.admitted() == ["runs"]
    [active] = (await kueue.queue())["status"]["conditions"]
    assert (active["status"], active["reason"], active["message"]) == (
        "False",
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )


@pytest.mark.rule("kueue 3.2")
async def test_s24_requests_must_stay_within_limits_and_ranges(fleet: Fleet) -> None:
    limits = [
        {"type": "Pod", "max": {"cpu": "2"}},
        {"type": "Container", "min": {"cpu": "500m"}},
    ]
    kueue = await start(
        fleet,
        cluster_queue(),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec={"limits": limits}),
    )
    upside_down = pod_set(cpu="2")
    upside_down["template"]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1"}
    await kueue.create(
        workload("upside-down", sets=[upside_down]),
        workload("large", "3"),
        workload("tiny", "100m"),
        workload("right", "2"),
    )

    assert await kueue.admitted() == ["right"]
    outside = "resources didn't satisfy LimitRange constraints"
    path = "spec.podSets[0].template.spec"
    wrong = 'Invalid value: ["cpu"]: requests must not'
    for name, message in (
        (
            "upside-down",
            f"resources validation failed: {path}.containers[0]: {wrong} exceed its limits",
        ),
        ("large", f"{outside}: {path}: {wrong} be above the limitRange max"),
        ("tiny", f"{outside}: {path}.containers[0]: {wrong} be below the limitRange min"),
    ):
        told = await kueue.conditions(name)
        assert told["QuotaReserved"] == ("False", "Misconfigured", message)


@pytest.mark.rule("kueue 3.4")
@pytest.mark.rule("kueue 3.11")
async def test_s25_hold_and_drain_evicts_and_a_restart_brings_back(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    for kind, name, word in (
        (kinds.CLUSTER_QUEUE, "queue", "ClusterQueue"),
        (kinds.LOCAL_QUEUE, "main", "LocalQueue"),
    ):
        await kueue.create(workload(word.lower()))
        assert await kueue.is_admitted(word.lower())

        await kueue.patch(kind, name, {"spec": {"stopPolicy": "HoldAndDrain"}})
        told = await kueue.conditions(word.lower())
        assert told["Evicted"] == ("True", f"{word}Stopped", f"The {word} is stopped")
        await kueue.stop_evicted()
        told = await kueue.conditions(word.lower())
        assert told["Requeued"][:2] == ("False", f"{word}Stopped")
        assert told["QuotaReserved"][:2] == ("False", "Suspended")
        assert await kueue.admitted() == []

        await kueue.patch(kind, name, {"spec": {"stopPolicy": "None"}})
        told = await kueue.conditions(word.lower())
        again = f"The {word} was restarted after being stopped"
        assert told["Requeued"] == ("True", f"{word}Restarted", again)
        assert await kueue.is_admitted(word.lower())


@pytest.mark.rule("kueue 2.4")
async def test_s29_a_gate_keeps_a_workload_out_until_it_is_removed(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    gated = workload("gated")
    gate = "kueue.x-k8s.io/admission-gated-by"
    gated["metadata"]["annotations"] = {gate: "example.com/one,example.com/two"}
    await kueue.create(gated)
    told = await kueue.conditions("gated")
    value = "example.com/one,example.com/two"
    assert told["QuotaReserved"] == ("False", "AdmissionGated", f"Admission is gated by: {value}")

    await kueue.patch(kinds.WORKLOAD, "gated", {"metadata": {"annotations": {gate: None}}})

    assert await kueue.admitted() == ["gated"]
    assert [event[1] for event in await kueue.events("gated")] == [
        "AdmissionGated",
        "AdmissionGateCleared",
        "QuotaReserved",
        "Admitted",
    ]


@pytest.mark.rule("kueue 6.7")
async def test_s30_what_a_pod_asks_for_is_completed(fleet: Fleet) -> None:
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2"}}]
    kueue = await start(
        fleet,
        cluster_queue(quota="20"),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec={"limits": limits}),
        named(
            "RuntimeClass",
            "node.k8s.io/v1",
            "heavy",
            handler="heavy",
            overhead={"podFixed": {"cpu": "1"}},
        ),
    )
    limited = pod_set()
    limited["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "4"}}
    await kueue.create(
        workload("heavy", sets=[pod_set(pod={"runtimeClassName": "heavy"}, cpu="3")]),
        workload("silent", sets=[pod_set()]),
        workload("limited", sets=[limited]),
    )

    used = {}
    for name in ("heavy", "silent", "limited"):
        found = await kueue.workload(name)
        [assigned] = found["status"]["admission"]["podSetAssignments"]
        used[name] = assigned["resourceUsage"]["cpu"]
    assert used == {"heavy": "4", "silent": "2", "limited": "4"}


# Checks


@pytest.mark.rule("kueue 3.3")
async def test_s31_checks_of_other_flavors_are_left_out(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one"),
        flavor("two"),
        *(admission_check(name, "example.com/it") for name in ("all", "first", "second")),
        cluster_queue(
            quota=two_flavors("1", "4"), **with_checks("all", first=["one"], second=["two"])
        ),
        local_queue(),
    )
    for name in ("all", "first", "second"):
        await kueue.activate(name)
    await kueue.create(workload("small", "1"), workload("large", "2"))

    checks = {
        name: [each["name"] for each in (await kueue.workload(name))["status"]["admissionChecks"]]
        for name in ("small", "large")
    }
    assert checks == {"small": ["all", "first"], "large": ["all", "second"]}


@pytest.mark.rule("kueue 3.5")
@pytest.mark.rule("kueue 3.3")
async def test_s38_a_check_that_wants_a_retry_says_when(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        admission_check("check", "example.com/it"),
        cluster_queue(**with_checks("check")),
        local_queue(),
    )
    await kueue.activate("check")
    await kueue.create(workload("retried"))
    await kueue.check("retried", "check", "Retry", message="later", requeueAfterSeconds=60)
    told = await kueue.conditions("retried")
    message = 'Evicted due to AdmissionCheck in Retry state: "check" (later)'
    assert told["Evicted"] == ("True", "AdmissionCheck", message)
    [check] = (await kueue.workload("retried"))["status"]["admissionChecks"]
    assert check["state"] == "Pending"
    assert check["message"] == "Reset to Pending after eviction. Previously: Retry"
    assert check["retryCount"] == 1

    await kueue.stop_evicted()
    told = await kueue.conditions("retried")
    assert told["Requeued"][:2] == ("False", "AdmissionCheck")
    await fleet.passes(seconds=50)
    assert await reason(kueue, "retried") != ""

    await fleet.passes(seconds=20)
    await fleet.settle()
    told = await kueue.conditions("retried")
    assert told["Requeued"] == ("True", "BackoffFinished", "The workload backoff was finished")
    assert told["QuotaReserved"][0] == "True"


# What the scheduler says


@pytest.mark.rule("kueue 5.9")
async def test_s35_of_several_reasons_the_best_flavor_decides(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one", nodeTaints=[SPOT]),
        flavor("two"),
        cluster_queue(quota=two_flavors("4", "4")),
        local_queue(),
    )
    await kueue.create(workload("runs", "3"), workload("later", "2"), workload("never", "5"))

    assert await reason(kueue, "later") == "WaitingForQuota"
    assert await reason(kueue, "never") == "ExceedsMaxQuota"
    told = await kueue.conditions("later")
    assert told["QuotaReserved"][2] == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor two, 1 more needed, "
        "untolerated taint {spot true NoSchedule <nil>} in flavor one"
    )


# Which resources count

EXCLUDES = """
resources:
  excludeResourcePrefixes: [networking.example.com/]
"""
TRANSFORMS = """
resources:
  transformations:
  - input: example.com/mig
    strategy: Replace
    multiplyBy: example.com/factor
    outputs: {example.com/memory: 5}
"""


@pytest.mark.rule("kueue 6.7")
@pytest.mark.rule("kueue 10.1")
async def test_s36_excluded_resources_do_not_count(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue(), config=EXCLUDES)
    await kueue.create(
        workload("excluded", sets=[pod_set(**{"cpu": "1", "networking.example.com/vpc": "1"})]),
        workload("counted", sets=[pod_set(**{"cpu": "1", "example.com/gpu": "1"})]),
    )
    assert await kueue.admitted() == ["excluded"]
    assert await reason(kueue, "counted") == "NoMatchingFlavor"


@pytest.mark.rule("kueue 6.7")
@pytest.mark.rule("kueue 6.8")
async def test_s37_a_transformation_multiplies(fleet: Fleet) -> None:
    quota = {"default": {"example.com/memory": "100", "example.com/factor": "100"}}
    kueue = await start(fleet, cluster_queue(quota=quota), local_queue(), config=TRANSFORMS)
    asked = pod_set(count=2, **{"example.com/mig": "2", "example.com/factor": "4"})
    await kueue.create(workload("slices", sets=[asked]))

    [assigned] = (await kueue.workload("slices"))["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"example.com/memory": "80", "example.com/factor": "8"}


# Elastic workloads

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


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
