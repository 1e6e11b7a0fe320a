"""The kinds that placement reads and writes, of both scopes, by what they are to it."""

from dataclasses import dataclass

from fleetqueue.api.fleet import (
    binding,
    cluster,
    envelope,
    eviction,
    override,
    placement,
    snapshot,
    update_run,
    update_strategy,
    work,
)
from fleetqueue.kube.resources import Resource, resource_of

SYSTEM_NAMESPACE = "fleet-system"
MEMBER_CLUSTER = resource_of(cluster.MemberCluster)
INTERNAL_MEMBER_CLUSTER = resource_of(cluster.InternalMemberCluster)
WORK = resource_of(work.Work)
APPLIED_WORK = resource_of(work.AppliedWork)
PLACEMENT_STATUS = resource_of(placement.ClusterResourcePlacementStatus)
CLUSTER_ENVELOPE = resource_of(envelope.ClusterResourceEnvelope)
ENVELOPE = resource_of(envelope.ResourceEnvelope)
EVICTION = resource_of(eviction.ClusterResourcePlacementEviction)
DISRUPTION_BUDGET = resource_of(eviction.ClusterResourcePlacementDisruptionBudget)
CLUSTER_OVERRIDE = resource_of(override.ClusterResourceOverride)
OVERRIDE = resource_of(override.ResourceOverride)
CLUSTER_OVERRIDE_SNAPSHOT = resource_of(override.ClusterResourceOverrideSnapshot)
OVERRIDE_SNAPSHOT = resource_of(override.ResourceOverrideSnapshot)


@dataclass(frozen=True, slots=True)
class Scope:
    """The kinds of one of the two scopes; all code that serves both is written against this."""

    placement: Resource
    policy_snapshot: Resource
    resource_snapshot: Resource
    binding: Resource
    update_run: Resource
    update_strategy: Resource
    approval_request: Resource

    @property
    def is_namespaced(self) -> bool:
        return self.placement.namespaced


CLUSTER_SCOPE = Scope(
    placement=resource_of(placement.ClusterResourcePlacement),
    policy_snapshot=resource_of(snapshot.ClusterSchedulingPolicySnapshot),
    resource_snapshot=resource_of(snapshot.ClusterResourceSnapshot),
    binding=resource_of(binding.ClusterResourceBinding),
    update_run=resource_of(update_run.ClusterStagedUpdateRun),
    update_strategy=resource_of(update_strategy.ClusterStagedUpdateStrategy),
    approval_request=resource_of(update_run.ClusterApprovalRequest),
)
NAMESPACED = Scope(
    placement=resource_of(placement.ResourcePlacement),
    policy_snapshot=resource_of(snapshot.SchedulingPolicySnapshot),
    resource_snapshot=resource_of(snapshot.ResourceSnapshot),
    binding=resource_of(binding.ResourceBinding),
    update_run=resource_of(update_run.StagedUpdateRun),
    update_strategy=resource_of(update_strategy.StagedUpdateStrategy),
    approval_request=resource_of(update_run.ApprovalRequest),
)
SCOPES = (CLUSTER_SCOPE, NAMESPACED)
