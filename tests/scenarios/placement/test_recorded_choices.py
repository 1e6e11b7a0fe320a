"""What KubeFleet was seen to do with policies and bindings, step by step: the same inputs give the
same states in the same order. The members are played, with what they reported then.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support import placing
from tests.support.chosen import Stage
from tests.support.placed import config_map, placement, selector

from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import parts, rollout, scheduler
from fleetqueue.fleet.hub import placement as placements
from fleetqueue.fleet.kinds import NAMESPACED, Scope
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.testing import Fleet, namespace

ONE, TWO = "kind-cluster-1", "kind-cluster-2"
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
WHY = "as specified by the scheduling policy"
DETECTED = "Detected the new changes on the resources and started the rollout process"
BLOCKED = "The resources cannot be updated to the latest because of the rollout strategy"


class Watched:
    """Every state of policy snapshots and bindings, by name, told by what matters of it."""

    def __init__(self) -> None:
        self.policies: dict[str, list[Any]] = {}
        self.bindings: dict[str, list[Any]] = {}

    async def follow(self, stage: Stage, scope: Scope) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._policies(stage, scope))
            group.create_task(self._bindings(stage, scope))

    async def _policies(self, stage: Stage, scope: Scope) -> None:
        async for event in stage.hub.client.watch(scope.policy_snapshot):
            if event.type != "BOOKMARK":
                _keep(self.policies, event.object["metadata"]["name"], _policy(event.object))

    async def _bindings(self, stage: Stage, scope: Scope) -> None:
        async for event in stage.hub.client.watch(scope.binding):
            if event.type != "BOOKMARK":
                name = event.object["metadata"]["name"].rpartition("-")[0]
                _keep(self.bindings, name, _binding(event.object))


def _keep(told: dict[str, list[Any]], name: str, state: Any) -> None:
    known = told.setdefault(name, [])
    if not known or known[-1] != state:
        known.append(state)


def _policy(snapshot: Object) -> Any:
    """The Scheduled condition, and the decisions."""
    status = snapshot.get("status")
    if not status:
        return None
    [condition] = status["conditions"]
    scores = ("affinityScore", "priorityScore")
    told = [
        (
            each["clusterName"],
            each["selected"],
            tuple(each["clusterScore"][name] for name in scores) if "clusterScore" in each else (),
            each["reason"],
        )
        for each in status.get("targetClusters", ())
    ]
    return condition["status"], condition["reason"], condition["message"], told


def _binding(binding: Object) -> Any:
    """Generation, state and snapshot, and what it says of the roll-out."""
    found = (binding.get("status") or {}).get("conditions") or ()
    started = [
        (each["status"], each["message"], each["observedGeneration"])
        for each in found
        if each["type"] == "RolloutStarted"
    ]
    spec = binding["spec"]
    has_strategy = "applyStrategy" in spec
    return (
        binding["metadata"]["generation"],
        spec["state"],
        spec["resourceSnapshotName"],
        has_strategy,
        *started,
    )


@pytest.fixture
async def stage(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(parts, "PARTS", (placements.install, scheduler.install, rollout.install))
    world = await placing.start(fleet, members=())
    made = Stage(world)
    await world.hub.create(namespace("web"), config_map("conf", "web", a="1"))
    for name in (ONE, TWO):
        await made.join(name)
    await world.settle()
    return made


@pytest.fixture
async def watched(stage: Stage) -> AsyncIterator[Watched]:
    made = Watched()
    tasks = [asyncio.create_task(made.follow(stage, scope)) for scope in kinds.SCOPES]
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def fulfilled(count: int) -> tuple[str, str, str]:
    text = f"found all cluster needed {WHY}, found {count} cluster(s)"
    return "True", "SchedulingPolicyFulfilled", text


def unfulfilled(count: int) -> tuple[str, str, str]:
    text = f"could not find all clusters needed {WHY}, found {count} cluster(s) instead"
    return "False", "SchedulingPolicyUnfulfilled", text


def picked(name: str, affinity: int = 0) -> Any:
    scores = f"(affinity score: {affinity}, topology spread score: 0)"
    text = f'Successfully scheduled resources for placement in "{name}" {scores}: picked by'
    return name, True, (affinity, 0), f"{text} scheduling policy"


def left_over(name: str) -> Any:
    text = f'Cluster "{name}" does not score high enough'
    return name, False, (0, 0), f"{text} (affinity score: 0, topology spread score: 0)"


def out(name: str, reason: str) -> Any:
    return name, False, (), f"ClusterUnschedulable, {reason}"


async def resources(stage: Stage, name: str, cpu: str, memory: str) -> None:
    usage = {"available": {"cpu": cpu, "memory": memory}, "observationTime": stage.now}
    await stage.report(name, resourceUsage=usage)


def sorters(order: str) -> Object:
    terms = [
        {
            "weight": weight,
            "preference": {
                "propertySorter": {
                    "name": f"resources.kubernetes-fleet.io/available-{resource}",
                    "sortOrder": order,
                }
            },
        }
        for weight, resource in ((40, "cpu"), (30, "memory"))
    ]
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    affinity = {"clusterAffinity": {key: terms}}
    return {"placementType": "PickN", "numberOfClusters": 1, "affinity": affinity}


async def create(stage: Stage, name: str, policy: Object, space: str = "", **spec: Any) -> None:
    one = selector("ConfigMap", "conf") if space else selector("Namespace", "web")
    await stage.hub.create(placement(name, one, namespace=space, policy=policy, **spec))


@pytest.mark.rule("SCH-10")
async def test_property_sorters_choose_the_most_and_the_least(
    stage: Stage, watched: Watched
) -> None:
    await resources(stage, ONE, "512", "2Ti")
    await resources(stage, TWO, "256", "1536Gi")
    await create(stage, "pick-most", sorters("Descending"), "web")
    await create(stage, "pick-least", sorters("Ascending"), "web")
    await stage.world.settle()
    most = (*fulfilled(1), [picked(ONE, 70), left_over(TWO)])
    least = (*fulfilled(1), [picked(TWO, 70), left_over(ONE)])
    assert watched.policies == {"pick-most-0": [None, most], "pick-least-0": [None, least]}
    assert watched.bindings["pick-most-kind-cluster-1"] == [
        (1, "Scheduled", "", False),
        (2, "Scheduled", "", True),
        (3, "Bound", "pick-most-0-snapshot", True),
        (3, "Bound", "pick-most-0-snapshot", True, ("True", DETECTED, 3)),
    ]


@pytest.mark.rule("SCH-14")
async def test_a_tie_is_broken_by_name(stage: Stage, watched: Watched) -> None:
    for name in (ONE, TWO):
        await resources(stage, name, "512", "2Ti")
    await create(stage, "pick-one", sorters("Descending"), "web")
    await stage.world.settle()
    told = (*fulfilled(1), [picked(TWO), left_over(ONE)])
    assert watched.policies == {"pick-one-0": [None, told]}
    assert list(await stage.states("pick-one", NAMESPACED, "web")) == [TWO]


@pytest.mark.rule("ROLL-2")
@pytest.mark.rule("ROLL-7")
async def test_a_change_is_rolled_out_to_one_after_the_other(
    stage: Stage, watched: Watched
) -> None:
    rolling = {"maxUnavailable": 1, "maxSurge": 0, "unavailablePeriodSeconds": 3}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    await create(stage, "roll", {"placementType": "PickAll"}, strategy=strategy)
    await stage.world.settle()
    for name in (ONE, TWO):
        await stage.deliver("roll", name)
    await stage.world.settle()
    await stage.hub.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "web")
    await stage.world.settle()
    await stage.deliver("roll", ONE)
    await stage.world.settle()
    told = (*fulfilled(2), [picked(ONE), picked(TWO)])
    assert watched.policies == {"roll-0": [None, told]}
    start = [
        (1, "Scheduled", "", False),
        (2, "Scheduled", "", True),
        (3, "Bound", "roll-0-snapshot", True),
        (3, "Bound", "roll-0-snapshot", True, ("True", DETECTED, 3)),
    ]
    waits = (3, "Bound", "roll-0-snapshot", True, ("False", BLOCKED, 3))
    end = (4, "Bound", "roll-1-snapshot", True, ("True", DETECTED, 4))
    assert watched.bindings == {
        f"roll-{ONE}": [*start, (*end[:4], ("True", DETECTED, 3)), end],
        f"roll-{TWO}": [*start, waits, (*end[:4], ("False", BLOCKED, 3)), end],
    }


@pytest.mark.rule("SCH-41")
@pytest.mark.rule("SCH-31")
async def test_placements_that_cannot_be_scheduled(stage: Stage, watched: Watched) -> None:
    await create(stage, "un-pickn5", {"placementType": "PickN", "numberOfClusters": 5})
    names = [ONE, "no-such-cluster"]
    await create(stage, "un-fixed", {"placementType": "PickFixed", "clusterNames": names})
    term = {"labelSelector": {"matchLabels": {"region": "nowhere"}}}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"clusterAffinity": {key: {"clusterSelectorTerms": [term]}}}
    await create(stage, "un-affinity", {"placementType": "PickAll", "affinity": affinity})
    await stage.world.settle()
    for name in (ONE, TWO):
        await stage.change(name, spec={"taints": [TAINT]})
    await create(stage, "un-taint", {"placementType": "PickN", "numberOfClusters": 1})
    await stage.world.settle()
    await stage.change(ONE, spec={"taints": None})
    await stage.world.settle()
    five = (*unfulfilled(2), [picked(TWO), picked(ONE)])
    fixed = f'Successfully scheduled resources for placement in "{ONE}": picked by scheduling'
    by_name = [
        (ONE, True, (), f"{fixed} policy"),
        ("no-such-cluster", False, (), 'Specified cluster "no-such-cluster" is not found'),
    ]
    unmatched = "cluster does not match with any of the required cluster affinity terms"
    tainted = "taint &{Key:k Value:v Effect:NoSchedule} cannot be tolerated"
    assert watched.policies == {
        "un-pickn5-0": [None, five],
        "un-fixed-0": [None, (*unfulfilled(1), by_name)],
        "un-affinity-0": [None, (*fulfilled(0), [out(ONE, unmatched), out(TWO, unmatched)])],
        "un-taint-0": [
            None,
            (*unfulfilled(0), [out(ONE, tainted), out(TWO, tainted)]),
            (*fulfilled(1), [picked(ONE), out(TWO, tainted)]),
        ],
    }
