"""APIServices come and go with what the server serves."""

from typing import Any

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


async def names(api: Any) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(SERVICES))["items"]]


async def test_what_is_built_in_is_available_from_the_start(api: Any) -> None:
    assert {"v1.", "v1.apps", "v2.autoscaling"} <= set(await names(api))
    apps = await api.get(f"{SERVICES}/v1.apps")
    assert apps["spec"] == {
        "group": "apps",
        "version": "v1",
        "groupPriorityMinimum": 17800,
        "versionPriority": 15,
    }
    assert apps["status"]["conditions"][0]["reason"] == "Local"


async def test_one_that_is_deleted_or_changed_comes_back(api: Any) -> None:
    before = await api.get(f"{SERVICES}/v1.batch")
    await api.delete(f"{SERVICES}/v1.batch")
    await api.patch(f"{SERVICES}/v1.apps", {"spec": {"versionPriority": 1}})
    await api.settle()
    assert (await api.get(f"{SERVICES}/v1.batch"))["spec"] == before["spec"]
    assert (await api.get(f"{SERVICES}/v1.apps"))["spec"]["versionPriority"] == 15


async def test_a_definition_brings_its_own_and_takes_it_along(api: Any) -> None:
    await api.post(DEFINITIONS, DEFINITION)
    await api.settle()
    made = await api.get(f"{SERVICES}/v1.example.com")
    assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (1000, 100)
    await api.delete(f"{DEFINITIONS}/widgets.example.com")
    await api.settle()
    assert "v1.example.com" not in await names(api)
