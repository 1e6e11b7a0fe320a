"""Quota: groups of resources, the flavors that provide them, and shares of it that queues get."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.kueue.group import ResourceFlavorReference, ResourceName
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int64, Quantity


class StopPolicy(StrEnum):
    """Whether a queue admits, and what becomes of the workloads that it admitted before."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class ResourceQuota(Model):
    """How much of one resource in one flavor is owned, may be borrowed, and may be lent."""

    name: ResourceName
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Model):
    """The quotas of one flavor."""

    name: ResourceFlavorReference
    resources: Annotated[
        list[ResourceQuota],
        Schema(min_items=1, max_items=64, list_type="map", list_keys=("name",)),
    ]


@schema(
    Rule(
        "self.flavors.all(flavor, size(flavor.resources) == size(self.coveredResources))",
        "flavors must have the same number of resources as the coveredResources",
    )
)
class ResourceGroup(Model):
    """Resources that a workload takes from one flavor together, and the flavors to choose from."""

    covered_resources: Annotated[
        list[ResourceName], Schema(min_items=1, max_items=64, list_type="atomic")
    ]
    flavors: Annotated[
        list[FlavorQuotas],
        Schema(min_items=1, max_items=64, list_type="map", list_keys=("name",)),
    ]


ResourceGroups = Annotated[list[ResourceGroup], Schema(max_items=16, list_type="atomic")]


class FairSharing(Model):
    """How much a queue or cohort counts against its siblings when they compete."""

    weight: Annotated[Quantity, Schema(default=1)] = sent(default_factory=lambda: 1)


class FairSharingStatus(Model):
    """How far above its weight a queue or cohort borrows at present."""

    weighted_share: Int64
