"""Evictions of a placement from a cluster, and the budgets that hold them back."""

from typing import Annotated

from fleetqueue.api.fleet.group import condition_column, immutable, placement_kind
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Rule, Schema, schema
from fleetqueue.api.meta import Condition
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import IntOrString


class PlacementEvictionSpec(Model):
    """Which placement leaves which cluster."""

    placement_name: Annotated[
        str, Schema(max_length=255), immutable("The PlacementName field is immutable")
    ]
    cluster_name: Annotated[
        str, Schema(max_length=255), immutable("The ClusterName field is immutable")
    ]


class PlacementEvictionStatus(Model):
    """Whether the eviction is valid, and whether it was carried out."""

    conditions: list[Condition] = []


class ClusterResourcePlacementEviction(
    Resource,
    kind=placement_kind(
        "clusterresourceplacementevictions",
        scope="Cluster",
        short_names=("crpe",),
        status=True,
        columns=(condition_column("Valid", "Valid"), condition_column("Executed", "Executed")),
    ),
):
    """Takes a ClusterResourcePlacement off one cluster, once."""

    spec: PlacementEvictionSpec
    status: PlacementEvictionStatus | None = None


Share = Annotated[
    IntOrString,
    Rule(
        "type(self) == string ? self.matches('^(100|[0-9]{1,2})%$') : self >= 0",
        "If supplied value is String should match regex '^(100|[0-9]{1,2})%$'"
        " or If supplied value is Integer must be greater than or equal to 0",
    ),
]
"""A number of clusters, or a percentage of them."""


@schema(
    Rule(
        "!has(self.maxUnavailable) || !has(self.minAvailable)",
        "Both MaxUnavailable and MinAvailable cannot be specified",
    )
)
class PlacementDisruptionBudgetSpec(Model):
    """How many clusters evictions must leave alone."""

    max_unavailable: Share | None = None
    min_available: Share | None = None


class ClusterResourcePlacementDisruptionBudget(
    Resource,
    kind=placement_kind(
        "clusterresourceplacementdisruptionbudgets", scope="Cluster", short_names=("crpdb",)
    ),
):
    """Holds back evictions of the ClusterResourcePlacement of the same name."""

    spec: PlacementDisruptionBudgetSpec
