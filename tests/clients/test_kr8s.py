"""kr8s against our server: its synchronous and its asynchronous side."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kr8s.asyncio
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.asyncio.objects import ConfigMap as AsyncConfigMap
from kr8s.objects import ConfigMap, Deployment, Pod, new_class

from fleetqueue.testing import crd

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}


@pytest.fixture
def api(kubeconfig: Path, namespace: str) -> Iterator[Any]:
    made = kr8s.api(kubeconfig=str(kubeconfig), namespace=namespace)
    yield made
    # kr8s leaves its connections to the end of the process, which would be a warning here.
    as_sync_func(made._session.aclose)()


def config_map(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": {"color": "blue"},
    }


def test_objects_are_created_read_patched_and_deleted(api: Any, namespace: str) -> None:
    one = ConfigMap(config_map("one", namespace), api=api)
    one.create()
    assert one.exists()
    one.patch({"data": {"color": "red"}})
    one.patch([{"op": "add", "path": "/data/size", "value": "large"}], type="json")
    one.label(app="demo")
    one.annotate({"note": "words"})
    read = ConfigMap.get("one", namespace=namespace, api=api)
    assert read.data == {"color": "red", "size": "large"}
    assert (read.labels["app"], read.annotations["note"]) == ("demo", "words")
    one.delete()
    one.wait("delete", timeout=10)
    assert not one.exists()
    with pytest.raises(kr8s.NotFoundError):
        ConfigMap.get("one", namespace=namespace, api=api, timeout=0.1)


def test_selectors_narrow_what_is_found(api: Any, namespace: str) -> None:
    for name, tier in (("a", "front"), ("b", "back"), ("c", "back")):
        ConfigMap(config_map(name, namespace, tier=tier), api=api).create()

    def names(**selectors: Any) -> list[str]:
        return [found.name for found in api.get("configmaps", namespace=namespace, **selectors)]

    assert names(label_selector="tier=back") == ["b", "c"]
    assert names(label_selector={"tier": "front"}) == ["a"]
    assert names(field_selector={"metadata.name": "c"}) == ["c"]
    assert names(label_selector="tier", field_selector="metadata.name!=a") == ["b", "c"]


def test_a_deployment_scales_and_its_condition_is_awaited(api: Any, namespace: str) -> None:
    web = Deployment(
        {
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
        },
        api=api,
    )
    web.create()
    web.scale(3)
    web.patch(
        {"status": {"conditions": [{"type": "Available", "status": "True"}]}},
        subresource="status",
    )
    web.wait("condition=Available", timeout=10)
    web.refresh()
    assert web.replicas == 3


def test_a_pod_has_its_owner(api: Any, namespace: str) -> None:
    owner = ConfigMap(config_map("owner", namespace), api=api)
    owner.create()
    pod = Pod(
        {"metadata": {"name": "owned", "namespace": namespace}, "spec": TEMPLATE["spec"]}, api=api
    )
    pod.create()
    owner.adopt(pod)
    pod.refresh()
    assert pod.metadata.ownerReferences[0].uid == owner.metadata.uid
    assert pod.status.phase == "Pending"
    owner.delete()
    pod.wait("delete", timeout=20)


def test_custom_resources_are_looked_up(api: Any, namespace: str) -> None:
    definition = new_class(kind="CustomResourceDefinition", version="apiextensions.k8s.io/v1")
    definition.namespaced = False
    made = definition(crd("kr8s.example.com", "Gear"), api=api)
    made.create()
    made.wait("condition=Established", timeout=10)
    gear = new_class(kind="Gear", version="kr8s.example.com/v1", namespaced=True)
    one = gear(
        {"metadata": {"name": "one", "namespace": namespace}, "spec": {"teeth": 12}}, api=api
    )
    one.create()
    found = list(api.get("gears.kr8s.example.com", namespace=namespace))
    assert [item.raw["spec"]["teeth"] for item in found] == [12]
    one.patch({"spec": {"teeth": 13}})
    assert one.spec.teeth == 13
    one.delete()


def test_the_server_tells_what_it_is(api: Any) -> None:
    assert api.version()["minor"] == "34"
    assert {"jobs", "pods", "leases"} <= {entry["name"] for entry in api.api_resources()}
    assert "apps/v1" in list(api.api_versions())
    assert api.whoami()


async def test_the_asynchronous_side_creates_watches_and_waits(
    kubeconfig: Path, namespace: str
) -> None:
    api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig), namespace=namespace)
    one = await AsyncConfigMap(config_map("one", namespace, app="demo"), api=api)
    await one.create()
    seen = []

    async def watch() -> None:
        async for kind, found in api.watch(
            "configmaps", namespace=namespace, label_selector="app=demo"
        ):
            seen.append((kind, found.raw["data"]["color"]))
            if len(seen) == 1:
                await one.patch({"data": {"color": "red"}})
            elif len(seen) == 2:
                await one.delete()
            else:
                return

    await asyncio.wait_for(watch(), 20)
    assert seen == [("ADDED", "blue"), ("MODIFIED", "red"), ("DELETED", "red")]
    await one.wait("delete", timeout=10)
    assert [found async for found in api.get("configmaps", label_selector="app=demo")] == []
    with pytest.raises(kr8s.ServerError) as refused:
        await (await AsyncConfigMap(config_map("Not A Name", namespace), api=api)).create()
    assert refused.value.status["reason"] == "Invalid"
    await api._session.aclose()
