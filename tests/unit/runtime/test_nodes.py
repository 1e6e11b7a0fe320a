"""Nodes as they are declared, and what becomes of that."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.gpus import Gpu
from fleetqueue.runtime.machine import Machine, read_machine
from fleetqueue.runtime.modes import is_simulated, is_simulated_node
from fleetqueue.runtime.node_files import read_nodes
from fleetqueue.runtime.node_health import silent_conditions, wanted_taints
from fleetqueue.runtime.nodes import NodeSpec, Site, capacity_of, node_object, node_status

pytestmark = pytest.mark.rule("jobs C.10")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MACHINE = Machine("box", 8, 2**34, 2**40, "arm64", gpus=(Gpu(0), Gpu(1)))
SITE = Site(MACHINE, "10.0.0.7")


def test_this_machine_offers_what_it_has(tmp_path: Path) -> None:
    machine = read_machine(tmp_path)
    assert machine.cpus >= 1
    assert machine.memory_bytes > 2**20
    assert machine.disk_bytes > 2**20
    assert machine.capacity().keys() == {"cpu", "memory", "ephemeral-storage", "pods"}


def test_capacity_follows_from_the_mode_and_the_declaration() -> None:
    assert capacity_of(NodeSpec("a"), SITE) == {
        "cpu": "8",
        "memory": "16777216Ki",
        "ephemeral-storage": "1073741824Ki",
        "pods": "110",
        "nvidia.com/gpu": "2",
    }
    assert capacity_of(NodeSpec("a"), Site(MACHINE, gpu_count=16))["nvidia.com/gpu"] == "16"
    assert "nvidia.com/gpu" not in capacity_of(NodeSpec("a"), Site(MACHINE, gpu_count=0))
    assert capacity_of(NodeSpec("a", mode="simulated", capacity={"cpu": "4"}), SITE) == {
        "cpu": "4",
        "memory": "1Ti",
        "pods": "1M",
    }


@pytest.mark.rule("jobs C.1")
def test_a_node_says_what_it_is() -> None:
    made = node_object(NodeSpec("a", labels={"zone": "z"}, mode="simulated"), SITE)
    assert made["metadata"]["labels"] == {
        "kubernetes.io/hostname": "a",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "fleetqueue.io/runtime": "simulated",
        "zone": "z",
    }
    assert is_simulated_node(made)
    assert not is_simulated_node(node_object(NodeSpec("b"), SITE))


MODES: dict[str, tuple[Object, Object | None, bool]] = {
    "a plain pod on a plain node": ({}, {}, False),
    "a simulated node": ({}, {"labels": {"fleetqueue.io/runtime": "simulated"}}, True),
    "a node of kwok": ({}, {"annotations": {"kwok.x-k8s.io/node": "fake"}}, True),
    "a pod that asks for it": ({"fleetqueue.io/simulate": "true"}, {}, True),
    "a pod that does not": ({"fleetqueue.io/simulate": "false"}, {}, False),
    "a node that is not known": ({}, None, False),
}


@pytest.mark.rule("jobs C.1")
@pytest.mark.parametrize(("notes", "node", "expected"), MODES.values(), ids=MODES)
def test_pods_are_simulated_by_their_node_or_their_own_wish(
    notes: Object, node: Object | None, expected: bool
) -> None:
    pod = {"metadata": {"annotations": notes}}
    assert is_simulated(pod, None if node is None else {"metadata": node}) == expected


def test_the_status_of_a_new_node() -> None:
    node = node_object(NodeSpec("a"), SITE)
    status = node_status(node, SITE, NOW, {"cpu": "8", "pods": "110"})
    assert status["capacity"] == status["allocatable"] == {"cpu": "8", "pods": "110"}
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert status["conditions"][3]["message"] == "kubelet is posting ready status"
    assert status["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.7"},
        {"type": "Hostname", "address": "a"},
    ]
    assert status["nodeInfo"]["kubeletVersion"] == "v1.34.4"
    assert node_status({**node, "status": status}, SITE, NOW + timedelta(days=1), {}) == status


def test_what_users_made_of_a_node_stays() -> None:
    edited = {"capacity": {"cpu": "3"}, "allocatable": {"cpu": "2"}}
    node = {**node_object(NodeSpec("a"), SITE), "status": edited}
    status = node_status(node, SITE, NOW, {"cpu": "8"})
    assert (status["capacity"], status["allocatable"]) == ({"cpu": "3"}, {"cpu": "2"})


GOOD = """\
nodes:
- name: cpu
  capacity: {cpu: 16, memory: 64Gi}
- name: gpu
  count: 2
  mode: simulated
  labels: {zone: "1"}
  taints: ["nvidia.com/gpu=present:NoSchedule", {key: k, effect: NoExecute}]
  capacity: {nvidia.com/gpu: 8}
- name: here
  mode: process
---
apiVersion: v1
kind: Node
metadata:
  name: fake
  annotations: {kwok.x-k8s.io/node: fake}
