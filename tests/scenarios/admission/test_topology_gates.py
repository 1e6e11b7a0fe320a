"""Ways of placing that a gate switches on: even parts for all racks, and nodes that pods like."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import topology_encoding
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import API, Kueue, cluster_queue, flavor, local_queue, pod_set, workload

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"
LIKES = "preferredDuringSchedulingIgnoredDuringExecution"
STATUS = {
    "status": {
        "allocatable": {"cpu": "6", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


async def cluster(fleet: Fleet, nodes: dict[str, str], **gates: bool) -> Kueue:
    """`nodes` and their racks; each has room for six."""
    kueue = await Kueue.start(fleet, wanted_gates=gates)
    for name, rack in nodes.items():
        disk = "fast" if name.startswith("fast") else "slow"
        labels = {HOST: name, RACK: rack, "pool": "tas", "disk": disk}
        metadata = {"name": name, "labels": labels}
        await kueue.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        await kueue.client.patch(kinds.NODE, name, STATUS, subresource="status")
        await kueue.client.patch(kinds.NODE, name, {"spec": {"taints": None}})
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    await kueue.create(
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": "tree"}, "spec": levels},
        flavor("default", nodeLabels={"pool": "tas"}, topologyName="tree"),
        cluster_queue(quota="100"),
        local_queue(),
    )
    return kueue


async def places(kueue: Kueue, name: str) -> str:
    found = await kueue.workload(name)
    [assignment] = found["status"]["admission"]["podSetAssignments"]
    plain = topology_encoding.unpack(assignment["topologyAssignment"])
    return " ".join(f"{'/'.join(each['values'])}:{each['count']}" for each in plain["domains"])


def placed(count: int, pod: dict[str, Any] | None = None, **request: str) -> Object:
    sets = [{**pod_set(count=count, cpu="1", pod=pod), "topologyRequest": request}]
    return workload("job", sets=sets)


RACKS = {"a": "r1", "b": "r2", "c": "r3"}


@pytest.mark.rule("kueue 8.7")
async def test_racks_get_even_parts_where_the_gate_is_on(fleet: Fleet) -> None:
    kueue = await cluster(fleet, RACKS, TASBalancedPlacement=True)
    await kueue.create(placed(10, preferred=RACK))
    assert await places(kueue, "job") == "a:5 b:5"


@pytest.mark.rule("kueue 8.7", "kueue 10.3")
async def test_racks_are_filled_one_by_one_where_it_is_off(fleet: Fleet) -> None:
    kueue = await cluster(fleet, RACKS)
    await kueue.create(placed(10, preferred=RACK))
    assert await places(kueue, "job") == "a:6 b:4"


@pytest.mark.rule("kueue 8.4", "kueue 10.3")
@pytest.mark.parametrize("is_on", [True, False])
async def test_liked_nodes_come_first_where_the_gate_is_on(fleet: Fleet, is_on: bool) -> None:
    kueue = await cluster(fleet, {"a": "r1", "fast": "r2"}, TASRespectNodeAffinityPreferred=is_on)
    match = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}
    liking = {"affinity": {"nodeAffinity": {LIKES: [{"weight": 5, "preference": match}]}}}
    await kueue.create(placed(3, liking, required=HOST))
    assert await places(kueue, "job") == ("fast:3" if is_on else "a:3")
