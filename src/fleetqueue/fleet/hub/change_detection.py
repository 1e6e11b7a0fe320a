"""Notices that a selected object changed, that a kind came or went, and says which placements have
to select again.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fleetqueue.api.meta import Key
from fleetqueue.fleet.decide.interests import Interests, matters
from fleetqueue.fleet.hub.selecting import CATALOGUE_SECONDS, Selector
from fleetqueue.kube.catalogue import Catalogue
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.late_kinds import served_kinds, slim
from fleetqueue.kube.resources import CRDS, NAMESPACES, Object, Resource, key_of

Wake = Callable[[Key], None]
RETRY_SECONDS = 5.0


@dataclass
class Audience:
    """The placements of one scope, and how one of them is told to select again."""

    wake: Wake
    interests: Interests = field(default_factory=Interests)

    def placement_changed(self, old: Object | None, new: Object | None) -> None:
        """A listener for the placements themselves."""
        if new is None:
            assert old is not None
            self.interests.drop(key_of(old))
        elif old is None or _terms(old) != _terms(new):
            self.interests.put(key_of(new), _terms(new))


class ChangeDetection:
    """Listens to every kind that is selected; `run` follows the kinds that there are."""

    def __init__(self, selector: Selector, audiences: Iterable[Audience] = ()) -> None:
        self.audiences = list(audiences)
        self._selector = selector
        self._cluster = selector.cluster
        self._heard: set[Resource] = set()
        self._known: Catalogue | None = None
        self._stale = asyncio.Event()
        self._is_refreshing = False
        selector.on_follow = self._follow
        self._definitions: Informer[Object] = Informer(
            self._cluster.client, CRDS, random=self._cluster.random, transform=slim
        )
        self._definitions.listen(self._definition_changed)

    async def run(self) -> None:
        """For `Manager.add_task`."""
        following = asyncio.create_task(self._definitions.run())
        try:
            while True:
                self._stale.clear()
                seconds = await self._refresh()
                try:
                    async with asyncio.timeout(seconds):
                        await self._stale.wait()
                except TimeoutError:
                    continue
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    @property
    def is_busy(self) -> bool:
        return self._is_refreshing or self._stale.is_set()

    async def _refresh(self) -> float:
        self._is_refreshing = True
        try:
            now = await self._selector.catalogue(0.0)
        except KubeError:
            return RETRY_SECONDS
        finally:
            self._is_refreshing = False
        before, self._known = self._known, now
        if before is not None:
            self._tell_kinds(set(before.served.values()) ^ set(now.served.values()))
        return CATALOGUE_SECONDS

    def _tell_kinds(self, changed: Iterable[Resource]) -> None:
        for resource in changed:
            for audience in self.audiences:
                for key in audience.interests.of_kind(
                    resource.group, resource.kind, is_namespaced=resource.namespaced
                ):
                    audience.wake(key)

    def _definition_changed(self, old: Object | None, new: Object | None) -> None:
        before = set() if old is None else set(served_kinds(old))
        if before != (set() if new is None else set(served_kinds(new))):
            self._stale.set()

    def _follow(self, resource: Resource, informer: Informer[Object]) -> None:
        if resource in self._heard:
            return
        self._heard.add(resource)
        is_replayed = True

        def changed(old: Object | None, new: Object | None) -> None:
            # Whoever selects this kind waits for the whole of it first.
            if informer.has_synced and not is_replayed and matters(old, new):
                self._tell(resource, [each for each in (old, new) if each is not None])

        informer.listen(changed)
        is_replayed = False

    def _tell(self, resource: Resource, objects: Iterable[Object]) -> None:
        for audience in self.audiences:
            found: dict[Key, None] = {}
            for obj in objects:
                home = self._namespace(obj)
                found |= dict.fromkeys(
                    sorted(audience.interests.of(resource.group, resource.kind, obj, home))
                )
            for key in found:
                audience.wake(key)

    def _namespace(self, obj: Object) -> Object | None:
        name = obj["metadata"].get("namespace")
        if not name or NAMESPACES not in self._heard:
            return None
        return self._cluster.cached(NAMESPACES, name)


def _terms(placement: Object) -> list[Object]:
    return list(placement["spec"].get("resourceSelectors") or ())
