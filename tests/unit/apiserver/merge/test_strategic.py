from typing import Any

import pytest

from fleetqueue.apiserver.merge.strategic import strategic_merge
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.schema.node import Node

Object = dict[str, Any]


def named(*names: str) -> list[Object]:
    return [{"name": name} for name in names]


def pod_with(**spec: Any) -> Object:
    return {"spec": spec}


@pytest.mark.parametrize(
    ("current", "patch", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"metadata": {"name": "x"}}, {"metadata": {"name": None}}, {"metadata": {}}),
        ({}, {"metadata": {"labels": {"a": None, "b": "c"}}}, {"metadata": {"labels": {"b": "c"}}}),
        (
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"$patch": "replace", "c": "d"}}},
            {"metadata": {"labels": {"c": "d"}}},
        ),
        (
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"$patch": "delete"}}},
            {"metadata": {"labels": {}}},
        ),
        ({}, {"metadata": {"$patch": "delete"}}, {}),
        (
            pod_with(containers=[{"name": "a", "image": "1"}, {"name": "b"}]),
            pod_with(containers=[{"name": "a", "tty": True}]),
            pod_with(containers=[{"name": "a", "image": "1", "tty": True}, {"name": "b"}]),
        ),
        (
            pod_with(containers=named("a", "b")),
            pod_with(containers=named("c")),
            pod_with(containers=named("c", "a", "b")),
        ),
        (
            pod_with(containers=named("a", "b")),
            pod_with(containers=[{"name": "a", "$patch": "delete"}]),
            pod_with(containers=named("b")),
        ),
        (
            pod_with(containers=named("a", "b")),
            pod_with(containers=[{"name": "c"}, {"$patch": "replace"}]),
            pod_with(containers=named("c")),
        ),
        (
            pod_with(containers=named("a", "b", "c")),
            {"spec": {"$setElementOrder/containers": named("c", "a")}},
            pod_with(containers=named("b", "c", "a")),
        ),
        (
            pod_with(containers=named("a", "b")),
            {
                "spec": {
                    "$setElementOrder/containers": named("b", "c"),
                    "containers": [{"name": "c"}, {"name": "a", "$patch": "delete"}],
                }
            },
            pod_with(containers=named("b", "c")),
        ),
        (
            pod_with(tolerations=[{"key": "a"}]),
            pod_with(tolerations=[{"key": "b"}]),
            pod_with(tolerations=[{"key": "b"}]),
        ),
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c", "b"]}},
            {"metadata": {"finalizers": ["c", "a", "b"]}},
        ),
        (
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
        ),
        (
            {"metadata": {"finalizers": ["a", "b", "c"]}},
            {"metadata": {"$setElementOrder/finalizers": ["c", "b"]}},
            {"metadata": {"finalizers": ["a", "c", "b"]}},
        ),
        (
            pod_with(volumes=[{"name": "v", "emptyDir": {}}]),
            pod_with(
                volumes=[
                    {"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}
                ]
            ),
            pod_with(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
        ),
        (
            pod_with(containers=[{"name": "a", "ports": [{"containerPort": 80}]}]),
            pod_with(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "h"}]}]),
            pod_with(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "h"}]}]),
        ),
    ],
)
def test_a_patch_merges_as_the_schema_says(
    pod: Node, current: Object, patch: Object, expected: Object
) -> None:
    assert strategic_merge(current, patch, pod) == expected


@pytest.mark.parametrize(
    ("current", "patch", "code", "message"),
    [
        (
            pod_with(containers=named("a")),
            pod_with(containers=[{"image": "1"}]),
            500,
            "map: map[image:1] does not contain declared merge key: name",
        ),
        (
            pod_with(containers=named("a")),
            pod_with(containers=[{"$patch": "delete"}]),
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"metadata": {"labels": {}}},
            {"metadata": {"$patch": "bogus", "name": "x"}},
            500,
            "unknown patch type: bogus in map: map[$patch:bogus name:x]",
        ),
        (
            pod_with(containers=named("a")),
            pod_with(containers=[{"name": "a", "$patch": "bogus"}]),
            500,
            "unknown patch type: bogus in map: map[$patch:bogus name:a]",
        ),
        (
            pod_with(containers=named("a")),
            pod_with(containers=[{"name": "a", "$patch": "merge"}]),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            pod_with(volumes=[{"name": "v"}]),
            pod_with(volumes=[{"name": "v", "emptyDir": {}, "$retainKeys": ["name"]}]),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            pod_with(containers=named("a")),
            {"spec": {"$setElementOrder/containers": named("a"), "containers": named("b")}},
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n"
            "[map[name:a]]\n",
        ),
        (
            pod_with(containers=named("a")),
            {"spec": {"$setElementOrder": named("a")}},
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            {"metadata": {"finalizers": ["a"]}},
            {"metadata": {"$deleteFromPrimitiveList": ["a"]}},
            400,
            "invalid patch format of primitive list",
        ),
        (
            {"metadata": {"finalizers": ["a"]}},
            {"metadata": {"finalizers": [1]}},
            500,
            "list element types are not identical: [[a] [1]]",
        ),
        (
            pod_with(containers=named("a")),
            {"spec": {"$setElementOrder/nothing": ["a"]}},
            500,
            'unable to find api field in struct PodSpec for the json field "nothing"',
        ),
    ],
)
def test_a_patch_that_cannot_be_merged_is_refused_in_upstreams_words(
    pod: Node, current: Object, patch: Object, code: int, message: str
) -> None:
    with pytest.raises(ApiError) as raised:
        strategic_merge(current, patch, pod)
    assert (raised.value.code, raised.value.message) == (code, message)


def test_what_a_patch_does_not_touch_is_shared(pod: Node) -> None:
    current = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": named("a")}}
    patched = strategic_merge(current, {"spec": {"nodeName": "n"}}, pod)
    assert patched["metadata"] is current["metadata"]
    assert "nodeName" not in current["spec"]
