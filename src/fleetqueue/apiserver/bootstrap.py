"""What a fresh cluster has before anybody asks: namespaces, roles, priority classes, its own
Service.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from fleetqueue.apiserver.access import policy
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import Options
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.registry import Resource

Object = dict[str, Any]

MANAGER = "kube-apiserver"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PRIORITY_CLASSES = {
    "system-cluster-critical": (
        2_000_000_000,
        "For pods the cluster cannot do without; they may move to another node.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "For pods the cluster cannot do without and that must stay on their node.",
    ),
}
RULE_FIELDS = ("rules", "aggregationRule", "subjects", "roleRef")


async def ensure(core: Core, internal: Internal, port: int = 6443) -> None:
    """Create what is missing; what is there stays as it is, but for roles that must not shrink.

    What does not depend on each other is written together, and so shares one commit.
    """
    await asyncio.gather(
        *(
            internal.create(_namespace(name), MANAGER)
            for name in _missing(core, "namespaces", NAMESPACES)
        )
    )
    classes = _missing(core, "priorityclasses.scheduling.k8s.io", PRIORITY_CLASSES)
    later = [
        internal.create(_priority_class(name, *PRIORITY_CLASSES[name]), MANAGER) for name in classes
    ]
    later.append(_ensure_service(core, internal, port))
    await asyncio.gather(*later)
    await _ensure_roles(core, internal)


def _missing(core: Core, table: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if core.store.get(table, name) is None]


async def _ensure_roles(core: Core, internal: Internal) -> None:
    group = policy.API_VERSION.split("/")[0]
    for objects in policy.defaults():
        writes = []
        for default in objects:
            resource = core.registry.by_kind(group, default["kind"])
            assert resource is not None
            metadata = default["metadata"]
            key = resource.key(metadata.get("namespace", ""), metadata["name"])
            existing = core.get(resource.table, key)
            if existing is None or not _holds(existing, default):
                writes.append(_ensure_role(internal, resource, existing, default))
        await asyncio.gather(*writes)


def _holds(existing: Object, default: Object) -> bool:
    """Whether nothing of the default was touched since it was made, which is nearly always so."""
    for name in RULE_FIELDS:
        if existing.get(name) != default.get(name):
            return False
    return all(
        existing["metadata"].get(name) == default["metadata"].get(name)
        for name in ("labels", "annotations")
    )


async def _ensure_role(
    internal: Internal, resource: Resource, existing: Object | None, default: Object
) -> None:
    change = policy.reconcile(existing, default)
    if change is None:
        return
    if existing is None:
        await internal.create(change.obj, MANAGER)
        return
    namespace, name = default["metadata"].get("namespace", ""), default["metadata"]["name"]
    if change.recreate:
        await internal.delete(resource, namespace, name, Options())
        await internal.create(change.obj, MANAGER)
        return

    def become(obj: Object) -> None:
        for part in RULE_FIELDS:
            if part in change.obj:
                obj[part] = change.obj[part]
        for part in ("labels", "annotations"):
            if part in change.obj["metadata"]:
                obj["metadata"][part] = change.obj["metadata"][part]

    await internal.edit(resource, namespace, name, become, manager=MANAGER)


def _namespace(name: str) -> Object:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}


def _priority_class(name: str, value: int, description: str) -> Object:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


async def _ensure_service(core: Core, internal: Internal, port: int) -> Object | None:
    """The Service that pods find this server by; a server that moved says so."""
    wanted = _service(core, port)
    live = core.get("services", "default/kubernetes")
    if live is None:
        return await internal.create(wanted, MANAGER)
    if live["spec"].get("ports") == wanted["spec"]["ports"]:
        return None
    resource = core.registry.by_table("services")
    assert resource is not None

    def move(obj: Object) -> None:
        obj["spec"]["ports"] = wanted["spec"]["ports"]

    return await internal.edit(resource, "default", "kubernetes", move, manager=MANAGER)


def _service(core: Core, port: int) -> Object:
    address = str(core.service_network[1])
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "type": "ClusterIP",
            "sessionAffinity": "None",
        },
    }
