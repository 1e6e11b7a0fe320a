"""Snapshots of what a placement said: the policies it had, and the objects it selected."""

from typing import Annotated

import msgspec

from fleetqueue.api.fleet.group import GENERATION, placement_kind
from fleetqueue.api.fleet.policy import PlacementPolicy
from fleetqueue.api.kinds import AGE, Resource
from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import EmbeddedResource, Int32, Int64

Hash = Annotated[str, Schema(format="byte")]
"""Bytes, in base64."""


class SchedulingPolicySnapshotSpec(Model):
    """The policy without the number of clusters, and its hash."""

    policy: PlacementPolicy | None = None
    policy_hash: Hash


class ClusterScore(Model):
    """How well a cluster suits: by affinity, and by spread."""

    affinity_score: Int32 | None = None
    priority_score: Int32 | None = None


class ClusterDecision(Model):
    """Whether a cluster was picked, and why or why not."""

    cluster_name: str
    selected: bool
    cluster_score: ClusterScore | None = None
    reason: str


class SchedulingPolicySnapshotStatus(Model):
    """What the scheduler decided."""

    observed_crp_generation: Int64 = msgspec.field(name="observedCRPGeneration")
    conditions: Conditions = []
    target_clusters: Annotated[list[ClusterDecision], Schema(max_items=1000)] = []


class ClusterSchedulingPolicySnapshot(
    Resource,
    kind=placement_kind(
        "clusterschedulingpolicysnapshots",
        scope="Cluster",
        short_names=("csps",),
        status=True,
        columns=(GENERATION, AGE),
    ),
):
    """A policy that a ClusterResourcePlacement has or had, and the clusters it led to."""

    spec: SchedulingPolicySnapshotSpec
    status: SchedulingPolicySnapshotStatus | None = None


class SchedulingPolicySnapshot(
    Resource,
    kind=placement_kind(
        "schedulingpolicysnapshots",
        short_names=("sps",),
        status=True,
        columns=(GENERATION, AGE),
    ),
):
    """A policy that a ResourcePlacement has or had, and the clusters it led to."""

    spec: SchedulingPolicySnapshotSpec
    status: SchedulingPolicySnapshotStatus | None = None


class ResourceSnapshotSpec(Model):
    """The objects, stripped of what belongs to the hub alone."""

    selected_resources: list[EmbeddedResource]


class ResourceSnapshotStatus(Model):
    """What is known of the snapshot."""

    conditions: Conditions = []


class ClusterResourceSnapshot(
    Resource,
    kind=placement_kind(
        "clusterresourcesnapshots",
        scope="Cluster",
        short_names=("crs",),
        status=True,
        columns=(GENERATION, AGE),
    ),
):
    """Objects that a ClusterResourcePlacement selects or selected, or one part of them."""

    spec: ResourceSnapshotSpec
    status: ResourceSnapshotStatus | None = None


class ResourceSnapshot(
    Resource,
    kind=placement_kind(
        "resourcesnapshots", short_names=("rs",), status=True, columns=(GENERATION, AGE)
    ),
):
    """Objects that a ResourcePlacement selects or selected, or one part of them."""

    spec: ResourceSnapshotSpec
    status: ResourceSnapshotStatus | None = None
