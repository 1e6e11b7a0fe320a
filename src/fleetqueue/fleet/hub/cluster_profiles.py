"""Shows each member that has joined as a ClusterProfile, for tools that read the inventory of
clusters.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from fleetqueue.api.fleet import labels, naming
from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import profiles
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.writes import holds
from fleetqueue.metrics.registry import Metrics

CLUSTER_PROFILES = Resource(
    "multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile"
)


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    if settings.enable_cluster_inventory:
        manager.add(ClusterProfileController(manager.cluster, settings))


class ClusterProfileController(Controller[Object]):
    """Woken by a member and by its profile."""

    kind = kinds.MEMBER_CLUSTER
    watches = (
        Watch(
            CLUSTER_PROFILES,
            wakes=lambda profile: _members_of(profile),
            namespace=naming.SYSTEM_NAMESPACE,
        ),
    )

    def __init__(self, cluster: Cluster, settings: HubSettings) -> None:
        self.cluster = cluster
        self._unhealthy_after = timedelta(seconds=settings.cluster_unhealthy_seconds)

    async def reconcile(self, member: Object, /) -> Result:
        if finalizers.is_deleting(member):
            return await self._remove(member)
        if not profiles.is_exported(member):
            return DONE
        if patch := finalizers.added(member, labels.CLUSTER_PROFILE_FINALIZER):
            await self.cluster.patch(kinds.MEMBER_CLUSTER, key_of(member).name, patch)
        profile = await self._ensure(member)
        return await self._describe(profile, member)

    async def _ensure(self, member: Object) -> Object:
        name = key_of(member).name
        wanted = {"metadata": {"labels": profiles.wanted_labels()}, "spec": profiles.spec(member)}
        found = self.cluster.cached(CLUSTER_PROFILES, name, naming.SYSTEM_NAMESPACE)
        if found is None:
            metadata = {
                "name": name,
                "namespace": naming.SYSTEM_NAMESPACE,
                "labels": profiles.wanted_labels(),
            }
            kind = {"apiVersion": CLUSTER_PROFILES.api_version, "kind": CLUSTER_PROFILES.kind}
            made: Object = await self.cluster.create({**kind, **wanted, "metadata": metadata})
            return made
        if holds(found, wanted):
            return found
        patched: Object = await self.cluster.patch(
            CLUSTER_PROFILES, name, wanted, naming.SYSTEM_NAMESPACE
        )
        return patched

    async def _describe(self, profile: Object, member: Object) -> Result:
        now = self.cluster.clock.now()
        status = profiles.status(profile, member, now, self._unhealthy_after)
        if status != profile.get("status"):
            written = await self.cluster.client.update(
                {**profile, "status": status}, subresource="status", resource=CLUSTER_PROFILES
            )
            self.cluster.accept(written)
        expiry = profiles.expires_at(member, self._unhealthy_after)
        return DONE if expiry is None or expiry <= now else Result(expiry - now)

    async def _remove(self, member: Object) -> Result:
        if labels.CLUSTER_PROFILE_FINALIZER not in finalizers.finalizers_of(member):
            return DONE
        name = key_of(member).name
        with suppress(NotFound):
            await self.cluster.delete(CLUSTER_PROFILES, name, naming.SYSTEM_NAMESPACE)
        patch = finalizers.removed(member, labels.CLUSTER_PROFILE_FINALIZER)
        if patch is not None:
            await self.cluster.patch(kinds.MEMBER_CLUSTER, name, patch)
        return DONE


def _members_of(profile: Object) -> Iterable[Key]:
    return [Key("", key_of(profile).name)]
