"""What a hub and a member are told at their start; the defaults are those of KubeFleet's flags,
except where a comment says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleetqueue.base.clock import Clock
from fleetqueue.base.leisure import AT_ONCE
from fleetqueue.fleet.steps import Steps

if TYPE_CHECKING:
    from fleetqueue.fleet.webhooks.policies import Policy


@dataclass(frozen=True, slots=True)
class HubSettings:
    """One for all controllers of a hub."""

    is_job_aware: bool = True
    """Jobs as first-class citizens; KubeFleet's own behaviour where it is off."""
    enable_webhook: bool = True
    enable_guard_rail: bool = False
    enable_workload: bool = True
    """Whether pods may be made on the hub. KubeFleet's default is off; a fleetqueue hub is a
    manager too, whose controllers make pods."""
    enable_pdbs: bool = True
    leaves_jobs_to_members: bool = False
    """Whether a webhook has the hub's own Job controller leave new Jobs alone."""
    whitelisted_users: tuple[str, ...] = ()
    policies: "tuple[Policy, ...]" = ()
    """Admission policies that hold on the hub."""
    deny_modify_member_cluster_labels: bool = False
    enable_cluster_inventory: bool = True
    enable_update_runs: bool = True
    enable_evictions: bool = True
    enable_resource_placement: bool = True
    networking_agents_enabled: bool = False
    cluster_unhealthy_seconds: float = 60.0
    force_delete_seconds: float = 900.0
    skipped_apis: str = ""
    allowed_apis: str = ""
    skipped_namespaces: tuple[str, ...] = ()
    snapshot_interval_seconds: float = 30.0
    collection_seconds: float = 15.0
    resync_seconds: float = 1800.0
    max_fleet_size: int = 100
    observes_all_versions: bool = False
    """Also in the compatible mode; for hubs whose kinds are newer than what people name."""
    steps_at_once: int = AT_ONCE
    """So many are written step by step while much happens; all of them in the compatible mode."""

    def steps(self, clock: Clock) -> Steps:
        return Steps(clock, always=not self.is_job_aware, at_once=self.steps_at_once)


@dataclass(frozen=True, slots=True)
class Requeue:
    """How soon a Work is looked at again."""

    fixed_attempts: int = 1
    fixed_seconds: float = 5.0
    slow_base: float = 1.2
    slow_first_seconds: float = 2.0
    slow_max_seconds: float = 15.0
    fast_base: float = 1.5
    fast_max_seconds: float = 900.0
    skips_to_fast: bool = True


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """One for the agent of a member."""

    name: str
    """Of its MemberCluster on the hub."""
    deletion_wait_seconds: float = 300.0
    is_job_aware: bool = True
    provider: str = "none"
    """Of properties: none, or one that is installed."""
    collects_namespaces: bool = False
    reports_costs: bool = True
    reports_available: bool = True
    prices: Mapping[str, float] = field(default_factory=dict)
    """What an hour of a node costs, by its machine size; for providers that tell costs."""
    uses_priorities: bool = False
    priority_a: float = -3.0
    priority_b: float = 100.0
    server_url: str = ""
    certificate_authority: str = ""
    requeue: Requeue = field(default_factory=Requeue)

    steps_at_once: int = AT_ONCE

    def steps(self, clock: Clock) -> Steps:
        return Steps(clock, always=not self.is_job_aware, at_once=self.steps_at_once)
