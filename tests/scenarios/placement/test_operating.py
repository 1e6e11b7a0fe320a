"""What people do to a fleet by hand: approve, drain, uncordon."""

from random import Random

import pytest
from tests.support import placing

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.operating import approving, draining
from fleetqueue.kube.resources import NAMESPACES, Object
from fleetqueue.testing import Fleet, namespace

pytestmark = pytest.mark.rule("kubefleet 10.4")
ONE, TWO = "cluster-1", "cluster-2"
CORDON = {"key": "cordon-key", "value": "cordon-value", "effect": "NoSchedule"}


async def approval(world: placing.World, asked: approving.Asked, space: str = "") -> Object:
    metadata = {"name": "run-after-canary"}
    if space:
        await world.hub.create(namespace(space))
        metadata["namespace"] = space
    spec = {"parentStageRollout": "run", "targetStage": "canary"}
    names = {"apiVersion": asked.kind.api_version, "kind": asked.kind.kind}
    return await world.hub.create({**names, "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(("word", "space"), [("careq", ""), ("approvalrequest", "apps")])
async def test_a_request_is_approved(fleet: Fleet, word: str, space: str) -> None:
    world = await placing.start(fleet, members=[])
    asked = approving.kind_of(word, space)
    made = await approval(world, asked, space)

    await approving.approve(world.hub.client, fleet.clock, asked, "run-after-canary", space)

    found = await world.hub.get(asked.kind, "run-after-canary", space)
    held = conditions.find(found["status"]["conditions"], "Approved")
    assert held is not None
    kind = asked.kind.kind
    assert (held["status"], held["reason"]) == ("True", f"{kind}Approved")
    assert held["message"] == f"{kind} has been approved"
    assert held["observedGeneration"] == made["metadata"]["generation"]


@pytest.mark.parametrize(("word", "space", "refusal"), [
    ("areq", "", "namespace is required for approvalrequest (use --namespace or -n flag)"),
    ("careq", "apps", "clusterapprovalrequest is cluster-scoped and does not accept a namespace"),
    ("pods", "", 'unsupported resource kind "pods"'),
])  # fmt: skip
def test_what_cannot_be_approved(word: str, space: str, refusal: str) -> None:
    with pytest.raises(InvalidInput) as error:
        approving.kind_of(word, space)

    assert str(error.value) == refusal


def placement(name: str, **policy: object) -> Object:
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
    return {
        "apiVersion": kinds.CLUSTER_SCOPE.placement.api_version,
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": [selector], "policy": policy},
    }


async def placed(fleet: Fleet) -> placing.World:
    world = await placing.start(fleet, members=[ONE, TWO])
    await world.hub.create(namespace("web"), placement("web", placementType="PickAll"))
    await world.passes(seconds=10)
    for side in world.members.values():
        assert await side.find(NAMESPACES, "web") is not None
    return world


@pytest.mark.rule("kubefleet 12.10")
async def test_a_drained_member_is_empty_until_it_is_uncordoned(fleet: Fleet) -> None:
    world = await placed(fleet)

    assert await draining.drain(world.hub.client, ONE, Random(0)) == []
    await world.passes(seconds=10)

    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert member["spec"]["taints"] == [CORDON]
    (eviction,) = await world.hub.all(kinds.EVICTION)
    assert eviction["metadata"]["name"].startswith(f"drain-eviction-web-{ONE}-")
    assert len(eviction["metadata"]["name"].rpartition("-")[2]) == 8
    for type in ("Valid", "Executed"):
        assert conditions.status_of(eviction["status"]["conditions"], type) == "True"
    assert await world.members[ONE].find(NAMESPACES, "web") is None
    assert await world.members[TWO].find(NAMESPACES, "web") is not None

    await draining.uncordon(world.hub.client, ONE)
    await world.passes(seconds=10)

    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert "taints" not in member["spec"]
    assert await world.members[ONE].find(NAMESPACES, "web") is not None


@pytest.mark.rule("kubefleet 12.10")
async def test_what_a_budget_protects_stays_and_is_told(fleet: Fleet) -> None:
    world = await placed(fleet)
    await world.hub.create(
        {
            "apiVersion": kinds.DISRUPTION_BUDGET.api_version,
            "kind": kinds.DISRUPTION_BUDGET.kind,
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 2},
        }
    )

    (blocked,) = await draining.drain(world.hub.client, ONE, Random(0))

    assert blocked.placement == "web"
    assert blocked.why.startswith("Eviction is blocked by specified")
    assert await world.members[ONE].find(NAMESPACES, "web") is not None


async def test_other_taints_are_left_alone(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=[])
    own = {"key": "own", "value": "", "effect": "NoSchedule"}
    await world.hub.create(placing.member_cluster(ONE, taints=[own]))
    client = world.hub.client

    await draining.cordon(client, ONE)
    await draining.cordon(client, ONE)
    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert [each["key"] for each in member["spec"]["taints"]] == ["own", "cordon-key"]

    await draining.uncordon(client, ONE)
    member = await world.hub.get(kinds.MEMBER_CLUSTER, ONE)
    assert [each["key"] for each in member["spec"]["taints"]] == ["own"]
