"""Finds the objects that a placement selects, in caches that begin when somebody first asks for
their kind.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial

from fleetqueue.errors import ClusterError, UserError
from fleetqueue.fleet.decide import propagation, selection
from fleetqueue.fleet.decide.delivery import plans
from fleetqueue.fleet.decide.selection import Selected
from fleetqueue.fleet.kinds import Scope
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import catalogue
from fleetqueue.kube.catalogue import Catalogue
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.informer import Informer
from fleetqueue.kube.resources import NAMESPACES, Object, Resource

__all__ = ["NotFollowed", "Selected", "Selector", "UserError"]

CATALOGUE_SECONDS = 30.0
MISS_SECONDS = 1.0
"""How old the catalogue may be in which a kind is not found."""
SYNC_SECONDS_MAX = 30.0
NAMESPACE = "selected by namespace"
"""The index by which the contents of a namespace are found."""
SERVICES = Resource("", "v1", "services", "Service")


class NotFollowed(ClusterError):
    """A kind that is served cannot be read yet, or not in the version that is asked for."""


class Selector:
    """One for each controller that selects; the caches behind it are the cluster's."""

    def __init__(self, cluster: Cluster, settings: HubSettings) -> None:
        self.cluster = cluster
        self.settings = settings
        self.propagation = propagation.propagation(
            settings.skipped_apis,
            settings.allowed_apis,
            settings.skipped_namespaces,
            has_workloads=settings.enable_workload,
        )
        self.on_follow: Callable[[Resource, Informer[Object]], None] | None = None
        """Told of every kind that is read for the first time."""
        self._catalogue = Catalogue()
        self._content_kinds: list[Resource] = []
        """What is propagated with its namespace."""
        self._read_at: datetime | None = None
        self._reading = asyncio.Lock()
        self._followed: set[Resource] = set()

    async def select(self, scope: Scope, placement: Object) -> Selected:
        """Raises UserError, with the cause alone, where the selectors cannot be followed."""
        await self.catalogue(CATALOGUE_SECONDS)
        found: list[Object] = []
        terms = placement["spec"].get("resourceSelectors") or ()
        home = "" if scope.is_namespaced else selection.home(terms)
        for term in terms:
            found += await self._picked(scope, placement, term, home)
        if home and not any(each["kind"] == "Namespace" for each in found):
            raise UserError(
                f"invalid clusterResourcePlacement {_name(placement)}:"
                " NamespaceWithResourceSelectors mode requires exactly one namespace, but no"
                " namespaces were selected"
            )
        return selection.selected(found, is_job_aware=self.is_job_aware(placement))

    def is_job_aware(self, placement: Object) -> bool:
        """As the placement says it, or else as the hub was told at its start."""
        return plans.is_job_aware(placement, self.settings.is_job_aware)

    async def catalogue(self, age_seconds_max: float) -> Catalogue:
        """What the hub serves, as it was said not longer ago than that."""
        async with self._reading:
            now = self.cluster.clock.now()
            age = None if self._read_at is None else now - self._read_at
            if age is None or age >= timedelta(seconds=age_seconds_max):
                self._catalogue = await catalogue.read(self.cluster.client, self._catalogue)
                self._read_at = now
                self._hold_missing()
                self._content_kinds = [
                    each
                    for each in self._catalogue.preferred.values()
                    if each.namespaced
                    and self.propagation.allows_kind(each.group, each.version, each.kind)
                ]
            return self._catalogue

    async def _picked(
        self, scope: Scope, placement: Object, term: Object, home: str
    ) -> list[Object]:
        group, version, kind = term.get("group") or "", term["version"], term["kind"]
        if not self.propagation.allows_kind(group, version, kind):
            return []
        if selection.is_namespace(term):
            if scope.is_namespaced:
                raise UserError(
                    f"invalid placement {_name(placement)}: cannot select cluster-scoped resource"
                    " Namespace in a resourcePlacement"
                )
            return await self._namespaces(placement, term)
        resource = await self._resource(placement, term)
        _check_scope(scope, placement, resource, home)
        await self.follow(resource)
        where = _namespace(placement) if scope.is_namespaced else home
        return self._matching(placement, resource, term, where if resource.namespaced else "")

    async def _namespaces(self, placement: Object, term: Object) -> list[Object]:
        await self.follow(NAMESPACES)
        found = self._matching(placement, NAMESPACES, term, "")
        if selection.selection_scope(term) != selection.WITH_RESOURCES:
            return found
        for each in found:
            if not self.propagation.allows_namespace(each["metadata"]["name"]):
                raise UserError(
                    f"invalid clusterRresourcePlacement {_name(placement)}: namespace"
                    f" {each['metadata']['name']} is not allowed to propagate"
                )
        contents = await self._contents() if found else []
        return [
            *found,
            *(
                obj
                for namespace in found
                for resource in contents
                for obj in self._matching(placement, resource, {}, namespace["metadata"]["name"])
            ),
        ]

    async def _contents(self) -> list[Resource]:
        """The kinds that are propagated with their namespace, ready to be read."""
        found = self._content_kinds
        await self.follow(*found)
        return found

    def _matching(
        self, placement: Object, resource: Resource, term: Object, namespace: str
    ) -> list[Object]:
        found: Iterable[Object]
        allows = partial(
            self.propagation.allows_object,
            has_service=self._has_service,
            is_job_aware=self.is_job_aware(placement),
        )
        if term.get("name"):
            one = self.cluster.cached(resource, term["name"], namespace)
            found = [] if one is None else [one]
        elif resource.namespaced:
            found = self.cluster.cached_by(resource, NAMESPACE, namespace)
        else:
            found = self.cluster.cached_all(resource)
        return [
            _named(obj, resource)
            for obj in found
            if selection.matches(term, obj) and allows(_named(obj, resource))
        ]

    def _has_service(self, namespace: str, name: str) -> bool:
        if SERVICES not in self._followed:
            return False
        return self.cluster.cached(SERVICES, name, namespace) is not None

    async def _resource(self, placement: Object, term: Object) -> Resource:
        group, version, kind = term.get("group") or "", term["version"], term["kind"]
        found = self._catalogue.served.get((group, version, kind))
        if found is None:
            # A definition may have come just now.
            found = (await self.catalogue(MISS_SECONDS)).served.get((group, version, kind))
        if found is None:
            api_version = f"{group}/{version}" if group else version
            raise UserError(
                f"invalid placement {_name(placement)}, failed to get GVR of the selector:"
                f' no matches for kind "{kind}" in version "{api_version}"'
            )
        is_preferred = self._catalogue.preferred.get((group, kind)) == found
        sees_all = self.settings.observes_all_versions or self.is_job_aware(placement)
        if not is_preferred and not sees_all:
            raise NotFollowed(f"the hub prefers another version of {found} than {version}")
        return found

    async def follow(self, *resources: Resource) -> None:
        """Waits until these can be read from the cache."""
        informers = [self._informer(each) for each in resources]
        if SERVICES not in resources and any(each.kind == "Endpoints" for each in resources):
            informers.append(self._informer(SERVICES))
        waiting = [each for each in informers if not each.has_synced]
        if not waiting:
            return
        try:
            async with asyncio.timeout(SYNC_SECONDS_MAX):
                for informer in waiting:
                    await informer.wait_synced()
        except TimeoutError:
            missing = ", ".join(str(each.kind) for each in waiting if not each.has_synced)
            raise NotFollowed(f"no answer from the hub about {missing}") from None

    def _informer(self, resource: Resource) -> Informer[Object]:
        if self.cluster.is_held(resource):
            self.cluster.let_go(resource)
        if resource in self._followed:
            return self.cluster.informer(resource)
        indexes = {NAMESPACE: _namespaces} if resource.namespaced else None
        informer = self.cluster.informer(resource, indexes=indexes)
        self._followed.add(resource)
        if self.on_follow is not None:
            self.on_follow(resource, informer)
        return informer

    def _hold_missing(self) -> None:
        """Kinds that the hub no longer serves hold nothing; if they return, they begin anew."""
        served = set(self._catalogue.served.values())
        for resource in list(self._followed):
            if resource not in served:
                self.cluster.hold(resource)
                self._followed.discard(resource)


def _check_scope(scope: Scope, placement: Object, resource: Resource, home: str) -> None:
    if scope.is_namespaced and not resource.namespaced:
        raise UserError(
            f"invalid placement {_name(placement)}: cannot select cluster-scoped resource"
            f" {_shown(resource)} in a resourcePlacement"
        )
    if not scope.is_namespaced and resource.namespaced and not home:
        raise UserError(
            f"invalid placement {_name(placement)}: cannot select namespace-scoped resource"
            f" {_shown(resource)} in a clusterResourcePlacement"
        )


def _shown(resource: Resource) -> str:
    """As Go prints a resource of a version."""
    return f"{resource.group}/{resource.version}, Resource={resource.plural}"


def _named(obj: Object, resource: Resource) -> Object:
    """With its kind, which the items of a list go without."""
    if obj.get("kind") and obj.get("apiVersion"):
        return obj
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def _namespaces(obj: Object) -> Iterable[str]:
    return (str(obj["metadata"].get("namespace") or ""),)


def _namespace(placement: Object) -> str:
    return str(placement["metadata"].get("namespace") or "")


def _name(placement: Object) -> str:
    return selection.display_name(placement)
