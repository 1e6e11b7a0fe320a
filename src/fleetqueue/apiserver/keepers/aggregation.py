"""Keeps the rules of ClusterRoles that gather those of others."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.access.aggregation import FIELD_MANAGER, outdated
from fleetqueue.apiserver.keepers.working import WorkingKeeper
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]

TABLE = "clusterroles.rbac.authorization.k8s.io"
_ALL = "all"


class AggregationKeeper(WorkingKeeper):
    """Any change of a ClusterRole may change what others gather."""

    work_name = "aggregated roles"
    tables = (TABLE,)

    def start(self) -> None:
        self._work.add(_ALL)

    def follow(self, changes: Sequence[Change]) -> None:
        if any(change.resource == TABLE for change in changes):
            self._work.add(_ALL)

    async def _attend(self, _: str) -> None:
        store = self._core.store
        roles = [store.decoded(stored) for stored in store.table(TABLE).live.values()]
        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        for name, rules in outdated(roles).items():

            def gather(obj: Object, rules: list[Object] = rules) -> None:
                obj["rules"] = rules

            await self._internal.edit(resource, "", name, gather, manager=FIELD_MANAGER)
