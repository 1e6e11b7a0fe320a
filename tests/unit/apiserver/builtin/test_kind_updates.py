"""What may not change once an object exists; messages as kube-apiserver gave them."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies

Object = dict[str, Any]
Case = tuple[tuple[str, str], Object, Object, list[str]]

FIXED = "field is immutable"
FROZEN = "Forbidden: field is immutable when `immutable` is set"
NETWORKING = "networking.k8s.io"
STORAGE = "storage.k8s.io"

CASES: dict[str, Case] = {
    "a frozen config map": (
        ("", "ConfigMap"),
        {"data": {"k": "v"}, "immutable": True},
        {"data": {"k": "w"}},
        [f"immutable: {FROZEN}", f"data: {FROZEN}"],
    ),
    "a frozen secret": (
        ("", "Secret"),
        {"type": "Opaque", "data": {"k": "dg=="}, "immutable": True},
        {"type": "Opaque", "data": {}, "immutable": True},
        [f"data: {FROZEN}"],
    ),
    "the type of a secret": (
        ("", "Secret"),
        {"type": "Opaque"},
        {"type": "foo"},
        [f'type: Invalid value: "foo": {FIXED}'],
    ),
    "the value of a priority class": (
        ("scheduling.k8s.io", "PriorityClass"),
        {"value": 5, "preemptionPolicy": "Never"},
        {"value": 6, "preemptionPolicy": "PreemptLowerPriority"},
        [
            "value: Forbidden: may not be changed in an update.",
            f'preemptionPolicy: Invalid value: "PreemptLowerPriority": {FIXED}',
        ],
    ),
    "the handler of a runtime class": (
        ("node.k8s.io", "RuntimeClass"),
        {"handler": "h"},
        {"handler": "x"},
        [f'handler: Invalid value: "x": {FIXED}'],
    ),
    "the controller of an ingress class": (
        (NETWORKING, "IngressClass"),
        {"spec": {"controller": "a.b/c"}},
        {"spec": {"controller": "z.z/z"}},
        [f'spec.controller: Invalid value: "z.z/z": {FIXED}'],
    ),
    "the range of a service CIDR": (
        (NETWORKING, "ServiceCIDR"),
        {"spec": {"cidrs": ["192.168.9.0/24"]}},
        {"spec": {"cidrs": ["192.168.7.0/24"]}},
        [f'spec.cidrs[0]: Invalid value: "192.168.7.0/24": {FIXED}'],
    ),
    "everything of a storage class": (
        (STORAGE, "StorageClass"),
        {
            "provisioner": "a",
            "parameters": {"x": "y"},
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
        },
        {
            "provisioner": "b",
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        [
            "parameters: Forbidden: updates to parameters are forbidden.",
            "provisioner: Forbidden: updates to provisioner are forbidden.",
            "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
            f'volumeBindingMode: Invalid value: "WaitForFirstConsumer": {FIXED}',
        ],
    ),
    "the driver of a CSI node, told in inner names": (
        (STORAGE, "CSINode"),
        {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}},
        {"spec": {"drivers": [{"name": "d", "nodeID": "m"}]}},
        [
            'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,'
            f'"Allocatable":null}}: {FIXED}'
        ],
    ),
    "the scopes of a quota": (
        ("", "ResourceQuota"),
        {"spec": {"hard": {"pods": "1"}}},
        {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
        [f'spec.scopes: Invalid value: ["BestEffort"]: {FIXED}'],
    ),
    "the network of a node": (
        ("", "Node"),
        {"spec": {"podCIDRs": ["10.1.0.0/24"], "providerID": "a"}},
        {"spec": {"podCIDRs": ["10.2.0.0/24"]}},
        [
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
            "spec.providerID: Forbidden: node updates may not change providerID except from "
            '"" to valid',
        ],
    ),
    "the address of a service": (
        ("", "Service"),
        {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
        {"clusterIP": "10.0.0.3", "clusterIPs": ["10.0.0.3"]},
        ['spec.clusterIPs[0]: Invalid value: ["10.0.0.3"]: may not change once set'],
    ),
}


def made(kind: tuple[str, str], content: Object) -> Object:
    obj: Object = {"metadata": {"name": "thing", "namespace": "default"}, **content}
    if kind == ("", "Service"):
        obj = {"metadata": obj["metadata"], "spec": {"ports": [{"port": 80}], **content}}
    strategies()[kind].default(obj)
    return obj


@pytest.mark.parametrize(("kind", "old", "new", "errors"), CASES.values(), ids=CASES.keys())
def test_what_does_not_change(
    kind: tuple[str, str], old: Object, new: Object, errors: list[str]
) -> None:
    before, after = made(kind, old), made(kind, new)
    found = strategies()[kind].validate_update(after, before)
    assert [str(error) for error in found] == errors
    assert strategies()[kind].validate_update(before, before) == []


def claim(size: str = "1Gi", phase: str = "Bound", **spec: Any) -> Object:
    return {
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": size}},
            **spec,
        },
        "status": {"phase": phase, "capacity": {"storage": "1Gi"}},
    }


def claim_errors(new: Object, old: Object) -> list[str]:
    found = strategies()["", "PersistentVolumeClaim"].validate_update(new, old)
    return [str(error).partition("\n")[0] for error in found]


def test_a_bound_claim_may_ask_for_more() -> None:
    assert claim_errors(claim("2Gi"), claim()) == []


def test_a_claim_that_waits_may_not_change_what_it_asks_for() -> None:
    why = "spec is immutable after creation except resources.requests and"
    (error,) = claim_errors(claim("2Gi", "Pending"), claim("1Gi", "Pending"))
    assert error.startswith(f"spec: Forbidden: {why}")


def test_a_claim_never_asks_for_less_than_it_has() -> None:
    why = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    assert claim_errors(claim("1Mi"), claim("2Gi")) == [why]


def test_a_claim_may_be_given_the_class_it_lacked() -> None:
    assert claim_errors(claim(storageClassName="fast"), claim()) == []


def test_the_source_of_a_volume_is_shown_where_it_changed() -> None:
    def volume(path: str) -> Object:
        spec: Object = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
        obj = {"metadata": {"name": "v"}, "spec": {**spec, "hostPath": {"path": path}}}
        strategies()["", "PersistentVolume"].default(obj)
        return obj

    (error,) = strategies()["", "PersistentVolume"].validate_update(volume("/y"), volume("/x"))
    assert '-  "Path": "/x",\n+  "Path": "/y",\n' in error.detail
