"""Keeps an APIService for every group and version that this server itself serves.

What is built in is noted at the start, what a CRD serves while the CRD is there, and what others in
this process answer as soon as they do. Where two groups serve the same name, clients prefer the one
with the higher priority.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from fleetqueue.apiserver.bootstrap import MANAGER
from fleetqueue.apiserver.custom import TABLE as DEFINITIONS
from fleetqueue.apiserver.deletes import Options
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]

GROUP = "apiregistration.k8s.io"
TABLE = f"apiservices.{GROUP}"
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
CUSTOM_PRIORITIES = (1000, 100)
EXTENSION_PRIORITY = 100
OWN_PRIORITIES = (20000, 15)
"""Of the group of APIServices, which has none: it comes before all others."""
_ALL = "all"
_GROUP_PRIORITIES = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "storagemigration.k8s.io": 15800,
}
_VERSION_PRIORITIES = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1"): 21,
}
_VERSION_PRIORITY = 15


class ApiServiceKeeper(WorkingKeeper):
    """Any change of a CRD, an extension or an APIService may leave one missing, wrong or
    needless.
    """

    work_name = "API services"
    tables = (TABLE, DEFINITIONS)

    def start(self) -> None:
        self._core.extensions.on_add.append(partial(self._work.add, _ALL))
        self._work.add(_ALL)

    def follow(self, changes: Sequence[Change]) -> None:
        if any(change.resource in (TABLE, DEFINITIONS) for change in changes):
            self._work.add(_ALL)

    async def _attend(self, _: str) -> None:
        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        store = self._core.store
        wanted = {service["metadata"]["name"]: service for service in self._wanted()}
        live = {name: store.decoded(kept) for name, kept in store.table(TABLE).live.items()}
        await asyncio.gather(
            *(
                self._internal.create(service, MANAGER)
                for name, service in wanted.items()
                if name not in live
            ),
            *(self._keep(resource, live[name], wanted.get(name)) for name in live),
        )

    def _wanted(self) -> Iterator[Object]:
        custom = set()
        for resource in self._core.registry:
            for version in resource.served:
                if resource.is_custom:
                    custom.add((resource.group, version.name))
                elif resource.group != GROUP:
                    yield _built_in(resource.group, version.name)
        for group, name in sorted(custom):
            yield _service(group, name, CUSTOM_PRIORITIES, "true")
        for extension in self._core.extensions:
            # Somebody may install what answers the group elsewhere: that is theirs to keep.
            for rank, name in enumerate(extension.versions):
                priorities = (EXTENSION_PRIORITY, EXTENSION_PRIORITY - rank)
                yield _service(extension.name, name, priorities)

    async def _keep(self, resource: Resource, live: Object, wanted: Object | None) -> None:
        """Put an automatic one back as it should be; others are their makers' business."""
        how = (live["metadata"].get("labels") or {}).get(MANAGED)
        if wanted is None:
            if how == "true":
                await self._internal.delete(resource, "", live["metadata"]["name"], Options())
            return
        if how is None or live["spec"] == wanted["spec"]:
            return

        def restore(obj: Object) -> None:
            obj["spec"] = wanted["spec"]

        name = live["metadata"]["name"]
        await self._internal.edit(resource, "", name, restore, manager=MANAGER)


def priorities_of(group: str, version: str) -> tuple[int, int]:
    """Of a group and a version that this server itself serves."""
    if group == GROUP:
        return OWN_PRIORITIES
    if group not in _GROUP_PRIORITIES:
        return CUSTOM_PRIORITIES
    version_priority = _VERSION_PRIORITIES.get((group, version), _VERSION_PRIORITY)
    return _GROUP_PRIORITIES[group], version_priority


def _built_in(group: str, version: str) -> Object:
    return _service(group, version, priorities_of(group, version), "onstart")


def _service(group: str, version: str, priorities: tuple[int, int], managed: str = "") -> Object:
    spec: Object = {
        "version": version,
        "groupPriorityMinimum": priorities[0],
        "versionPriority": priorities[1],
    }
    metadata: Object = {"name": f"{version}.{group}"}
    if managed:
        metadata["labels"] = {MANAGED: managed}
    return {
        "kind": "APIService",
        "apiVersion": f"{GROUP}/v1",
        "metadata": metadata,
        "spec": {"group": group, **spec} if group else spec,
    }
