"""The garbage collector: who goes when an owner goes, and who must not wait for ever."""

from typing import Any

import pytest

from fleetqueue.apiserver.keepers.garbage import GarbageCollector
from fleetqueue.apiserver.log import MemoryLog

from .conftest import Api, started

Object = dict[str, Any]

HOME = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOREGROUND = "?propagationPolicy=Foreground"


async def made(api: Api, name: str, *owners: Object, **metadata: Any) -> Object:
    body = {"metadata": {"name": name, "ownerReferences": [*owners], **metadata}}
    found = await api.post(HOME, body)
    assert api.status == 201, found
    return found


def owned_by(obj: Object, *, blocks: bool = True) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    }


async def names(api: Api) -> set[str]:
    return {item["metadata"]["name"] for item in (await api.get(HOME))["items"]}


async def test_a_foreground_deletion_ends_when_a_dependent_has_another_owner(api: Api) -> None:
    going, staying = await made(api, "going"), await made(api, "staying")
    await made(api, "child", owned_by(going), owned_by(staying))
    await api.delete(f"{HOME}/going{FOREGROUND}")
    await api.settle()
    assert await names(api) == {"staying", "child"}
    child = await api.get(f"{HOME}/child")
    assert [r["name"] for r in child["metadata"]["ownerReferences"]] == ["staying"]


async def test_a_foreground_deletion_ends_when_a_dependent_stops_to_block_it(api: Api) -> None:
    owner = await made(api, "owner")
    await made(api, "child", owned_by(owner), finalizers=["example.org/hold"])
    await api.delete(f"{HOME}/owner{FOREGROUND}")
    await api.settle()
    assert await names(api) == {"owner", "child"}
    unblocked = {"metadata": {"ownerReferences": [owned_by(owner, blocks=False)]}}
    await api.patch(f"{HOME}/child", unblocked)
    await api.settle()
    assert await names(api) == {"child"}


async def test_owners_of_each_other_are_deleted_in_the_foreground(api: Api) -> None:
    first = await made(api, "first")
    second = await made(api, "second", owned_by(first))
    await api.patch(f"{HOME}/first", {"metadata": {"ownerReferences": [owned_by(second)]}})
    await api.delete(f"{HOME}/first{FOREGROUND}")
    await api.settle()
    assert await names(api) == set()


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
async def test_a_deletion_that_a_restart_interrupts_goes_on(log: MemoryLog, policy: str) -> None:
    before = await started(log)
    owner = await made(before, "owner")
    await made(before, "child", owned_by(owner))
    await before.instance._keepers[2].stop()
    await before.delete(f"{HOME}/owner?propagationPolicy={policy}")
    await before.instance.stop()
    after = await started(log)
    await after.settle()
    assert await names(after) == (set() if policy == "Foreground" else {"child"})
    await after.instance.stop()


async def test_a_dependent_that_is_written_to_while_it_is_judged_is_collected_all_the_same(
    api: Api,
) -> None:
    owner = await made(api, "owner")
    child = await made(api, "child", owned_by(owner))
    store = api.instance.core.store
    collect = api.instance.internal.delete

    async def late(*arguments: Any) -> Any:
        store.propose("configmaps", "default/child", child | {"data": {"touched": "yes"}})
        api.instance.internal.delete = collect
        return await collect(*arguments)

    api.instance.internal.delete = late
    await api.delete(f"{HOME}/owner")
    await api.settle()
    assert await names(api) == set()


async def test_dependents_of_a_kind_that_goes_with_its_objects_are_collected(api: Api) -> None:
    await api.post(DEFINITIONS, definition())
    await api.settle()
    things = "/apis/example.org/v1/namespaces/default/things"
    body = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "owner"}}
    owner = await api.post(things, body)
    for number in range(12):
        await made(api, f"child-{number}", owned_by(owner))
    await api.delete(f"{DEFINITIONS}/things.example.org")
    await api.settle()
    assert await names(api) == set()


async def test_the_index_forgets_owners_that_nobody_names_any_more(api: Api) -> None:
    [collector] = [each for each in api.instance._keepers if isinstance(each, GarbageCollector)]
    before = len(collector._dependents)
    owner = await made(api, "owner")
    await made(api, "child", owned_by(owner))
    await api.patch(f"{HOME}/child", {"metadata": {"ownerReferences": None}})
    await api.settle()
    assert len(collector._dependents) == before


def definition(*versions: str, storage: str = "v1", **spec: Any) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": "things.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == storage,
                    "schema": {"openAPIV3Schema": schema},
                }
                for name in versions or ("v1",)
            ],
            **spec,
        },
    }
