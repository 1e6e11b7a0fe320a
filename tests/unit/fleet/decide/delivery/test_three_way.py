"""Patches that bring a live object to its manifest; each is also applied, by the server's own
rules, and must then have nothing left to do.
"""

from typing import Any

import pytest

from fleetqueue.api import kubernetes, patches
from fleetqueue.apiserver.merge import strategic
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.fleet.decide.delivery import merge_keys, three_way

Json = dict[str, Any]
pytestmark = pytest.mark.rule("APPLY-20")


def pod(**spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def container(name: str, **fields: Any) -> Json:
    return {"name": name, **fields}


A, B, C = container("a", image="1"), container("b", image="1"), container("c", image="1")
CASES: dict[str, tuple[Json, Json, Json, Json]] = {
    "nothing is new": (pod(), pod(containers=[A]), pod(containers=[A], nodeName="n"), {}),
    "a value of an item": (
        pod(containers=[A, B]),
        pod(containers=[A, container("b", image="2")]),
        pod(containers=[A, {**B, "imagePullPolicy": "Always"}]),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                "containers": [{"name": "b", "image": "2"}],
            }
        },
    ),
    "an item that was ours goes, one that was not stays": (
        pod(containers=[A, B]),
        pod(containers=[A]),
        pod(containers=[A, B, C]),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}],
                "containers": [{"$patch": "delete", "name": "b"}],
            }
        },
    ),
    "an item is new": (
        pod(containers=[A]),
        pod(containers=[B, A]),
        pod(containers=[A]),
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [B],
            }
        },
    ),
    "only the order is another": (
        pod(containers=[A, B]),
        pod(containers=[B, A]),
        pod(containers=[A, B]),
        {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
    ),
    "a key that was ours goes": (
        pod(nodeSelector={"x": "1", "y": "1"}),
        pod(nodeSelector={"x": "1"}),
        pod(nodeSelector={"x": "1", "y": "1", "z": "1"}),
        {"spec": {"nodeSelector": {"y": None}}},
    ),
    "a list without merge keys is replaced": (
        pod(tolerations=[{"key": "a"}]),
        pod(tolerations=[{"key": "b"}]),
        pod(tolerations=[{"key": "a"}, {"key": "c"}]),
        {"spec": {"tolerations": [{"key": "b"}]}},
    ),
    "a volume changes its kind": (
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        pod(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        {
            "spec": {
                "$setElementOrder/volumes": [{"name": "v"}],
                "volumes": [
                    {
                        "name": "v",
                        "hostPath": {"path": "/x"},
                        "emptyDir": None,
                        "$retainKeys": ["hostPath", "name"],
                    }
                ],
            }
        },
    ),
    "a set of plain values": (
        {"metadata": {"finalizers": ["a/x", "b/x"]}},
        {"metadata": {"finalizers": ["b/x", "c/x"]}},
        {"metadata": {"finalizers": ["a/x", "b/x", "d/x"]}},
        {
            "metadata": {
                "$deleteFromPrimitiveList/finalizers": ["a/x"],
                "finalizers": ["c/x"],
                "$setElementOrder/finalizers": ["b/x", "c/x"],
            }
        },
    ),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_built_in_kinds_merge_by_their_keys(case: str) -> None:
    before, wanted, live, expected = CASES[case]
    place = merge_keys.place_of("", "v1", "Pod")
    assert place is not None
    patch = three_way.strategic_patch(before, wanted, live, place)
    assert patch == expected
    definitions = kubernetes.definitions()
    node = Node(definitions["io.k8s.api.core.v1.Pod"], definitions)
    patched = strategic.strategic_merge(live, patch, node)
    assert three_way.strategic_patch(wanted, wanted, patched, place) == {}


def test_items_that_cannot_be_told_apart_replace_the_list() -> None:
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    place = merge_keys.place_of("", "v1", "Service")
    assert place is not None
    live = {"spec": {"ports": [{"port": 53, "protocol": "TCP", "nodePort": 1}]}}
    patch = three_way.strategic_patch({}, {"spec": {"ports": ports}}, live, place)
    assert patch == {"spec": {"ports": [*ports, {"$patch": "replace"}]}}
    there = {"spec": {"ports": [{**each, "nodePort": 1} for each in ports]}}
    assert three_way.strategic_patch({}, {"spec": {"ports": ports}}, there, place) == {}


@pytest.mark.rule("APPLY-23")
@pytest.mark.parametrize(
    ("before", "wanted", "live", "expected"),
    [
        ({}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, {}),
        ({}, {"a": [1, 2]}, {"a": [1]}, {"a": [1, 2]}),
        ({"a": 1, "b": 1}, {"a": 2}, {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": None}),
        ({"a": 1}, {}, {}, {}),
        ({}, {"a": None}, {"a": 1}, {"a": None}),
        ({}, {"a": None}, {}, {}),
        ({}, {"a": True}, {"a": 1}, {"a": True}),
    ],
)
def test_other_kinds_merge_by_key_and_nothing_that_nobody_mentioned_goes(
    before: Json, wanted: Json, live: Json, expected: Json
) -> None:
    patch = three_way.merge_patch(before, wanted, live)
    assert patch == expected
    patched = patches.apply_merge_patch(live, patch)
    assert three_way.merge_patch(wanted, wanted, patched) == {}


def test_kinds_that_are_not_built_in_have_no_merge_keys() -> None:
    assert merge_keys.place_of("kueue.x-k8s.io", "v1beta1", "ClusterQueue") is None