status:
  allocatable: {cpu: 4}
"""


def test_nodes_are_read_from_a_file() -> None:
    cpu, first, second, here, fake = read_nodes(GOOD)
    assert cpu == NodeSpec("cpu", "simulated", {"cpu": "16", "memory": "64Gi"})
    assert (first.name, second.name) == ("gpu-0", "gpu-1")
    assert first.labels == {"zone": "1"}
    assert first.taints == (
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "k", "effect": "NoExecute"},
    )
    assert here.mode == "process"
    assert (fake.mode, fake.capacity) == ("simulated", {"cpu": "4"})


BAD: dict[str, tuple[str, str]] = {
    "no YAML": ("nodes: [", "cannot be read: line 2"),
    "nothing": ("", "declares no node"),
    "no list": ("node: a", "begin with `nodes:` and a list, or with `kind: Node`"),
    "no name": ("nodes: [{count: 2}]", "has a node with the name None\n  at   nodes[0].name"),
    "a bad name": ("nodes: [{name: A_b}]", "use lower case letters"),
    "a bad amount": (
        "nodes: [{name: a, capacity: {cpu: lots}}]",
        "has the amount 'lots'\n  at   nodes[0].capacity.cpu\n  fix  write a quantity such as `8`",
    ),
    "a bad mode": ("nodes: [{name: a, mode: real}]", "use `process` or `simulated`"),
    "a bad count": ("nodes: [{name: a, count: 0}]", "use a number from 1 to 10000"),
    "a bad label": ("nodes: [{name: a, labels: {zone: 1}}]", "put it in quotes"),
    "a bad taint": ("nodes: [{name: a, taints: ['k=v']}]", "write `key=value:NoSchedule`"),
    "a bad effect": ("nodes: [{name: a, taints: ['k=v:No']}]", "use one of: NoSchedule,"),
    "a wrong field": ("nodes: [{name: a, cpus: 3}]", 'has an unknown field "cpus"'),
    "one name twice": (
        "nodes: [{name: a, count: 2}, {name: a-1}]",
        'declares the node "a-1" twice',
    ),
}


@pytest.mark.parametrize(("text", "told"), BAD.values(), ids=BAD)
def test_a_wrong_declaration_is_told_with_its_place_and_a_way_out(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_nodes(text, "nodes.yaml")
    rendered = caught.value.render()
    assert rendered.startswith("error: nodes.yaml ")
    assert told in rendered


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_nodes("nodes: [{name: a, count: 0}, {name: b, mode: x}]")
    assert len(caught.value.problems) == 2


def sick(ready: str = "True", cordoned: bool = False, **pressures: str) -> Object:
    statuses = {"Ready": ready, **pressures}
    conditions = [{"type": type, "status": each} for type, each in statuses.items() if each]
    own = {"key": "mine", "effect": "NoSchedule"}
    return {
        "metadata": {"name": "a"},
        "spec": {"unschedulable": cordoned, "taints": [own]},
        "status": {"conditions": conditions},
    }


KEY = "node.kubernetes.io"
TAINTS: dict[str, tuple[Object, list[tuple[str, str]]]] = {
    "well": (sick(), []),
    "not ready": (
        sick("False"),
        [(f"{KEY}/not-ready", "NoExecute"), (f"{KEY}/not-ready", "NoSchedule")],
    ),
    "silent": (
        sick("Unknown"),
        [(f"{KEY}/unreachable", "NoExecute"), (f"{KEY}/unreachable", "NoSchedule")],
    ),
    "cordoned": (sick(cordoned=True), [(f"{KEY}/unschedulable", "NoSchedule")]),
    "short of memory": (
        sick(MemoryPressure="True"),
        [(f"{KEY}/memory-pressure", "NoSchedule")],
    ),
}


@pytest.mark.parametrize(("node", "added"), TAINTS.values(), ids=TAINTS)
def test_taints_follow_from_the_state_of_a_node(node: Object, added: list[tuple[str, str]]) -> None:
    mine, *found = wanted_taints(node, NOW)
    assert mine == {"key": "mine", "effect": "NoSchedule"}
    assert [(each["key"], each["effect"]) for each in found] == added
    well = {**sick(), "spec": {"taints": [mine, *found]}}
    assert wanted_taints(well, NOW) == [mine]


def test_a_node_that_nobody_has_seen_keeps_its_first_taint() -> None:
    first = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    new: Object = {"metadata": {"name": "a"}, "spec": {"taints": [first]}}
    assert wanted_taints(new, NOW) == [first]


def test_a_silent_node_knows_nothing_of_itself() -> None:
    made = silent_conditions(sick(NetworkUnavailable="False"), NOW)
    told = {each["type"]: (each["status"], each.get("reason")) for each in made}
    assert told == {
        "Ready": ("Unknown", "NodeStatusUnknown"),
        "NetworkUnavailable": ("False", None),
        "MemoryPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "DiskPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "PIDPressure": ("Unknown", "NodeStatusNeverUpdated"),
    }
