"""Placements of one ConfigMap on the one member that has most, or least, to offer, in recordings of
KubeFleet.
"""

from tests.support import golden_placed as placed
from tests.support import golden_steps as steps
from tests.support.golden_placed import FLEET, Placed
from tests.support.golden_placement import MEMBERS, Life, Replay
from tests.support.placed import placement, selector

from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import named, namespace

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
SIZE = {"cpu": "256", "memory": "1Ti"}
WEIGHTS = {"cpu": 40, "memory": 30}


def policy(order: str) -> Object:
    """By available cpu and memory; where nothing differs, the name decides."""
    terms = [
        {
            "weight": weight,
            "preference": {
                "propertySorter": {
                    "name": f"resources.{FLEET}/available-{name}",
                    "sortOrder": order,
                }
            },
        }
        for name, weight in WEIGHTS.items()
    ]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
    return {"placementType": "PickN", "affinity": {"clusterAffinity": preferred}}


def asks(name: str, manifest: Object, order: str) -> Object:
    metadata = manifest["metadata"]
    return placement(
        name,
        selector("ConfigMap", metadata["name"]),
        namespace=metadata["namespace"],
        policy={**policy(order), "numberOfClusters": 1},
    )


async def begin(replay: Replay, space: str, *objs: Object) -> None:
    """Two nodes on each member, and the namespace everywhere."""
    for name in MEMBERS:
        side = replay.member(name)
        await side.create(namespace(space))
        for node in ("one", "two"):
            await side.create(named("Node", "v1", node))
            status = {"status": {"capacity": SIZE, "allocatable": SIZE}}
            await side.client.patch(NODES, node, status, subresource="status")
    await replay.hub.create(namespace(space), *objs)


def told_of(name: str, manifest: Object, winner: str, score: int, *, is_compatible: bool) -> Placed:
    return Placed(
        name,
        [manifest],
        space=manifest["metadata"]["namespace"],
        generation=2,
        clusters=[winner],
        scores={winner: score},
        is_compatible=is_compatible,
    )


def on_hub(told: Placed, order: str, policy_hash: str, snapshot_hash: str) -> dict[str, Life]:
    [winner], [manifest] = told.clusters, told.manifests
    [loser] = set(MEMBERS) - {winner}
    picked = {**selector("ConfigMap", manifest["metadata"]["name"]), **placed.WITH_RESOURCES}
    lost = {
        "clusterName": loser,
        "clusterScore": {"affinityScore": 0, "priorityScore": 0},
        "reason": f'Cluster "{loser}" does not score high enough '
        "(affinity score: 0, topology spread score: 0)",
        "selected": False,
    }
    return {
        **told.placement(
            {
                "resourceSelectors": [picked],
                "policy": {**policy(order), "numberOfClusters": 1},
                "strategy": None,
            },
            [told.top(steps.SCHEDULING), *told.top_round()],
            {winner: told.cluster_round(winner)},
            kept=placed.UNASKED,
        ),
        **told.policy(
            policy_hash,
            [told.decided(others=[lost])],
            notes={f"{FLEET}/number-of-clusters": "1"},
            **policy(order),
            numberOfClusters=1,
        ),
        **told.snapshot(snapshot_hash),
        **told.binding(winner, told.binding_round(), *told.bound()),
        **told.in_work(winner, [placed.prepared(manifest), placed.applied(manifest)]),
    }
