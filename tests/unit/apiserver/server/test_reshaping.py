"""Custom resources that were stored before their schema changed: read as the present one says."""

from typing import Any

import pytest

from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.base import codec

from .conftest import Api, started

Object = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.org/v1/namespaces/default/things"
NUMBER, TEXT = {"type": "integer"}, {"type": "string"}
OLD = {"x": NUMBER, "old": TEXT}
NEW = {"x": NUMBER, "size": {"type": "integer", "default": 5}}


def definition(**properties: Any) -> Object:
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "selectableFields": [{"jsonPath": ".spec.x"}],
    }
    if "size" in properties:
        version["selectableFields"] = [{"jsonPath": ".spec.size"}]
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.org"}, "spec": spec}


def thing(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": spec} | {
        "apiVersion": "example.org/v1",
        "kind": "Thing",
    }


async def define(api: Api, properties: Object) -> None:
    await api.post(DEFINITIONS, definition(**properties))
    assert api.status == 201
    await api.settle()


async def redefine(api: Api, properties: Object) -> None:
    path = f"{DEFINITIONS}/things.example.org"
    await api.patch(path, {"spec": definition(**properties)["spec"]})
    assert api.status == 200
    await api.settle()


async def watched(api: Api, query: str = "") -> list[Object]:
    """The specs of the first batch of events."""
    stream = await api.send("GET", f"{THINGS}?watch=true&timeoutSeconds=1{query}")
    assert stream.frames is not None
    batch = await anext(aiter(stream.frames))
    await stream.frames.aclose()
    return [codec.decode(frame.line)["object"]["spec"] for frame in batch]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_every_read_defaults_and_prunes_what_is_older_than_the_schema(
    log: MemoryLog, is_restarted: bool
) -> None:
    api = await started(log)
    await define(api, OLD)
    first = await api.post(THINGS, thing("a", x=1, old="o"))
    await redefine(api, NEW)
    await api.post(THINGS, thing("b", x=2, size=7))
    if is_restarted:
        await api.instance.stop()
        api = await started(log)
    reshaped, fresh = {"x": 1, "size": 5}, {"x": 2, "size": 7}
    one = await api.get(f"{THINGS}/a")
    assert (one["spec"], one["metadata"]) == (reshaped, first["metadata"])
    assert [item["spec"] for item in (await api.get(THINGS))["items"]] == [reshaped, fresh]
    assert await watched(api) == [reshaped, fresh]
    since = int(first["metadata"]["resourceVersion"]) - 1
    assert (await watched(api, f"&resourceVersion={since}"))[0] == reshaped
    chosen = await api.get(f"{THINGS}?fieldSelector=spec.size%3D5")
    assert [item["spec"] for item in chosen["items"]] == [reshaped]
    last = await api.delete(f"{THINGS}/a")
    assert last["status"] == "Success"
    gone = await watched(api, f"&resourceVersion={since}")
    assert gone[-1] == reshaped
    await api.instance.stop()


async def test_a_write_of_nothing_stores_what_the_present_schema_shows(api: Api) -> None:
    await define(api, OLD)
    first = await api.post(THINGS, thing("a", x=1, old="o"))
    await redefine(api, NEW)
    second = await api.patch(f"{THINGS}/a", {})
    third = await api.patch(f"{THINGS}/a", {})
    assert api.warnings == []
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    assert third["metadata"] == second["metadata"]
    assert second["metadata"]["generation"] == 1
    stored = api.instance.core.store.get("things.example.org", "default/a")
    assert stored is not None
    assert codec.decode(stored.data)["spec"] == {"x": 1, "size": 5}


async def test_what_is_as_new_as_its_schema_is_not_looked_at_again(api: Api) -> None:
    await define(api, OLD)
    await redefine(api, NEW)
    await api.post(THINGS, thing("a", x=1))
    resource = api.instance.core.registry.by_table("things.example.org")
    assert resource is not None
    for version in resource.versions.values():
        version.shape = None  # type: ignore[assignment]
    assert (await api.get(f"{THINGS}/a"))["spec"] == {"x": 1, "size": 5}
    assert len((await api.get(THINGS))["items"]) == 1


async def test_a_change_that_leaves_the_schema_alone_reshapes_nothing(api: Api) -> None:
    await define(api, NEW)
    await api.post(THINGS, thing("a", x=1))
    path = f"{DEFINITIONS}/things.example.org"
    await api.patch(path, {"spec": {"names": {"shortNames": ["th"]}}})
    await api.settle()
    resource = api.instance.core.registry.by_table("things.example.org")
    assert resource is not None
    assert (resource.short_names, resource.reshaper) == (("th",), None)
