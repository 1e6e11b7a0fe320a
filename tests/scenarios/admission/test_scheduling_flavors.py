"""Which flavor a workload gets, what its pods count for, and what is said where none fits."""

from itertools import permutations

import pytest
from tests.support.kueue import cluster_queue, flavor, local_queue, pod_set, workload
from tests.support.scheduled import flavor_of, reason, start, two_flavors

from fleetqueue.admission import kinds
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("kueue 13.2")


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
