"""What nodes, pods, namespaces and queues add up to."""

from typing import Any

import pytest

from fleetqueue.fleet.decide import properties

Json = dict[str, Any]


def node(name: str = "n", *, labels: Json | None = None, cost: str = "", **amounts: str) -> Json:
    held = {key.replace("__", "/").replace("_", "."): value for key, value in amounts.items()}
    metadata: Json = {"name": name, "labels": labels or {}}
    if cost:
        metadata["annotations"] = {properties.HOURLY_COST: cost}
    return {"metadata": metadata, "status": {"capacity": held, "allocatable": held}}


def pod(*requests: Json, node: str = "n", phase: str = "Running") -> Json:
    containers = [{"resources": {"requests": each}} for each in requests]
    return {"spec": {"nodeName": node, "containers": containers}, "status": {"phase": phase}}


GPU = "nvidia.com/gpu"
NODES = [
    node(cpu="4", memory="8Gi", pods="110", nvidia_com__gpu="2"),
    node(cpu="2", memory="8Gi", hugepages="1Gi", kubernetes_io__batteries="1"),
]


@pytest.mark.rule("PROP-1")
def test_cpu_memory_and_extended_resources_are_summed_over_nodes() -> None:
    found = properties.usage_of(NODES, [])

    assert found["capacity"] == {"cpu": "6", "memory": "16Gi", GPU: "2"}
    assert found["allocatable"] == found["available"] == found["capacity"]


# fmt: off
LEFT = {
    "requests of all containers count": (
        [pod({"cpu": "500m"}, {"cpu": "1", "memory": "1Gi", GPU: "1"})],
        {"cpu": "4500m", "memory": "15Gi", GPU: "1"}),
    "a pod without a node takes nothing": (
        [pod({"cpu": "1"}, node="")], {"cpu": "6", "memory": "16Gi", GPU: "2"}),
    "pods that ended take nothing": (
        [pod({"cpu": "1"}, phase="Succeeded"), pod({"cpu": "1"}, phase="Failed")],
        {"cpu": "6", "memory": "16Gi", GPU: "2"}),
    "never below zero": (
        [pod({"cpu": "9", "memory": "99Gi"})], {"cpu": "0", "memory": "0", GPU: "2"}),
    "what no node has is not told": (
        [pod({"example.com/tape": "1"})], {"cpu": "6", "memory": "16Gi", GPU: "2"}),
}
# fmt: on


@pytest.mark.rule("PROP-1")
@pytest.mark.parametrize(("pods", "left"), LEFT.values(), ids=LEFT.keys())
def test_what_is_left(pods: list[Json], left: Json) -> None:
    assert properties.usage_of(NODES, pods)["available"] == left


@pytest.mark.rule("PROP-1")
def test_a_cluster_without_nodes_has_nothing_and_says_so() -> None:
    assert properties.usage_of([], [])["available"] == {"cpu": "0", "memory": "0"}


SIZE = {"beta.kubernetes.io/instance-type": "big"}
CPU, MEMORY = "kubernetes.azure.com/per-cpu-core-cost", "kubernetes.azure.com/per-gb-memory-cost"


@pytest.mark.rule("PROP-3")
def test_costs_are_spread_over_cores_and_memory() -> None:
    nodes = [
        node(cpu="4", memory="16Gi", labels=SIZE),
        node(cpu="2", memory="8Gi", cost="1"),
    ]

    found = properties.costs(nodes, {"big": 2.0})

    assert found.values == {CPU: "0.500", MEMORY: "0.125"}
    assert (found.remark.is_true, found.remark.reason) == (True, "CostsCalculated")
    assert found.remark.message == "All cost properties have been collected successfully"


