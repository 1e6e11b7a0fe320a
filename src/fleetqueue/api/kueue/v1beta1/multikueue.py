"""MultiKueueConfig and MultiKueueCluster as v1beta1 has them."""

from dataclasses import replace
from typing import Annotated

from fleetqueue.api.kinds import Resource
from fleetqueue.api.kueue import v1beta2
from fleetqueue.api.kueue.group import deprecated
from fleetqueue.api.kueue.v1beta2.multikueue import ClusterProfileReference, LocationType
from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model, sent


class MultiKueueConfigSpec(Model):
    """The worker clusters."""

    clusters: Annotated[
        list[str], Schema(min_items=1, max_items=20, list_type="set", required=True)
    ] = []


class MultiKueueConfig(
    Resource,
    kind=replace(deprecated(v1beta2.MultiKueueConfig), deprecated=False, deprecation_warning=""),
):
    """A list of worker clusters; the one kind whose v1beta1 is served without a warning."""

    spec: MultiKueueConfigSpec = MultiKueueConfigSpec()


class KubeConfig(Model):
    """A Secret or a file with a kubeconfig."""

    location: Annotated[str, Schema(required=True)] = sent(default_factory=str)
    location_type: Annotated[LocationType, Schema(default=LocationType.SECRET, required=True)] = (
        sent(default_factory=lambda: LocationType.SECRET)
    )


class MultiKueueClusterSpec(Model):
    """Where the cluster is."""

    kube_config: Annotated[KubeConfig, Schema(required=True)] = sent(default_factory=KubeConfig)
    cluster_profile_ref: ClusterProfileReference | None = None


class MultiKueueClusterStatus(Model):
    """Whether the cluster is connected."""

    conditions: Conditions = []


class MultiKueueCluster(Resource, kind=deprecated(v1beta2.MultiKueueCluster)):
    """A worker cluster."""

    spec: MultiKueueClusterSpec = MultiKueueClusterSpec()
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()
