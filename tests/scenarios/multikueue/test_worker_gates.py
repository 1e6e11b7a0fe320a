"""A worker whose copies come with a gate: it preempts nobody until the gate is opened."""

from collections.abc import Mapping

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import preemption_gates
from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload

GATE = "kueue.x-k8s.io/multikueue"
GATES = {"preemptionGates": [{"name": GATE}]}
GATED = "Workload requires preemption, but it's gated"
ON = {"MultiKueueOrchestratedPreemption": True}


async def worker(
    fleet: Fleet,
    *,
    gates: Mapping[str, bool] = ON,
    strategy: str = "BestEffortFIFO",
    low: str = "4",
) -> Kueue:
    """A queue of 4 cpu that a low job fills."""
    kueue = await Kueue.start(fleet, wanted_gates=gates)
    preemption = {"withinClusterQueue": "LowerPriority"}
    await kueue.create(
        flavor(),
        cluster_queue(quota="4", preemption=preemption, queueingStrategy=strategy),
        local_queue(),
        workload("low", low, priority=0),
    )
    assert await kueue.admitted() == ["low"]
    return kueue


async def position(kueue: Kueue, name: str) -> list[tuple[str, str]]:
    found = (await kueue.workload(name)).get("status") or {}
    return [(each["name"], each["position"]) for each in found.get("preemptionGates") or ()]


async def open_gate(kueue: Kueue, name: str) -> None:
    """What the manager does."""
    found = await kueue.workload(name)
    await kueue.write(preemption_gates.with_open_gate(found, kueue.fleet.clock.now()))


@pytest.mark.rule("OP-2")
async def test_gates_are_mirrored_closed_and_go_with_the_spec(fleet: Fleet) -> None:
    kueue = await worker(fleet)

    await kueue.create(workload("high", "4", priority=9, **GATES))
    assert await position(kueue, "high") == [(GATE, "Closed")]

    more: Object = {"spec": {"preemptionGates": [{"name": GATE}, {"name": "example.com/other"}]}}
    await kueue.patch(kinds.WORKLOAD, "high", more)
    assert await position(kueue, "high") == [(GATE, "Closed"), ("example.com/other", "Closed")]

    await kueue.patch(kinds.WORKLOAD, "high", {"spec": {"preemptionGates": None}})
    assert await position(kueue, "high") == []


@pytest.mark.rule("OP-2")
async def test_an_open_gate_stays_open_when_another_comes(fleet: Fleet) -> None:
    kueue = await worker(fleet)
    await kueue.create(workload("high", "9", priority=9, **GATES))
    await open_gate(kueue, "high")

    more: Object = {"spec": {"preemptionGates": [{"name": GATE}, {"name": "example.com/other"}]}}
    await kueue.patch(kinds.WORKLOAD, "high", more)

    assert await position(kueue, "high") == [(GATE, "Open"), ("example.com/other", "Closed")]


@pytest.mark.rule("OP-3")
async def test_a_workload_with_a_closed_gate_preempts_nobody_and_says_so(fleet: Fleet) -> None:
    kueue = await worker(fleet)

    await kueue.create(workload("high", "4", priority=9, **GATES))

    told = await kueue.conditions("high")
    assert told["BlockedOnPreemptionGates"] == ("True", "PreemptionGated", GATED)
    assert told["QuotaReserved"][:2] == ("False", "AdmissionGated")
    assert await kueue.admitted() == ["low"]
    assert not status_of.is_evicted(await kueue.workload("low"))
    order = [each["type"] for each in (await kueue.workload("high"))["status"]["conditions"]]
    assert order == ["QuotaReserved", "BlockedOnPreemptionGates", "Admitted"]


@pytest.mark.rule("OP-3")
async def test_a_workload_that_fits_is_admitted_whatever_its_gates(fleet: Fleet) -> None:
    kueue = await worker(fleet)
    await kueue.finish("low")

    await kueue.create(workload("high", "4", priority=9, **GATES))

    assert await kueue.is_admitted("high")
    assert "BlockedOnPreemptionGates" not in await kueue.conditions("high")


@pytest.mark.rule("OP-3")
@pytest.mark.rule("OP-5")
async def test_an_open_gate_lets_it_preempt(fleet: Fleet) -> None:
    kueue = await worker(fleet)
    await kueue.create(workload("high", "4", priority=9, **GATES))

    await open_gate(kueue, "high")
    assert await kueue.stop_evicted() == ["low"]

    assert await kueue.is_admitted("high")
    blocked = (await kueue.conditions("high"))["BlockedOnPreemptionGates"]
    assert blocked == ("False", "QuotaReserved", f"Previously: {GATED}")


@pytest.mark.rule("OP-1")
@pytest.mark.rule("OP-3")
async def test_without_the_feature_gates_mean_nothing(fleet: Fleet) -> None:
    kueue = await worker(fleet, gates={})

    await kueue.create(workload("high", "4", priority=9, **GATES))

    assert await position(kueue, "high") == []
    assert await kueue.stop_evicted() == ["low"]
    assert await kueue.is_admitted("high")


@pytest.mark.rule("OP-4")
@pytest.mark.parametrize(
    ("strategy", "overtakes"), [("BestEffortFIFO", True), ("StrictFIFO", False)]
)
async def test_others_overtake_a_gated_workload_unless_the_queue_is_strict(
    fleet: Fleet, strategy: str, overtakes: bool
) -> None:
    kueue = await worker(fleet, strategy=strategy, low="3")
    await kueue.create(workload("high", "4", priority=9, **GATES))
    assert (await kueue.conditions("high"))["QuotaReserved"][1] == "AdmissionGated"

    await kueue.create(workload("small", "1", priority=0))
    await fleet.passes(seconds=5)

    assert await kueue.admitted() == (["low", "small"] if overtakes else ["low"])


@pytest.mark.rule("OP-6")
async def test_an_eviction_closes_the_gates(fleet: Fleet) -> None:
    kueue = await worker(fleet)
    await kueue.create(workload("high", "4", priority=9, **GATES))
    await open_gate(kueue, "high")
    await kueue.stop_evicted()
    assert await position(kueue, "high") == [(GATE, "Open")]

    await kueue.patch(kinds.WORKLOAD, "high", {"spec": {"active": False}})

    assert await position(kueue, "high") == [(GATE, "Closed")]


@pytest.mark.rule("OP-6")
async def test_an_eviction_ends_the_wait_at_the_gate_in_its_own_words(fleet: Fleet) -> None:
    kueue = await worker(fleet)
    await kueue.create(workload("high", "4", priority=9, **GATES))

    await kueue.patch(kinds.WORKLOAD, "high", {"spec": {"active": False}})

    blocked = (await kueue.conditions("high"))["BlockedOnPreemptionGates"]
    assert blocked == ("False", "Deactivated", "The workload is deactivated")


@pytest.mark.rule("OP-4")
async def test_a_gated_workload_is_tried_again_when_its_gate_opens_and_not_before(
    fleet: Fleet,
) -> None:
    kueue = await worker(fleet)
    await kueue.create(workload("high", "4", priority=9, **GATES))
    version = (await kueue.workload("high"))["metadata"]["resourceVersion"]

    await fleet.passes(minutes=10)
    assert (await kueue.workload("high"))["metadata"]["resourceVersion"] == version

    await open_gate(kueue, "high")
    assert await kueue.stop_evicted() == ["low"]
