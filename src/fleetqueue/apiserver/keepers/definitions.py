"""Deletes the objects of a CRD that is being deleted, then lets the CRD go."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.custom import CLEANUP, TABLE
from fleetqueue.apiserver.deletes import Options
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]


class DefinitionKeeper(WorkingKeeper):
    """Empties CRDs that are going."""

    work_name = "custom resource cleanup"

    def start(self) -> None:
        for key, stored in self._core.store.table(TABLE).live.items():
            if b'"deletionTimestamp"' in stored.data:
                self._work.add(key)

    def follow(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource == TABLE and change.after is not None:
                if b'"deletionTimestamp"' in change.after.data:
                    self._work.add(change.stored.key)
            elif change.after is None and "." in change.resource:
                stored = self._core.store.get(TABLE, change.resource)
                if stored is not None and b'"deletionTimestamp"' in stored.data:
                    self._work.add(change.resource)

    async def _attend(self, name: str) -> None:
        crd = self._core.get(TABLE, name)
        if crd is None or "deletionTimestamp" not in crd["metadata"]:
            return
        if CLEANUP not in (crd["metadata"].get("finalizers") or ()):
            return
        failures = await self._empty(name)
        if not self._core.store.table(name).live:
            await self._release(name)
        elif failures:
            raise failures[0]

    async def _empty(self, name: str) -> list[ApiError]:
        """Delete what can be deleted; what somebody keeps from going does not hold up the rest."""
        failures: list[ApiError] = []
        resource = self._core.registry.by_table(name)
        if resource is None:
            return failures
        for key in list(self._core.store.table(name).keys):
            namespace, _, short = key.rpartition("/")
            try:
                await self._internal.delete(resource, namespace, short, Options())
            except ApiError as error:
                failures.append(error)
        return failures

    async def _release(self, name: str) -> None:
        def drop(obj: Object) -> None:
            kept = [f for f in obj["metadata"].get("finalizers") or () if f != CLEANUP]
            obj["metadata"]["finalizers"] = kept

        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        await self._internal.edit(resource, "", name, drop)
