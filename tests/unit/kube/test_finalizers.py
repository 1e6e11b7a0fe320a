"""Finalizers: patches that add and remove one, only for the version that was read."""

from typing import Any

import pytest

from fleetqueue.api.kueue.v1beta2.local_queue import LocalQueue
from fleetqueue.api.model import read
from fleetqueue.kube import finalizers
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Conflict
from fleetqueue.kube.resources import CONFIG_MAPS

MINE = "example.com/mine"


def obj(*present: str, deleting: bool = False) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "finalizers": list(present),
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


# fmt: off
ADDED = {
    "none yet":          (obj(), [MINE]),
    "others stay":       (obj("x"), ["x", MINE]),
    "there already":     (obj(MINE), None),
    "too late":          (obj(deleting=True), None),
}
REMOVED = {
    "the only one":  (obj(MINE, deleting=True), {"finalizers": None}),
    "others stay":   (obj("x", MINE), {"finalizers": ["x"]}),
    "not there":     (obj("x"), None),
}
# fmt: on


@pytest.mark.parametrize(("held", "wanted"), ADDED.values(), ids=ADDED.keys())
def test_adding(held: Any, wanted: Any) -> None:
    patch = finalizers.added(held, MINE)

    assert (patch and patch["metadata"]["finalizers"]) == wanted


@pytest.mark.parametrize(("held", "wanted"), ADDED.values(), ids=ADDED.keys())
def test_joining_the_others(held: Any, wanted: Any) -> None:
    joining = finalizers.joining(held, MINE)

    if wanted is None:
        assert joining is None
    elif len(wanted) == 1:
        assert joining == (finalizers.added(held, MINE), PatchType.MERGE)
    else:
        steps, kind = joining or ([], None)
        assert kind is PatchType.JSON
        assert steps[1:] == [
            {"op": "test", "path": "/metadata/finalizers", "value": wanted[:-1]},
            {"op": "add", "path": "/metadata/finalizers/-", "value": MINE},
        ]


@pytest.mark.parametrize(("held", "wanted"), REMOVED.values(), ids=REMOVED.keys())
def test_removing(held: Any, wanted: Any) -> None:
    patch = finalizers.removed(held, MINE)

    expected = wanted and {"metadata": {**wanted, "resourceVersion": "7", "uid": "u"}}
    assert patch == expected


def test_typed_objects_have_them_too() -> None:
    held = {**obj("x"), "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
    queue = read(LocalQueue, {**held, "spec": {"clusterQueue": "q"}})

    assert finalizers.added(queue, MINE) == finalizers.added(obj("x"), MINE)
    assert not finalizers.is_deleting(queue)


async def test_the_object_as_it_is_afterwards_comes_back(
    memory: Any, memory_client: Client
) -> None:
    held = memory.put("/api/v1/namespaces/ns/configmaps/a", obj())

    after = await finalizers.add(memory_client, held, MINE, CONFIG_MAPS)
    assert finalizers.finalizers_of(after) == [MINE]

    with pytest.raises(Conflict):
        await finalizers.add(memory_client, held, "another", CONFIG_MAPS)
    assert await finalizers.add(memory_client, after, MINE, CONFIG_MAPS) is after


async def test_removing_from_what_is_gone_is_no_error(memory_client: Client) -> None:
    held = obj(MINE)

    assert await finalizers.remove(memory_client, held, MINE, CONFIG_MAPS) is held
