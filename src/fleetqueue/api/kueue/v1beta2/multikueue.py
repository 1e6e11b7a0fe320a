"""MultiKueueConfig and MultiKueueCluster: the clusters that a check sends workloads to."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kinds import AGE, Column, Kind, Resource
from fleetqueue.api.kueue.group import CONVERSION, GROUP, UNIQUE, BoundedConditions
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model

ClusterName = Annotated[str, Schema(max_length=256)]


class QuotaManagement(StrEnum):
    """Who keeps the quota of the manager equal to that of its workers."""

    MANUAL = "Manual"
    AUTOMATED = "Automated"


class MultiKueueConfigSpec(Model):
    """The worker clusters, in order of preference."""

    clusters: Annotated[
        list[ClusterName],
        Schema(min_items=1, max_items=20, list_type="atomic", required=True),
        UNIQUE,
    ] = []
    quota_management: QuotaManagement | None = None


class MultiKueueConfig(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "multikueueconfigs",
        scope="Cluster",
        short_names=("mkconf",),
        storage=True,
    ),
):
    """A list of worker clusters."""

    spec: MultiKueueConfigSpec = MultiKueueConfigSpec()


class LocationType(StrEnum):
    """Where a kubeconfig is kept."""

    SECRET = "Secret"
    PATH = "Path"


class KubeConfig(Model):
    """A Secret or a file with a kubeconfig."""

    location: Annotated[str, Schema(min_length=1, max_length=256)]
    location_type: Annotated[LocationType, Schema(default=LocationType.SECRET)] = (
        LocationType.SECRET
    )


class ClusterProfileReference(Model):
    """The ClusterProfile that says how to reach a cluster."""

    name: Annotated[str, Schema(min_length=1, max_length=256)]


@schema(
    Rule(
        "has(self.kubeConfig) != has(self.clusterProfileRef)",
        "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
    )
)
class ClusterSource(Model):
    """How to reach the cluster."""

    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileReference | None = None


class MultiKueueClusterSpec(Model):
    """Where the cluster is."""

    cluster_source: Annotated[ClusterSource, Schema(required=True)] = ClusterSource()


class MultiKueueClusterStatus(Model):
    """Whether the cluster is connected."""

    conditions: BoundedConditions = []


class MultiKueueCluster(
    Resource,
    kind=Kind(
        GROUP,
        "v1beta2",
        "multikueueclusters",
        scope="Cluster",
        short_names=("mkc",),
        storage=True,
        status=True,
        columns=(Column("Connected", ".status.conditions[?(@.type=='Active')].status"), AGE),
        conversion=CONVERSION,
    ),
):
    """A worker cluster."""

    spec: MultiKueueClusterSpec = MultiKueueClusterSpec()
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()
