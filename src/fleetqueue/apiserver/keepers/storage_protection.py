"""Lets claims, volumes and attribute classes go once nobody uses them any more."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks.storage import PROTECTION
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
ATTRIBUTES = "volumeattributesclasses.storage.k8s.io"
FINALIZERS = {
    CLAIMS: PROTECTION["", CLAIMS],
    VOLUMES: PROTECTION["", VOLUMES],
    ATTRIBUTES: PROTECTION["storage.k8s.io", "volumeattributesclasses"],
}


class StorageProtectionKeeper(WorkingKeeper):
    """Woken by what is being deleted, and by pods and claims whose end may free it."""

    work_name = "storage protection"
    tables = (*FINALIZERS, "pods")

    def __init__(self, core: Core, internal: Internal) -> None:
        super().__init__(core, internal)
        self._is_used: dict[str, Callable[[Object], bool]] = {
            CLAIMS: self._has_pod,
            VOLUMES: lambda volume: (volume.get("status") or {}).get("phase") == "Bound",
            ATTRIBUTES: self._has_claim,
        }

    def start(self) -> None:
        for table in FINALIZERS:
            self._wake(table)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource in FINALIZERS:
                if change.after is not None and _is_going(change.after.data):
                    self._work.add(f"{change.resource}|{change.stored.key}")
                if change.resource == CLAIMS:
                    self._wake(ATTRIBUTES)
            elif change.resource == "pods" and b'"persistentVolumeClaim"' in change.stored.data:
                self._wake(CLAIMS, change.stored.key.partition("/")[0] + "/")

    def _wake(self, table: str, prefix: str = "") -> None:
        held = self._core.store.table(table)
        for key in held.select(prefix) if held.live else ():
            if _is_going(held.live[key].data):
                self._work.add(f"{table}|{key}")

    async def _attend(self, where: str) -> None:
        table, _, key = where.partition("|")
        obj = self._core.get(table, key)
        if obj is None or "deletionTimestamp" not in obj["metadata"]:
            return
        finalizer = FINALIZERS[table]
        if finalizer not in (obj["metadata"].get("finalizers") or ()) or self._is_used[table](obj):
            return

        def release(changed: Object) -> None:
            finalizers = changed["metadata"].get("finalizers") or []
            changed["metadata"]["finalizers"] = [f for f in finalizers if f != finalizer]

        resource = self._core.registry.by_table(table)
        assert resource is not None
        namespace, _, name = key.rpartition("/")
        await self._internal.edit(resource, namespace, name, release)

    def _has_pod(self, claim: Object) -> bool:
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        for pod in self._living(f"{namespace}/", "pods", b'"persistentVolumeClaim"'):
            if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
                continue
            for volume in pod["spec"].get("volumes") or ():
                if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
                    return True
        return False

    def _has_claim(self, attributes: Object) -> bool:
        name = attributes["metadata"]["name"]
        for table in (CLAIMS, VOLUMES):
            for obj in self._living("", table, b'"volumeAttributesClassName"'):
                if obj["spec"].get("volumeAttributesClassName") == name:
                    return True
        return False

    def _living(self, prefix: str, table: str, word: bytes) -> Iterator[Object]:
        held = self._core.store.table(table)
        for key in held.select(prefix):
            if word in held.live[key].data:
                yield self._core.store.decoded(held.live[key])


def _is_going(data: bytes) -> bool:
    return b'"deletionTimestamp"' in data
