"""Evictions and disruption budgets, on a hub whose members the test plays."""

from typing import Any

import pytest
from tests.support import placing
from tests.support.chosen import Stage
from tests.support.placed import placement, selector, told

from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import evictions, parts, rollout, scheduler
from fleetqueue.fleet.hub import placement as placements
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, namespace

NAMES = ("cluster-1", "cluster-2", "cluster-3")
ALL = {"placementType": "PickAll"}
THREE = {"placementType": "PickN", "numberOfClusters": 3}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
VALID = ("True", "ClusterResourcePlacementEvictionValid")
EXECUTED = ("True", "ClusterResourcePlacementEvictionExecuted")
REFUSED = ("False", "ClusterResourcePlacementEvictionNotExecuted")


@pytest.fixture
async def stage(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Stage:
    mine = (scheduler.install, rollout.install, evictions.install)
    monkeypatch.setattr(parts, "PARTS", (placements.install, *mine))
    world = await placing.start(fleet, members=())
    made = Stage(world)
    await world.hub.create(namespace("web"))
    for name in NAMES:
        await made.join(name)
    await world.settle()
    return made


async def place(stage: Stage, policy: Object) -> None:
    await stage.hub.create(placement("p", selector("Namespace", "web"), policy=policy))
    await stage.world.settle()
    for name in NAMES:
        await stage.deliver("p", name)
    await stage.world.settle()


async def evict(stage: Stage, name: str, cluster: str = "cluster-1") -> dict[str, tuple[str, str]]:
    spec = {"placementName": "p", "clusterName": cluster}
    await stage.hub.create(_object(kinds.EVICTION, name, spec))
    await stage.world.settle()
    return told(await stage.hub.get(kinds.EVICTION, name))


async def budget(stage: Stage, **spec: Any) -> None:
    await stage.hub.create(_object(kinds.DISRUPTION_BUDGET, "p", spec))
    await stage.world.settle()


def _object(kind: Any, name: str, spec: Object) -> Object:
    metadata = {"name": name}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


@pytest.mark.rule("EVICT-2")
async def test_an_evicted_cluster_is_picked_again_unless_it_is_tainted(stage: Stage) -> None:
    await place(stage, ALL)
    before = await stage.bindings("p")
    assert await evict(stage, "e1") == {"Valid": VALID, "Executed": EXECUTED}
    after = await stage.bindings("p")
    assert set(after) == set(NAMES)
    uids = [each["cluster-1"]["metadata"]["uid"] for each in (before, after)]
    assert uids[0] != uids[1]
    await stage.deliver("p", "cluster-1")
    await stage.change("cluster-1", spec={"taints": [TAINT]})
    assert (await evict(stage, "e2"))["Executed"] == EXECUTED
    assert set(await stage.bindings("p")) == {"cluster-2", "cluster-3"}
    # An eviction is judged once.
    assert told(await stage.hub.get(kinds.EVICTION, "e1"))["Executed"] == EXECUTED
    text = stage.hub.metrics.text().decode()
    assert 'fleet_workload_eviction_complete{isCompleted="true",isValid="true",name="e1"}' in text


@pytest.mark.rule("EVICT-1")
@pytest.mark.rule("EVICT-3")
async def test_a_budget_holds_evictions_back(stage: Stage) -> None:
    await place(stage, ALL)
    await budget(stage, minAvailable=3)
    assert (await evict(stage, "e1"))["Executed"] == REFUSED
    assert set(await stage.bindings("p")) == set(NAMES)
    change = {"spec": {"minAvailable": 2}}
    await stage.hub.client.patch(kinds.DISRUPTION_BUDGET, "p", change)
    await stage.world.settle()
    assert told(await stage.hub.get(kinds.EVICTION, "e1"))["Executed"] == REFUSED
    await stage.change("cluster-1", spec={"taints": [TAINT]})
    assert (await evict(stage, "e2"))["Executed"] == EXECUTED
    assert (await evict(stage, "e3", "cluster-2"))["Executed"] == REFUSED


@pytest.mark.rule("EVICT-1")
async def test_two_evictions_at_once_are_judged_one_after_the_other(stage: Stage) -> None:
    await place(stage, THREE)
    await budget(stage, maxUnavailable=1)
    for number in (1, 2):
        spec = {"placementName": "p", "clusterName": f"cluster-{number}"}
        await stage.hub.create(_object(kinds.EVICTION, f"e{number}", spec))
    await stage.world.settle()
    found = [told(await stage.hub.get(kinds.EVICTION, f"e{n}"))["Executed"] for n in (1, 2)]
    assert found == [EXECUTED, REFUSED]


@pytest.mark.rule("EVICT-3")
async def test_what_budgets_and_evictions_may_say(stage: Stage) -> None:
    both = _object(kinds.DISRUPTION_BUDGET, "p", {"minAvailable": 1, "maxUnavailable": 1})
    with pytest.raises(Invalid, match="Both MaxUnavailable and MinAvailable cannot be specified"):
        await stage.hub.create(both)
    for wrong in (-1, "101%", "x"):
        odd = _object(kinds.DISRUPTION_BUDGET, "p", {"minAvailable": wrong})
        with pytest.raises(Invalid, match="If supplied value is String should match regex"):
            await stage.hub.create(odd)
    invalid = await evict(stage, "e1")
    assert invalid == {"Valid": ("False", "ClusterResourcePlacementEvictionInvalid")}
    change = {"spec": {"clusterName": "cluster-2"}}
    with pytest.raises(Invalid, match="The ClusterName field is immutable"):
        await stage.hub.client.patch(kinds.EVICTION, "e1", change)
