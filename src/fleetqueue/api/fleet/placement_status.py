"""What a placement reports: selected objects, and per cluster what failed, drifted or differs.

v1 and v1beta1 differ only in the kinds of envelopes that an identifier names; the classes here that
name no envelope are what both have in common.
"""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Condition, Conditions
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int64, Time


class EnvelopeType(StrEnum):
    """The kinds that wrap objects; ConfigMap is a legacy of v1beta1."""

    CONFIG_MAP = "ConfigMap"
    CLUSTER_RESOURCE_ENVELOPE = "ClusterResourceEnvelope"
    RESOURCE_ENVELOPE = "ResourceEnvelope"


class EnvelopeIdentifier(Model):
    """The envelope that an object came in."""

    name: str
    namespace: str = ""
    type: Annotated[EnvelopeType | None, Schema(default=EnvelopeType.CONFIG_MAP)] = None


class ObjectIdentity(Model):
    """Which object it is."""

    group: str = ""
    version: str
    kind: str
    name: str
    namespace: str = ""


class PatchDetail(Model):
    """One field whose value on the member is not the one on the hub."""

    path: str
    value_in_member: str = ""
    value_in_hub: str = ""


class Failure(ObjectIdentity):
    """Why an object is not applied or not available."""

    condition: Condition


class Drift(ObjectIdentity):
    """How somebody changed an object on the member."""

    observation_time: Time
    target_cluster_observed_generation: Int64
    first_drifted_observed_time: Time
    observed_drifts: list[PatchDetail] = []


class Difference(ObjectIdentity):
    """How an object on the member differs from the one on the hub."""

    observation_time: Time
    target_cluster_observed_generation: Int64 | None = None
    first_diffed_observed_time: Time
    observed_diffs: list[PatchDetail] = []


class ResourceIdentifier(ObjectIdentity):
    """An object that the placement selected."""

    envelope: EnvelopeIdentifier | None = None


class FailedResourcePlacement(Failure):
    """An object that is not applied or not available, and why."""

    envelope: EnvelopeIdentifier | None = None


class DriftedResourcePlacement(Drift):
    """An object that somebody changed on the member."""

    envelope: EnvelopeIdentifier | None = None


class DiffedResourcePlacement(Difference):
    """An object that differs from the one on the hub."""

    envelope: EnvelopeIdentifier | None = None


FailedPlacements = Annotated[list[FailedResourcePlacement], Schema(max_items=100)]
DriftedPlacements = Annotated[list[DriftedResourcePlacement], Schema(max_items=100)]
DiffedPlacements = Annotated[list[DiffedResourcePlacement], Schema(max_items=100)]


class NamespacedName(Model):
    """The place of an object in a namespace."""

    name: str
    namespace: str


class ClusterReport(Model):
    """How the placement stands on one cluster, without the objects in trouble."""

    cluster_name: str = ""
    observed_resource_index: str = ""
    applicable_resource_overrides: list[NamespacedName] = []
    applicable_cluster_resource_overrides: list[str] = []
    conditions: list[Condition] = []


class PerClusterPlacementStatus(ClusterReport):
    """How the placement stands on one cluster."""

    failed_placements: FailedPlacements = []
    drifted_placements: DriftedPlacements = []
    diffed_placements: DiffedPlacements = []


class PlacementStatus(Model):
    """What was selected, and how it stands on every cluster."""

    selected_resources: list[ResourceIdentifier] = []
    observed_resource_index: str = ""
    placement_statuses: list[PerClusterPlacementStatus] = []
    conditions: Conditions = []
