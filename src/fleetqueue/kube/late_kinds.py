"""Kinds that a cluster gets, or loses, while controllers run: their caches rest until the
definition is there.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from fleetqueue.kube.calls import Selection
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import UnknownKind
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import CRDS, Object, Resource

log = logging.getLogger(__name__)


class LateKinds:
    """`look` before the cluster is started; `run` follows the definitions afterwards."""

    def __init__(
        self,
        cluster: Cluster,
        may_be_missing: Callable[[Resource], bool],
        *,
        random: Random,
        selection: Selection | None = None,
    ) -> None:
        """`selection`: which definitions are followed, where not all have to be read."""
        self._cluster = cluster
        self._may_be_missing = may_be_missing
        self._definitions: Informer[Any] = Informer(
            cluster.client, CRDS, random=random, selection=selection, transform=slim
        )
        self._definitions.listen(self._changed)

    async def look(self) -> list[Resource]:
        """Holds the kinds that are not served; which those are."""
        missing = [kind for kind in self._watched() if not await self._is_served(kind)]
        for kind in missing:
            self._cluster.hold(kind)
        if missing:
            log.info("kinds are not served yet: %s", ", ".join(str(kind) for kind in missing))
        return missing

    async def run(self) -> None:
        """For `Manager.add_task`; ends only when it is cancelled."""
        following = asyncio.create_task(self._definitions.run())
        try:
            await self._definitions.wait_synced()
            # What went between the first look and the list left no trace.
            for kind in self._watched():
                if self._cluster.is_held(kind) and await self._is_served(kind):
                    self._let_go(kind)
            await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        before = set() if old is None else set(served_kinds(old))
        now = set() if new is None else set(served_kinds(new))
        for kind in self._watched():
            if _is_among(kind, now) and self._cluster.is_held(kind):
                self._let_go(kind)
            elif _is_among(kind, before) and not _is_among(kind, now):
                log.info("a kind is no longer served: %s", kind)
                self._cluster.hold(kind)

    def _let_go(self, kind: Resource) -> None:
        log.info("a kind is served now: %s", kind)
        self._cluster.let_go(kind)

    def _watched(self) -> list[Resource]:
        return [kind for kind in self._cluster.kinds() if self._may_be_missing(kind)]

    async def _is_served(self, kind: Resource) -> bool:
        try:
            found = await self._cluster.client.discovery.resource(kind.api_version, kind.kind)
        except UnknownKind:
            return False
        is_it = _is_among(kind, {found})
        if not is_it:
            log.warning("%s is served as %s and cannot be followed", kind, found)
        return is_it


def _is_among(kind: Resource, served: set[Resource]) -> bool:
    """Of a guess only the plural may be another."""
    if not kind.is_guess:
        return kind in served
    names = {(each.api_version, each.kind) for each in served}
    return (kind.api_version, kind.kind) in names


def served_kinds(definition: Object) -> Iterable[Resource]:
    """What a definition, slim or whole, has the server answer."""
    status = definition.get("status") or {}
    conditions = status.get("conditions") or ()
    if not any(e["type"] == "Established" and e["status"] == "True" for e in conditions):
        return
    spec, names = definition["spec"], definition["spec"]["names"]
    for version in spec["versions"]:
        if version.get("served"):
            yield Resource(
                spec["group"],
                version["name"],
                names["plural"],
                names["kind"],
                spec["scope"] == "Namespaced",
            )


def slim(definition: Object) -> Object:
    """Without the schemas, which are nearly all of it."""
    metadata, spec = definition["metadata"], definition["spec"]
    kept = ("name", "uid", "resourceVersion")
    return {
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {
            **{name: spec[name] for name in ("group", "names", "scope")},
            "versions": [
                {"name": each["name"], "served": each.get("served")} for each in spec["versions"]
            ],
        },
        "status": {"conditions": (definition.get("status") or {}).get("conditions") or []},
    }
