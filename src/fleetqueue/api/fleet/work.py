"""Work and AppliedWork: objects on their way to one member, and what the member made of them."""

from typing import Annotated

from fleetqueue.api.fleet.group import placement_kind
from fleetqueue.api.fleet.placement_status import PatchDetail
from fleetqueue.api.fleet.strategy import ApplyStrategy, ReportBackStrategy
from fleetqueue.api.kinds import Resource
from fleetqueue.api.markers import Schema
from fleetqueue.api.meta import Condition
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import EmbeddedResource, Int64, Time


class WorkloadTemplate(Model):
    """The objects to apply."""

    manifests: list[EmbeddedResource] = []


class StableWorkSpec(Model):
    """The objects to apply and how, as v1 has it."""

    workload: WorkloadTemplate | None = None
    apply_strategy: ApplyStrategy | None = None


class WorkSpec(StableWorkSpec):
    """The objects to apply, how, and whether their status comes back."""

    report_back_strategy: ReportBackStrategy | None = None


Ordinal = Annotated[int, Schema(required=True)]


class WorkResourceIdentifier(Model):
    """Which object it is; its ordinal is its place in the list of manifests."""

    ordinal: Ordinal = sent(default_factory=int)
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class DriftDetails(Model):
    """How somebody changed the object on the member."""

    observation_time: Time
    observed_in_member_cluster_generation: Int64
    first_drifted_observed_time: Time
    observed_drifts: list[PatchDetail] = []


class DiffDetails(Model):
    """How the object on the member differs from the one on the hub."""

    observation_time: Time
    observed_in_member_cluster_generation: Int64 | None = None
    first_diffed_observed_time: Time
    observed_diffs: list[PatchDetail] = []


class BackReportedStatus(Model):
    """The object's status on the member."""

    observed_status: EmbeddedResource | None = None
    observation_time: Time


class StableManifestCondition(Model):
    """What became of one manifest, as v1 has it."""

    identifier: WorkResourceIdentifier
    conditions: list[Condition]
    drift_details: DriftDetails | None = None
    diff_details: DiffDetails | None = None


class ManifestCondition(StableManifestCondition):
    """What became of one manifest."""

    back_reported_status: BackReportedStatus | None = None


class WorkStatus(Model):
    """What became of the manifests."""

    conditions: list[Condition]
    manifest_conditions: list[ManifestCondition] = []


class Work(Resource, kind=placement_kind("works", status=True)):
    """Objects to apply on one member; it stands in the member's namespace on the hub."""

    spec: WorkSpec | None = None
    status: WorkStatus | None = None


class AppliedWorkSpec(Model):
    """The Work on the hub that this stands for."""

    work_name: str
    work_namespace: str


class AppliedResource(WorkResourceIdentifier):
    """An object on the member that the Work put there."""

    uid: str = ""


class AppliedWorkStatus(Model):
    """What the Work put on the member."""

    applied_resources: list[AppliedResource] = []


class AppliedWork(Resource, kind=placement_kind("appliedworks", scope="Cluster", status=True)):
    """Stands for a Work on the member, and owns what the Work put there."""

    spec: AppliedWorkSpec
    status: AppliedWorkStatus | None = None
