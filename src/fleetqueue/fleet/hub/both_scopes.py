"""One queue for the placements of both scopes: those of a namespace have keys with a namespace, so
the two never meet.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import snapshots
from fleetqueue.fleet.hub import snapshot_lookup
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.resources import Object, Resource, key_of

Changed = Callable[[Object | None, Object | None], bool]


class PlacementController(Controller[Any]):
    """Looks at placements of either scope, one after the other; subclasses write `look`."""

    kind: ClassVar[Resource] = kinds.CLUSTER_SCOPE.placement

    def __init__(self, cluster: Cluster, scopes: Sequence[Scope]) -> None:
        self.cluster = cluster
        self.scopes = scopes
        for scope in scopes:
            snapshot_lookup.follow(cluster, scope)
        self.watches = (
            *(Watch(scope.placement, _itself, when=self.wanted) for scope in scopes[1:]),
            *(watch for scope in scopes for watch in self.watches_of(scope)),
        )

    async def look(self, scope: Scope, placement: Object) -> Result:
        """What to do for a placement that is there."""
        raise TypeError(f"{self.name} looks at nothing")

    async def look_after(self, scope: Scope, key: Key) -> Result:
        """What to do for one that is not."""
        return DONE

    def watches_of(self, scope: Scope) -> Sequence[Watch]:
        """What else wakes a placement of this scope."""
        return ()

    async def reconcile(self, placement: Object, /) -> Result:
        return await self.look(kinds.CLUSTER_SCOPE, placement)

    async def gone(self, key: Key, /) -> Result:
        """There is no such ClusterResourcePlacement; a key with a namespace never means one."""
        if not key.namespace:
            return await self.look_after(kinds.CLUSTER_SCOPE, key)
        scope = kinds.NAMESPACED
        if scope not in self.scopes:
            return DONE
        placement = self.cluster.cached(scope.placement, key.name, key.namespace)
        if placement is None:
            return await self.look_after(scope, key)
        return await self.look(scope, placement)


def scopes_of(settings: HubSettings) -> Sequence[Scope]:
    return kinds.SCOPES if settings.enable_resource_placement else (kinds.CLUSTER_SCOPE,)


def belonging(kind: Resource, when: Changed) -> Watch:
    """A kind whose objects name their placement by a label."""
    return Watch(kind, _parent, when=when)


async def together(*doing: Awaitable[Any]) -> None:
    """All of them, whatever becomes of each; then the first error."""
    for done in await asyncio.gather(*doing, return_exceptions=True):
        if isinstance(done, BaseException):
            raise done


def _parent(obj: Object) -> list[Key]:
    name = snapshots.placement_of(obj)
    return [Key(key_of(obj).namespace, name)] if name else []


def _itself(placement: Object) -> list[Key]:
    return [key_of(placement)]
