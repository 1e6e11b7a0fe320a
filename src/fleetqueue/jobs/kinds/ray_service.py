"""RayService (ray.io/v1): a RayCluster that serves, and is replaced by another when it changes."""

from fleetqueue.api.field_errors import FieldError, wrong
from fleetqueue.jobs import ray
from fleetqueue.jobs.kind import JobKind, Sight, holds
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object, Resource

SPEC = ray.ClusterSpec(
    "spec.rayClusterConfig",
    name="status.activeServiceStatus.rayClusterName",
    title="spec.rayClusterSpec",
)


def is_cleaning_up(sight: Sight) -> bool:
    """Its Workload lives on until Redis is clean."""
    if not sight.settings.gates.defer_ray_service or not is_deleting(sight.job):
        return False
    return ray.is_fault_tolerant(sight.job, SPEC.of(sight.job))


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if ray.scales_itself(SPEC.of(sight.job)) and not ray.is_elastic(sight):
        detail = "a kueue managed job should only use autoscaling when workload slicing is enabled"
        errors.append(wrong(SPEC.called("enableInTreeAutoscaling"), True, detail))
    return errors + ray.check_groups(sight, SPEC) + ray.check_gates(sight, SPEC)


JOB = JobKind(
    framework="ray.io/rayservice",
    resource=Resource("ray.io", "v1", "rayservices", "RayService"),
    suspend="spec.rayClusterConfig.suspend",
    managed_by="spec.managedBy",
    own_name=ray.OWN_NAME,
    roles=lambda sight: ray.cluster_roles(sight, SPEC),
    active=lambda sight: holds(sight.job, "Ready"),
    ready="Ready",
    skip=is_cleaning_up,
    name_extra=ray.name_extra,
    prepare=lambda sight: ray.mirror_generation(sight, SPEC),
    owns=(ray.RAY_CLUSTER,),
    validate=check,
    validates_managed_only=True,
    validates_changes=ray.validates_changes,
    template_title=lambda role: role.template.replace(SPEC.path, SPEC.title, 1),
    gates_pods=True,
    supports_slices=True,
)
