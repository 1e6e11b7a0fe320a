"""Storage: default classes, growth, and protection of what is in use."""

from typing import Any

from .conftest import Api
from .sharing import home, on_one_loop, shared

__all__ = ["home", "shared"]

pytestmark = on_one_loop

Object = dict[str, Any]

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEFAULT = "storageclass.kubernetes.io/is-default-class"


def claim(size: str = "1Gi", **spec: Any) -> Object:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": "c"}, "spec": {**asked, **spec}}


def storage_class(name: str, **content: Any) -> Object:
    return {
        "metadata": {"name": name, "annotations": {DEFAULT: "true"}},
        "provisioner": "x",
        **content,
    }


async def test_a_claim_gets_the_default_class_unless_it_wants_none(shared: Api, home: str) -> None:
    await shared.post(CLASSES, storage_class("usual"))
    claims = f"{home}/persistentvolumeclaims"
    none = {**claim(storageClassName=""), "metadata": {"name": "none"}}
    assert (await shared.post(claims, claim()))["spec"]["storageClassName"] == "usual"
    assert (await shared.post(claims, none))["spec"]["storageClassName"] == ""
    await shared.delete(f"{CLASSES}/usual")


async def test_an_ingress_gets_the_default_class(shared: Api, home: str) -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    group = "/apis/networking.k8s.io/v1"
    await shared.post(
        f"{group}/ingressclasses",
        {"metadata": {"name": "i", "annotations": annotations}, "spec": {"controller": "a.b/c"}},
    )
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingress = {"metadata": {"name": "x"}, "spec": {"defaultBackend": backend}}
    made = await shared.post(f"{home.replace('/api/v1', group)}/ingresses", ingress)
    assert made["spec"]["ingressClassName"] == "i"


async def test_only_a_bound_claim_of_a_growing_class_may_grow(shared: Api, home: str) -> None:
    await shared.post(CLASSES, storage_class("rigid"))
    await shared.post(f"{home}/persistentvolumeclaims", claim())
    bigger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    await shared.patch(f"{home}/persistentvolumeclaims/c", bigger)
    assert shared.status == 422
    await shared.patch(f"{home}/persistentvolumeclaims/c/status", {"status": {"phase": "Bound"}})
    answer = await shared.patch(f"{home}/persistentvolumeclaims/c", bigger)
    assert answer["message"] == (
        'persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized '
        "and the storageclass that provisions the pvc must support resize"
    )
    await shared.patch(f"{CLASSES}/rigid", {"allowVolumeExpansion": True})
    await shared.patch(f"{home}/persistentvolumeclaims/c", bigger)
    assert shared.status == 200


async def test_a_claim_outlives_the_pod_that_uses_it(shared: Api, home: str) -> None:
    made = await shared.post(f"{home}/persistentvolumeclaims", claim())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    containers = [{"name": "c", "image": "i"}]
    pods = f"{home}/pods"
    await shared.post(
        pods, {"metadata": {"name": "p"}, "spec": {"containers": containers, "volumes": [volume]}}
    )
    await shared.delete(f"{home}/persistentvolumeclaims/c")
    await shared.settle()
    assert "deletionTimestamp" in (await shared.get(f"{home}/persistentvolumeclaims/c"))["metadata"]
    await shared.delete(f"{pods}/p")
    await shared.settle()
    await shared.get(f"{home}/persistentvolumeclaims/c")
    assert shared.status == 404


async def test_a_volume_goes_when_no_claim_holds_it(shared: Api, home: str) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    volumes = "/api/v1/persistentvolumes"
    await shared.post(
        volumes, {"metadata": {"name": "v"}, "spec": {**spec, "hostPath": {"path": "/x"}}}
    )
    await shared.patch(f"{volumes}/v/status", {"status": {"phase": "Bound"}})
    await shared.delete(f"{volumes}/v")
    await shared.settle()
    await shared.get(f"{volumes}/v")
    assert shared.status == 200
    await shared.patch(f"{volumes}/v/status", {"status": {"phase": "Released"}})
    await shared.settle()
    await shared.get(f"{volumes}/v")
    assert shared.status == 404
