"""Empties namespaces that go, and gives each new one its service account and certificate."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import Options
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.storage import Change
from fleetqueue.apiserver.strategy import Aspect

Object = dict[str, Any]

FINALIZER = "kubernetes"
ROOT_CERTIFICATE = "kube-root-ca.crt"
ROOT_ANNOTATION = "kubernetes.io/description"
NOTHING_FAILED = {
    "NamespaceDeletionDiscoveryFailure": (
        *("False", "ResourcesDiscovered", "All resources successfully discovered"),
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        *("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
}
FINALIZE = Aspect("finalize", lambda obj, old: obj, lambda obj, old: [])


class NamespaceKeeper(WorkingKeeper):
    """Empties namespaces that are going, and furnishes those that stay."""

    work_name = "namespaces"

    def __init__(self, core: Core, internal: Internal, authority: bytes) -> None:
        super().__init__(core, internal)
        self._authority = authority

    def start(self) -> None:
        for key in list(self._core.store.table("namespaces").live):
            self._work.add(key)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource == "namespaces":
                if change.after is not None:
                    self._work.add(change.stored.key)
            elif change.after is None:
                self._wake(change)

    def _wake(self, change: Change) -> None:
        """Something left a namespace: its deletion, or its furniture, may need another look."""
        namespace, slash, name = change.stored.key.rpartition("/")
        if not slash:
            return
        is_furniture = (change.resource, name) in (
            ("serviceaccounts", "default"),
            ("configmaps", ROOT_CERTIFICATE),
        )
        if is_furniture or self._is_going(namespace):
            self._work.add(namespace)

    def _is_going(self, name: str) -> bool:
        stored = self._core.store.get("namespaces", name)
        return stored is not None and b'"deletionTimestamp"' in stored.data

    async def _attend(self, name: str) -> None:
        namespace = self._core.get("namespaces", name)
        if namespace is None:
            return
        if "deletionTimestamp" in namespace["metadata"]:
            await self._empty(name)
        else:
            await self._furnish(name)

    # Furniture

    async def _furnish(self, name: str) -> None:
        wanted = []
        if self._core.store.get("serviceaccounts", f"{name}/default") is None:
            wanted.append(_service_account(name))
        if (
            self._authority
            and self._core.store.get("configmaps", f"{name}/{ROOT_CERTIFICATE}") is None
        ):
            wanted.append(_root_certificate(name, self._authority))
        for obj in wanted:
            try:
                await self._internal.create(obj, "kube-controller-manager")
            except ApiError as error:
                # The namespace began to go meanwhile.
                if error.code not in (403, 404):
                    raise

    # Deletion

    async def _empty(self, name: str) -> None:
        remaining: dict[str, int] = {}
        failures: list[ApiError] = []
        for resource in self._held(name):
            for key in self._core.store.table(resource.table).select(f"{name}/"):
                try:
                    await self._internal.delete(
                        resource, name, key.rpartition("/")[2], Options(policy="Background")
                    )
                except ApiError as error:
                    # One that somebody keeps from going does not hold up the others.
                    failures.append(error)
            left = len(self._core.store.table(resource.table).select(f"{name}/"))
            if left:
                remaining[resource.table] = left
        if remaining:
            await self._tell(name, remaining)
        else:
            await self._release(name)
        if failures:
            raise failures[0]

    def _held(self, name: str) -> list[Resource]:
        """Resources with objects there; pods go first, so that what they use outlives them."""
        held = []
        for table, count in self._core.store.counts():
            resource = self._core.registry.by_table(table)
            if count and resource is not None and resource.namespaced:
                held.append(resource)
        return sorted(held, key=lambda resource: resource.table != "pods")

    async def _release(self, name: str) -> None:
        def drop(obj: Object) -> None:
            spec = obj.setdefault("spec", {})
            spec["finalizers"] = [f for f in spec.get("finalizers") or () if f != FINALIZER]

        await self._internal.edit(self._resource, "", name, drop, aspect=FINALIZE)

    async def _tell(self, name: str, remaining: dict[str, int]) -> None:
        now = self._core.now()
        parts = ", ".join(
            f"{table if '.' in table else table + '.'} has {count} resource instances"
            for table, count in sorted(remaining.items())
        )
        told = {
            **NOTHING_FAILED,
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                f"Some resources are remaining: {parts}",
            ),
            "NamespaceFinalizersRemaining": self._finalizers_left(name, remaining),
        }

        def tell(obj: Object) -> None:
            conditions = obj.setdefault("status", {}).setdefault("conditions", [])
            for kind, (status, reason, message) in told.items():
                fresh = {
                    "type": kind,
                    "status": status,
                    "lastTransitionTime": now,
                    "reason": reason,
                    "message": message,
                }
                before = next((c for c in conditions if c["type"] == kind), None)
                if before is None:
                    conditions.append(fresh)
                elif (before["status"], before["message"]) != (status, message):
                    before.update(fresh)

        await self._internal.edit_status(self._resource, "", name, tell)

    def _finalizers_left(self, name: str, remaining: dict[str, int]) -> tuple[str, str, str]:
        counts: dict[str, int] = {}
        for table in remaining:
            for key in self._core.store.table(table).select(f"{name}/"):
                held = self._core.get(table, key) or {"metadata": {}}
                for finalizer in held["metadata"].get("finalizers") or ():
                    counts[finalizer] = counts.get(finalizer, 0) + 1
        if not counts:
            return "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"
        parts = ", ".join(f"{key} in {counts[key]} resource instances" for key in sorted(counts))
        text = f"Some content in the namespace has finalizers remaining: {parts}"
        return "True", "SomeFinalizersRemain", text

    @property
    def _resource(self) -> Resource:
        found = self._core.registry.by_table("namespaces")
        assert found is not None
        return found


def _service_account(namespace: str) -> Object:
    return {
        "kind": "ServiceAccount",
        "apiVersion": "v1",
        "metadata": {"name": "default", "namespace": namespace},
    }


def _root_certificate(namespace: str, authority: bytes) -> Object:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": ROOT_CERTIFICATE,
            "namespace": namespace,
            "annotations": {
                ROOT_ANNOTATION: "The certificate that clients verify this API server by."
            },
        },
        "data": {"ca.crt": authority.decode()},
    }
