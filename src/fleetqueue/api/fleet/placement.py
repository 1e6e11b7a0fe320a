"""ClusterResourcePlacement, ResourcePlacement, and the former's status in a namespace."""

from enum import StrEnum
from typing import Annotated

from fleetqueue.api.fleet.group import GENERATION, condition_column, placement_kind
from fleetqueue.api.fleet.placement_status import PlacementStatus
from fleetqueue.api.fleet.policy import CheckedPlacementPolicy
from fleetqueue.api.fleet.strategy import RolloutStrategy
from fleetqueue.api.kinds import AGE, Column, Resource
from fleetqueue.api.markers import Rule, Schema
from fleetqueue.api.meta import LabelSelector
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32, Time


class SelectionScope(StrEnum):
    """What selecting a namespace selects with it."""

    NAMESPACE_ONLY = "NamespaceOnly"
    NAMESPACE_WITH_RESOURCES = "NamespaceWithResources"
    NAMESPACE_WITH_RESOURCE_SELECTORS = "NamespaceWithResourceSelectors"


class StatusReportingScope(StrEnum):
    """Whether the status is also copied into the selected namespace."""

    CLUSTER_SCOPE_ONLY = "ClusterScopeOnly"
    NAMESPACE_ACCESSIBLE = "NamespaceAccessible"


class ResourceSelectorTerm(Model):
    """Objects of one kind: one by name, some by labels, or all."""

    group: str
    version: str
    kind: str
    name: str = ""
    label_selector: LabelSelector | None = None
    selection_scope: Annotated[
        SelectionScope, Schema(default=SelectionScope.NAMESPACE_WITH_RESOURCES)
    ] = SelectionScope.NAMESPACE_WITH_RESOURCES


ResourceSelectors = Annotated[
    list[ResourceSelectorTerm],
    Schema(min_items=1, max_items=100),
    Rule(
        "self.all(s, !has(s.labelSelector) || !has(s.name) || s.name.size() == 0)",
        "name and labelSelector are mutually exclusive in a resource selector",
    ),
]

RevisionHistoryLimit = Annotated[Int32, Schema(default=10, minimum=1, maximum=1000)]
ReportingScope = Annotated[
    StatusReportingScope, Schema(default=StatusReportingScope.CLUSTER_SCOPE_ONLY)
]


class PlacementSpec(Model):
    """What to place, where, and how."""

    resource_selectors: ResourceSelectors
    policy: CheckedPlacementPolicy | None = None
    strategy: RolloutStrategy | None = None
    revision_history_limit: RevisionHistoryLimit = 10
    status_reporting_scope: ReportingScope = StatusReportingScope.CLUSTER_SCOPE_ONLY


_NAMESPACE = "s.group == '' && s.version == 'v1' && s.kind == 'Namespace'"
_ANCHOR = (
    f"{_NAMESPACE} && has(s.selectionScope) && s.selectionScope == 'NamespaceWithResourceSelectors'"
)
_NAMED_ANCHOR = f"{_ANCHOR} && has(s.name) && s.name.size() > 0 && !has(s.labelSelector)"


def _selectors(which: str) -> str:
    return f"self.resourceSelectors.filter(s, {which}).size()"


POLICY_STAYS = Rule("!has(oldSelf.policy) || has(self.policy)", "policy cannot be removed once set")
REPORTS_TO_ONE_NAMESPACE = Rule(
    "self.statusReportingScope != 'NamespaceAccessible' || "
    + _selectors("s.kind == 'Namespace'")
    + " == 1",
    "when statusReportingScope is NamespaceAccessible,"
    " exactly one resourceSelector with kind 'Namespace' is required",
)
REPORTING_STAYS = Rule(
    "!has(oldSelf.statusReportingScope)"
    " || oldSelf.statusReportingScope == self.statusReportingScope",
    "statusReportingScope is immutable",
)
ONE_ANCHOR = Rule(
    f"{_selectors(_ANCHOR)} < 2",
    "only one namespace selector with NamespaceWithResourceSelectors mode is allowed",
)
ANCHOR_HAS_NAME = Rule(
    f"{_selectors(_ANCHOR)} == 0 || {_selectors(_NAMED_ANCHOR)} == 1",
    "namespace selector with NamespaceWithResourceSelectors mode must select by name"
    " (not by label)",
)
ANCHOR_IS_ALONE = Rule(
    f"{_selectors(_ANCHOR)} == 0 || {_selectors(_NAMESPACE)} == 1",
    "when using NamespaceWithResourceSelectors mode, only one namespace selector is allowed"
    " (cannot mix with other namespace selectors)",
)


def columns(prefix: str) -> tuple[Column, ...]:
    """The columns of a placement; `prefix` begins the types of its conditions."""

    def both(name: str, aspect: str, priority: int = 0) -> tuple[Column, Column]:
        generation = "observedGeneration"
        return (
            condition_column(name, f"{prefix}{aspect}", priority=priority),
            condition_column(
                f"{name}-Gen", f"{prefix}{aspect}", field=generation, priority=priority
            ),
        )

    return (
        GENERATION,
        Column("Type", ".spec.policy.placementType", priority=1),
        *both("Scheduled", "Scheduled"),
        *both("Work-Synchronized", "WorkSynchronized", priority=1),
        *both("Available", "Available"),
        AGE,
    )


class ClusterResourcePlacement(
    Resource,
    kind=placement_kind(
        "clusterresourceplacements",
        scope="Cluster",
        short_names=("crp",),
        status=True,
        columns=columns("ClusterResourcePlacement"),
    ),
):
    """Places cluster-scoped objects, and namespaces with what is in them, on members."""

    spec: Annotated[
        PlacementSpec,
        POLICY_STAYS,
        REPORTS_TO_ONE_NAMESPACE,
        REPORTING_STAYS,
        ONE_ANCHOR,
        ANCHOR_HAS_NAME,
        ANCHOR_IS_ALONE,
    ]
    status: PlacementStatus | None = None


class ResourcePlacement(
    Resource,
    kind=placement_kind(
        "resourceplacements",
        short_names=("rp",),
        status=True,
        columns=columns("ResourcePlacement"),
    ),
):
    """Places objects of its own namespace on members."""

    spec: Annotated[PlacementSpec, POLICY_STAYS, ONE_ANCHOR, ANCHOR_HAS_NAME, ANCHOR_IS_ALONE]
    status: PlacementStatus | None = None


class ClusterResourcePlacementStatus(
    Resource,
    kind=placement_kind(
        "clusterresourceplacementstatuses",
        short_names=("crps",),
        columns=(
            Column("Resource-Index", ".sourceStatus.observedResourceIndex"),
            Column("Last-Updated", ".lastUpdatedTime"),
            AGE,
        ),
    ),
):
    """The status of a ClusterResourcePlacement, for those who see only the selected namespace."""

    source_status: PlacementStatus
    last_updated_time: Time
