"""Keeps the rules of ClusterRoles that gather those of others."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.apiserver.access.aggregation import FIELD_MANAGER, outdated
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.internal import Internal
from fleetqueue.apiserver.keepers import WorkList
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]

TABLE = "clusterroles.rbac.authorization.k8s.io"
_ALL = "all"


class AggregationKeeper:
    """Any change of a ClusterRole may change what others gather."""

    def __init__(self, core: Core, internal: Internal) -> None:
        self._core = core
        self._internal = internal
        self._work = WorkList("aggregated roles", self._attend)

    @property
    def is_idle(self) -> bool:
        return self._work.is_idle

    def start(self) -> None:
        self._work.add(_ALL)

    def follow(self, changes: Sequence[Change]) -> None:
        if any(change.resource == TABLE for change in changes):
            self._work.add(_ALL)

    async def stop(self) -> None:
        await self._work.stop()

    async def _attend(self, _: str) -> None:
        store = self._core.store
        roles = [store.decoded(stored) for stored in store.table(TABLE).live.values()]
        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        for name, rules in outdated(roles).items():

            def gather(obj: Object, rules: list[Object] = rules) -> None:
                obj["rules"] = rules

            await self._internal.edit(resource, "", name, gather, manager=FIELD_MANAGER)
