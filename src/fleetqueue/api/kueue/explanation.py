"""visibility.fleetqueue.io: what was decided last about a workload, and why."""

from typing import Annotated

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.markers import Doc
from fleetqueue.api.model import Model
from fleetqueue.api.scalars import Int32

GROUP = "visibility.fleetqueue.io"
VERSION = "v1alpha1"


class ResourceVerdict(Model):
    """One resource in one flavor: what was needed, and what there was."""

    resource: str
    needed: str
    free: Annotated[str, Doc("What the queue does not use of its own.")]
    borrowable: Annotated[str, Doc("What it could use beyond that.")]
    mode: Annotated[str, Doc("Fit, NoFit, or how others would have to be preempted.")]
    why: str


class FlavorVerdict(Model):
    """One flavor that was considered."""

    flavor: str
    mode: str
    borrowing: Annotated[Int32, Doc("How far up in the tree of cohorts quota would be borrowed.")]
    reasons: list[str]
    resources: list[ResourceVerdict]


class PodSetVerdict(Model):
    """One pod set: the flavors it would get, and all that were considered."""

    name: str
    count: Int32
    flavors: dict[str, str]
    considered: list[FlavorVerdict]
    message: str


class WorkloadExplanation(Resource, kind=Kind(GROUP, VERSION, "explanations", crd=False)):
    """The last verdict of the scheduler about a workload."""

    local_queue_name: str
    cluster_queue_name: str
    decision: Annotated[
        str, Doc("Admit, Preempt, Migrate, Wait, Place, FailPlace, Evict; empty: none yet.")
    ]
    reason: Annotated[str, Doc("Of the condition QuotaReserved.")]
    message: str
    pod_sets: list[PodSetVerdict]
