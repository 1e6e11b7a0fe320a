"""Gates that keep a workload from preempting others, and boosts that change who goes first."""

import pytest

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 7.9")

BOOST = "kueue.x-k8s.io/priority-boost"
PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority"}}
GATE = {"preemptionGates": [{"name": "example.com/gate"}]}
GATED = "Workload requires preemption, but it's gated"


async def start(fleet: Fleet, *gates: str, quota: str = "1") -> Kueue:
    kueue = await Kueue.start(fleet, wanted_gates=dict.fromkeys(gates, True))
    await kueue.create(flavor(), cluster_queue(quota=quota, **PREEMPTS), local_queue())
    return kueue


def boosted(by: str | None) -> Object:
    return {"metadata": {"annotations": {BOOST: by}}}


async def test_a_boost_changes_who_is_next(fleet: Fleet) -> None:
    kueue = await start(fleet, "PriorityBoost")
    await kueue.create(workload("running", priority=100))
    await kueue.create(workload("first"), workload("second"))
    await fleet.passes(seconds=1)

    await kueue.patch(kinds.WORKLOAD, "second", boosted("5"))
    await kueue.finish("running")

    assert await kueue.admitted() == ["second"]


async def test_a_boost_may_be_enough_to_preempt(fleet: Fleet) -> None:
    kueue = await start(fleet, "PriorityBoost")
    await kueue.create(workload("running", priority=1), workload("waiting"))
    assert "Evicted" not in await kueue.conditions("running")

    await kueue.patch(kinds.WORKLOAD, "waiting", boosted("+2"))

    told = (await kueue.events("running"))[-1]
    assert told[:2] == ("Normal", "Preempted")
    assert told[2].endswith(
        "; preemptor effective priority: 2 (base: 0, boost: 2); "
        "preemptee effective priority: 1 (base: 1, boost: 0)"
    )


async def test_without_its_gate_a_boost_means_nothing(fleet: Fleet) -> None:
    kueue = await start(fleet)
    await kueue.create(workload("running", priority=1), workload("waiting"))

    await kueue.patch(kinds.WORKLOAD, "waiting", boosted("many"))
    await kueue.patch(kinds.WORKLOAD, "waiting", boosted("9"))

    assert "Evicted" not in await kueue.conditions("running")


@pytest.mark.parametrize("switch", ["MultiKueueOrchestratedPreemption", "ConcurrentAdmission"])
async def test_a_closed_gate_keeps_a_workload_from_preempting(fleet: Fleet, switch: str) -> None:
    kueue = await start(fleet, switch)
    await kueue.create(workload("running"), workload("urgent", priority=9, **GATE))

    (gate,) = (await kueue.workload("urgent"))["status"]["preemptionGates"]
    assert (gate["name"], gate["position"]) == ("example.com/gate", "Closed")
    told = await kueue.conditions("urgent")
    assert told["QuotaReserved"] == ("False", "AdmissionGated", GATED)
    assert told["BlockedOnPreemptionGates"] == ("True", "PreemptionGated", GATED)
    assert "Evicted" not in await kueue.conditions("running")

    opened = {"status": {"preemptionGates": [{**gate, "position": "Open"}]}}
    await kueue.patch(kinds.WORKLOAD, "urgent", opened, "status")

    assert (await kueue.conditions("running"))["Evicted"][:2] == ("True", "Preempted")
    await kueue.release("running")
    assert await kueue.admitted() == ["urgent"]
    told = await kueue.conditions("urgent")
    previously = ("False", "QuotaReserved", f"Previously: {GATED}")
    assert told["BlockedOnPreemptionGates"] == previously


async def test_one_that_fits_needs_no_gate(fleet: Fleet) -> None:
    kueue = await start(fleet, "ConcurrentAdmission", quota="2")

    await kueue.create(workload("running"), workload("urgent", priority=9, **GATE))

    assert await kueue.admitted() == ["running", "urgent"]


async def test_gates_are_closed_again_by_an_eviction(fleet: Fleet) -> None:
    kueue = await start(fleet, "ConcurrentAdmission")
    await kueue.create(workload("job", **GATE))
    (gate,) = (await kueue.workload("job"))["status"]["preemptionGates"]
    opened = {"status": {"preemptionGates": [{**gate, "position": "Open"}]}}
    await kueue.patch(kinds.WORKLOAD, "job", opened, "status")

    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": False}})

    (gate,) = (await kueue.workload("job"))["status"]["preemptionGates"]
    assert gate["position"] == "Closed"


async def test_gates_mean_nothing_without_the_features_that_open_them(fleet: Fleet) -> None:
    kueue = await start(fleet)

    await kueue.create(workload("running"), workload("urgent", priority=9, **GATE))

    assert (await kueue.conditions("running"))["Evicted"][:2] == ("True", "Preempted")
    assert "preemptionGates" not in (await kueue.workload("urgent"))["status"]
