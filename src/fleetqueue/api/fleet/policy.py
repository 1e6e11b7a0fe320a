"""Which clusters a placement picks: policy, affinity, spread and tolerations."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet.cluster import TaintEffect
from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32


class PlacementType(StrEnum):
    """How clusters are picked."""

    PICK_ALL = "PickAll"
    PICK_N = "PickN"
    PICK_FIXED = "PickFixed"


class PropertySortOrder(StrEnum):
    """Whether less or more of a property is better."""

    ASCENDING = "Ascending"
    DESCENDING = "Descending"


class UnsatisfiableAction(StrEnum):
    """What to do when a spread constraint cannot be met."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class TolerationOperator(StrEnum):
    """How a toleration compares with a taint."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class PropertySelectorRequirement(Model):
    """One comparison of a property with a value."""

    name: str
    operator: str
    values: Annotated[list[str], Schema(max_items=1)]


class PropertySelector(Model):
    """Clusters whose properties meet all of these requirements."""

    match_expressions: list[PropertySelectorRequirement]


class PropertySorter(Model):
    """Ranks clusters by a property."""

    name: str
    sort_order: PropertySortOrder


class ClusterSelectorTerm(Model):
    """Clusters that meet all parts of the term."""

    label_selector: LabelSelector | None = None
    property_selector: PropertySelector | None = None
    property_sorter: PropertySorter | None = None


class ClusterSelector(Model):
    """Clusters that meet any of the terms."""

    cluster_selector_terms: Annotated[list[ClusterSelectorTerm], Schema(max_items=10)]


class PreferredClusterSelector(Model):
    """Clusters that are liked, or disliked if the weight is negative."""

    weight: Annotated[Int32, Schema(minimum=-100, maximum=100)]
    preference: ClusterSelectorTerm


class ClusterAffinity(Model):
    """What clusters must have, and what is nice to have."""

    required_during_scheduling_ignored_during_execution: ClusterSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredClusterSelector] = []


class Affinity(Model):
    """Which clusters suit."""

    cluster_affinity: ClusterAffinity | None = None


class TopologySpreadConstraint(Model):
    """Keeps the numbers of picked clusters per topology domain close to each other."""

    max_skew: Annotated[Int32, Schema(default=1, minimum=1)] = 1
    topology_key: str
    when_unsatisfiable: Annotated[
        UnsatisfiableAction, Schema(default=UnsatisfiableAction.DO_NOT_SCHEDULE)
    ] = UnsatisfiableAction.DO_NOT_SCHEDULE


class Toleration(Model):
    """Lets a placement pick clusters in spite of a taint."""

    key: str = ""
    operator: Annotated[TolerationOperator, Schema(default=TolerationOperator.EQUAL)] = (
        TolerationOperator.EQUAL
    )
    value: str = ""
    effect: TaintEffect | None = None


Tolerations = Annotated[
    list[Toleration],
    Schema(max_items=100),
    Rule(
        "self.all(t, t.operator != 'Exists' || !has(t.value) || t.value.size() == 0)",
        "value must be empty when operator is Exists",
    ),
    Rule(
        "self.all(t, t.operator == 'Exists' || (has(t.key) && t.key.size() > 0))",
        "operator must be Exists when key is empty",
    ),
]


class PlacementPolicy(Model):
    """Which clusters to pick, and how many."""

    placement_type: Annotated[PlacementType, Schema(default=PlacementType.PICK_ALL)] = (
        PlacementType.PICK_ALL
    )
    cluster_names: Annotated[list[str], Schema(max_items=100)] = []
    number_of_clusters: Annotated[Int32, Schema(minimum=0)] | None = None
    affinity: Affinity | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    tolerations: Tolerations = []


TYPE_STAYS = Rule("self.placementType == oldSelf.placementType", "placement type is immutable")
FIXED_IS_BARE = Rule(
    "self.placementType != 'PickFixed' || (!has(self.affinity) && !has(self.numberOfClusters)"
    " && !has(self.topologySpreadConstraints) && !has(self.tolerations))",
    "affinity, numberOfClusters, topologySpreadConstraints, and tolerations cannot be set"
    " when placementType is PickFixed",
)
ALL_IS_UNCOUNTED = Rule(
    "self.placementType != 'PickAll' || (!has(self.clusterNames) && !has(self.numberOfClusters)"
    " && !has(self.topologySpreadConstraints))",
    "clusterNames, numberOfClusters, and topologySpreadConstraints cannot be set"
    " when placementType is PickAll",
)
N_IS_COUNTED = Rule(
    "self.placementType != 'PickN' || (has(self.numberOfClusters) && !has(self.clusterNames))",
    "clusterNames cannot be set and numberOfClusters must be set when placementType is PickN",
)

CheckedPlacementPolicy = Annotated[
    PlacementPolicy, TYPE_STAYS, FIXED_IS_BARE, ALL_IS_UNCOUNTED, N_IS_COUNTED
]
"""The policy of a placement, which people write; that of a snapshot is a copy and not checked."""
