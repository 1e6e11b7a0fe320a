"""Custom resources in several versions: what an older one stored, and who owns its fields."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fleetqueue.api import crds
from fleetqueue.apiserver.hooks.remote import Target
from fleetqueue.base import codec

from .conftest import Api

Object = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
V1 = "/apis/example.org/v1/namespaces/default/things"
V2 = "/apis/example.org/v2/namespaces/default/things"
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://converter.example.org/convert"},
    },
}
HOOK = {
    "name": "hook.example.org",
    "clientConfig": {"url": "https://hook.example.org/"},
    "rules": [
        {
            "operations": ["CREATE", "UPDATE"],
            "apiGroups": ["example.org"],
            "apiVersions": ["*"],
            "resources": ["things"],
        }
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


class Converter:
    """Answers conversion reviews; v1 calls `spec.size` what v2 calls `spec.replicas`."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """What happens, once, while a review is being answered."""

    async def post(self, target: Target, body: bytes, seconds: float) -> tuple[int, bytes]:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        request = codec.decode(body)["request"]
        objects = [_renamed(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": objects,
        }
        return 200, review("ConversionReview", "apiextensions.k8s.io/v1", response)

    async def close(self) -> None:
        pass


def review(kind: str, api_version: str, response: Object) -> bytes:
    return codec.encode({"kind": kind, "apiVersion": api_version, "response": response})


def _renamed(obj: Object, api_version: str) -> Object:
    old, new = ("size", "replicas") if api_version.endswith("v2") else ("replicas", "size")
    spec = {new if name == old else name: value for name, value in obj["spec"].items()}
    return {**obj, "apiVersion": api_version, "spec": spec}


def definition(storage: str = "v1", **spec: Any) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything}}
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
                for name in ("v1", "v2")
            ],
            **spec,
        },
    }


def thing(version: str, **spec: Any) -> Object:
    metadata = {"name": "x"}
    return {
        "apiVersion": f"example.org/{version}",
        "kind": "Thing",
        "metadata": metadata,
        "spec": spec,
    }


async def with_things(api: Api, **spec: Any) -> Converter:
    converter = Converter()
    api.instance.core.conversion_remote = converter
    await api.post(DEFINITIONS, definition(**spec))
    assert api.status == 201
    await api.settle()
    return converter


async def switch_storage(api: Api) -> None:
    crd = await api.get(f"{DEFINITIONS}/things.example.org")
    for version in crd["spec"]["versions"]:
        version["storage"] = version["name"] == "v2"
    await api.put(f"{DEFINITIONS}/things.example.org", crd)
    assert api.status == 200
    await api.settle()


@pytest.mark.parametrize("conversion", [{"strategy": "None"}, WEBHOOK])
async def test_what_was_stored_under_an_older_version_is_read_in_the_new_one(
    api: Api, conversion: Object
) -> None:
    await with_things(api, conversion=conversion)
    await api.post(V1, thing("v1", size=3))
    await switch_storage(api)
    spec = {"replicas": 3} if conversion is WEBHOOK else {"size": 3}
    one = await api.get(f"{V2}/x")
    (listed,) = (await api.get(V2))["items"]
    stream = await api.send("GET", f"{V2}?watch=true&timeoutSeconds=1")
    assert stream.frames is not None
    batch = await anext(stream.frames)
    await stream.frames.aclose()
    for found in (one, listed, codec.decode(batch[0].line)["object"]):
        assert (found["apiVersion"], found["spec"]) == ("example.org/v2", spec)


async def test_what_another_version_left_out_has_the_defaults_of_the_storage_version(
    api: Api,
) -> None:
    made = definition("v2")
    sizes = {"x": {"type": "integer"}, "size": {"type": "integer", "default": 5}}
    for version, names in zip(made["spec"]["versions"], (("x",), ("x", "size")), strict=True):
        spec = {"type": "object", "properties": {name: sizes[name] for name in names}}
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    await api.post(DEFINITIONS, made)
    await api.settle()
    assert (await api.post(V1, thing("v1", x=1)))["spec"] == {"x": 1}
    assert (await api.get(f"{V2}/x"))["spec"] == {"x": 1, "size": 5}
    assert [each["spec"] for each in (await api.get(V2))["items"]] == [{"x": 1, "size": 5}]
    assert (await api.get(f"{V1}/x"))["spec"] == {"x": 1}
    changed = await api.patch(f"{V1}/x", {"spec": {"x": 2}})
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"x": 2}, 2)
    assert (await api.get(f"{V2}/x"))["spec"] == {"x": 2, "size": 5}


async def test_a_write_of_nothing_brings_an_object_to_the_storage_version(api: Api) -> None:
    await with_things(api)
    first = await api.post(V1, thing("v1", size=3))
    await switch_storage(api)
    same = await api.put(f"{V1}/x", await api.get(f"{V1}/x"))
    assert same["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    stored = api.instance.core.store.get("things.example.org", "default/x")
    assert stored is not None
    assert stored.data.startswith(b'{"apiVersion":"example.org/v2"')
    again = await api.put(f"{V1}/x", same)
    assert again["metadata"]["resourceVersion"] == same["metadata"]["resourceVersion"]


async def test_a_write_that_waits_for_its_conversion_does_not_undo_another(api: Api) -> None:
    converter = await with_things(api, conversion=WEBHOOK)
    await api.post(V1, thing("v1", size=1))

    async def label() -> None:
        # The first review reads the object, the next one is for what will be stored.
        async def later() -> None:
            await api.patch(f"{V1}/x", {"metadata": {"labels": {"mine": "yes"}}})

        converter.meanwhile = later

    converter.meanwhile = label
    await api.patch(f"{V2}/x", {"spec": {"replicas": 7}})
    found = await api.get(f"{V1}/x")
    assert found["spec"] == {"size": 7}
    assert found["metadata"]["labels"] == {"mine": "yes"}


async def test_of_two_that_create_the_same_object_one_is_refused(api: Api) -> None:
    converter = await with_things(api, conversion=WEBHOOK)

    async def faster() -> None:
        await api.post(V1, thing("v1", size=1))
        assert api.status == 201

    converter.meanwhile = faster
    await api.post(V2, thing("v2", replicas=2))
    assert api.status == 409
    assert (await api.get(f"{V1}/x"))["spec"] == {"size": 1}


async def test_apply_finds_an_object_that_was_created_meanwhile(api: Api) -> None:
    converter = await with_things(api, conversion=WEBHOOK)

    async def faster() -> None:
        await api.post(V1, thing("v1", size=1))

    converter.meanwhile = faster
    path = f"{V2}/x?fieldManager=me&force=true"
    found = await api.patch(path, thing("v2", replicas=2), "apply-patch+yaml")
    assert (api.status, found["spec"]) == (200, {"replicas": 2})


async def test_owners_of_fields_are_told_apart_across_versions(api: Api) -> None:
    await with_things(api)
    await api.patch(f"{V1}/x?fieldManager=one", thing("v1", a=1, b=1), "apply-patch+yaml")
    await api.patch(f"{V2}/x?fieldManager=two", thing("v2", b=1, c=1), "apply-patch+yaml")
    found = await api.patch(f"{V2}/x?fieldManager=one", thing("v2", c=1), "apply-patch+yaml")
    # `a` was its own alone; `b` is shared, and was applied under another version than this one.
    assert found["spec"] == {"b": 1, "c": 1}
    versions = {e["manager"]: e["apiVersion"] for e in found["metadata"]["managedFields"]}
    assert versions == {"one": "example.org/v2", "two": "example.org/v2"}


async def test_fields_that_were_owned_under_a_version_that_is_gone_are_nobodys(api: Api) -> None:
    await with_things(api)
    await api.patch(f"{V1}/x?fieldManager=one", thing("v1", a=1), "apply-patch+yaml")
    await switch_storage(api)
    await api.put(f"{V2}/x", await api.get(f"{V2}/x"))
    crd = await api.get(f"{DEFINITIONS}/things.example.org")
    crd["status"]["storedVersions"] = ["v2"]
    crd = await api.put(f"{DEFINITIONS}/things.example.org/status", crd)
    crd["spec"]["versions"] = crd["spec"]["versions"][1:]
    await api.put(f"{DEFINITIONS}/things.example.org", crd)
    assert api.status == 200
    await api.settle()
    found = await api.patch(f"{V2}/x?fieldManager=two", thing("v2", a=2), "apply-patch+yaml")
    assert (api.status, found["spec"]) == (200, {"a": 2})


async def test_a_kind_that_was_served_in_no_version_comes_back_as_it_is_now(api: Api) -> None:
    hidden = definition()
    for version in hidden["spec"]["versions"]:
        version["served"] = False
    await api.post(DEFINITIONS, hidden)
    await api.settle()
    await api.delete(f"{DEFINITIONS}/things.example.org")
    await api.settle()
    await api.post(DEFINITIONS, definition(storage="v2"))
    await api.settle()
    resource = api.instance.core.registry.by_table("things.example.org")
    assert resource is not None
    assert resource.stored_as == "example.org/v2"


async def test_a_definition_gets_its_names_when_the_one_that_had_them_goes(api: Api) -> None:
    await with_things(api)
    other = definition()
    other["metadata"]["name"] = "stuffs.example.org"
    other["spec"]["names"] = {"plural": "stuffs", "kind": "Thing", "listKind": "StuffList"}
    await api.post(DEFINITIONS, other)
    await api.settle()
    await api.send("GET", "/apis/example.org/v1/namespaces/default/stuffs")
    assert api.status == 404
    await api.delete(f"{DEFINITIONS}/things.example.org")
    await api.settle()
    await api.get("/apis/example.org/v1/namespaces/default/stuffs")
    assert api.status == 200


async def test_a_webhook_cannot_move_an_object_to_another_namespace(api: Api) -> None:
    await with_things(api)
    hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await api.post(hooks, {"metadata": {"name": "hook"}, "webhooks": [HOOK]})
    patch = [{"op": "add", "path": "/metadata/namespace", "value": "kube-system"}]
    answer_reviews(api, {"patchType": "JSONPatch", "patch": encoded(patch)})
    await api.post(V1, thing("v1"))
    assert api.status == 400
    assert (await api.get(V1))["items"] == []


def encoded(patch: Any) -> str:
    return base64.b64encode(codec.encode(patch)).decode()


def answer_reviews(api: Api, answer: Object) -> None:
    class Hook(Converter):
        async def post(self, target: Target, body: bytes, seconds: float) -> tuple[int, bytes]:
            await asyncio.sleep(0)
            uid = codec.decode(body)["request"]["uid"]
            response = {"uid": uid, "allowed": True, **answer}
            return 200, review("AdmissionReview", "admission.k8s.io/v1", response)

    api.instance.core.hooks.remote.remote = Hook()


async def test_owners_are_told_apart_in_versions_that_a_webhook_converts(api: Api) -> None:
    await with_things(api, conversion=WEBHOOK)
    await api.patch(f"{V1}/x?fieldManager=one", thing("v1", size=1, b=1), "apply-patch+yaml")
    refused = await api.patch(f"{V2}/x?fieldManager=two", thing("v2", replicas=2), APPLY)
    assert (api.status, refused["details"]["causes"][0]["field"]) == (409, ".spec.size")
    path = f"{V2}/x?fieldManager=two&force=true"
    taken = await api.patch(path, thing("v2", replicas=2), APPLY)
    assert owned(taken) == {"one": {"f:b"}, "two": {"f:replicas"}}
    changed = await api.patch(f"{V1}/x?fieldManager=three", {"spec": {"size": 3}})
    assert owned(changed) == {"one": {"f:b"}, "three": {"f:size"}}
    let_go = await api.patch(f"{V2}/x?fieldManager=one", thing("v2", c=1), APPLY)
    assert (api.status, let_go["spec"]) == (200, {"replicas": 3, "c": 1})


async def test_owners_are_told_apart_in_versions_that_we_convert_ourselves(api: Api) -> None:
    kueue = crds.all_crds("kueue.x-k8s.io")
    (definition,) = [crd for crd in kueue if crd["spec"]["names"]["kind"] == "ClusterQueue"]
    await api.post(DEFINITIONS, definition)
    await api.settle()
    old, new = ("/apis/kueue.x-k8s.io/v1beta1/", "/apis/kueue.x-k8s.io/v1beta2/")
    queue = {"kind": "ClusterQueue", "metadata": {"name": "x"}}
    first = queue | {"apiVersion": "kueue.x-k8s.io/v1beta1", "spec": {"cohort": "a"}}
    other = queue | {"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"cohortName": "b"}}
    await api.patch(f"{old}clusterqueues/x?fieldManager=one", first, APPLY)
    refused = await api.patch(f"{new}clusterqueues/x?fieldManager=two", other, APPLY)
    assert refused["details"]["causes"][0]["field"] == ".spec.cohort"
    taken = await api.patch(f"{new}clusterqueues/x?fieldManager=two&force=true", other, APPLY)
    assert owned(taken) == {"two": {"f:cohortName"}}
    assert (await api.get(f"{old}clusterqueues/x"))["spec"]["cohort"] == "b"


APPLY = "apply-patch+yaml"


def owned(obj: Object) -> dict[str, set[str]]:
    """Which fields of the spec each manager has."""
    entries = obj["metadata"]["managedFields"]
    return {entry["manager"]: set(entry["fieldsV1"]["f:spec"]) for entry in entries}