@pytest.mark.rule("PROP-3")
def test_costs_of_some_nodes_only_are_told_as_degraded() -> None:
    nodes = [node(cpu="4", memory="16Gi", labels=SIZE), node(cpu="4", memory="16Gi")]

    found = properties.costs(nodes, {"big": 2.0})

    assert found.values == {CPU: "0.250", MEMORY: "0.062"}
    assert (found.remark.is_true, found.remark.reason) == (True, "CostsCalculationDegraded")
    lead = "Cost properties are collected in a degraded mode with the following warning(s): ["
    assert found.remark.message.startswith(lead)


@pytest.mark.rule("PROP-3")
@pytest.mark.parametrize("nodes", [[], [node(cpu="1", memory="1Gi")]], ids=["none", "unpriced"])
def test_without_prices_there_are_no_costs(nodes: list[Json]) -> None:
    found = properties.costs(nodes, {})

    assert found.values == {}
    assert (found.remark.is_true, found.remark.reason) == (False, "CostsCalculationFailed")
    lead = "An error has occurred when collecting cost properties: "
    assert found.remark.message.startswith(lead)


@pytest.mark.rule("PROP-3")
def test_nodes_are_counted_by_machine_size() -> None:
    newer = node(labels={"node.kubernetes.io/instance-type": "big"})
    assert properties.machine_counts([node(labels=SIZE), node(labels=SIZE), node(), newer]) == {
        "kubernetes.azure.com/vm-sizes/big/count": "2",
        "kubernetes.azure.com/vm-sizes/undefined/count": "2",
    }


def space(name: str, *, owner: str = "", at: str = "", deleted: bool = False) -> Json:
    metadata: Json = {"name": name, "creationTimestamp": at}
    if owner:
        metadata["ownerReferences"] = [{"kind": "AppliedWork", "name": owner}]
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata}


@pytest.mark.rule("PROP-5")
def test_namespaces_tell_who_placed_them_and_those_that_go_are_left_out() -> None:
    found, remark = properties.namespaces(
        [space("own"), space("placed", owner="web-work"), space("going", deleted=True)]
    )

    assert found == {"own": "", "placed": "web-work"}
    assert (remark.is_true, remark.reason, remark.message) == (
        True, "Succeeded", "All namespaces have been collected successfully",
    )  # fmt: skip


@pytest.mark.rule("PROP-5")
def test_no_more_than_two_hundred_namespaces_are_told() -> None:
    many = [space(f"n{i:03}", at=f"2026-01-01T00:{i // 60:02}:{i % 60:02}Z") for i in range(201)]

    found, remark = properties.namespaces(reversed(many))

    assert len(found) == 200
    assert "n200" not in found
    assert (remark.is_true, remark.reason) == (False, "Degraded")
    text = "in a degraded mode since the number of namespaces reaches the track limit"
    assert remark.message == f"Namespaces are collected {text}"


def queue(pending: int, quota: Json, reserved: Json) -> Json:
    resources = [{"name": name, "nominalQuota": value} for name, value in quota.items()]
    held = [{"name": name, "total": value} for name, value in reserved.items()]
    return {
        "spec": {"resourceGroups": [{"flavors": [{"name": "f", "resources": resources}]}]},
        "status": {
            "pendingWorkloads": pending,
            "admittedWorkloads": 1,
            "flavorsReservation": [{"name": "f", "resources": held}],
        },
    }


@pytest.mark.rule("KJ-8")
def test_queues_tell_what_waits_and_what_quota_is_left() -> None:
    found = properties.queue_values(
        [
            queue(2, {"cpu": "8", GPU: "4"}, {"cpu": "3500m", GPU: "1"}),
            queue(1, {"cpu": "2", "memory": "1Gi"}, {"memory": "3Gi"}),
        ]
    )

    assert found == {
        "fleetqueue.io/pending-workloads": "3",
        "fleetqueue.io/admitted-workloads": "2",
        "fleetqueue.io/unused-quota-cpu": "6500m",
        "fleetqueue.io/unused-quota-memory": "0",
        "fleetqueue.io/unused-quota-nvidia.com.gpu": "3",
    }
