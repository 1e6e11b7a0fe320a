"""RayCluster (ray.io/v1): a head and groups of workers, until somebody deletes it."""

from fleetqueue.api.field_errors import FieldError, forbidden, wrong
from fleetqueue.jobs import ray
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.settings import MULTIKUEUE
from fleetqueue.kube.resources import Object

SPEC = ray.ClusterSpec("spec")
AUTOSCALING = (
    "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the"
    ' ElasticJobsViaWorkloadSlices feature gate and set the "kueue.x-k8s.io/elastic-job":'
    ' "true" annotation'
)


def is_ready(sight: Sight) -> bool:
    return bool(sight.status.get("state") == "ready")


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    path = "spec.enableInTreeAutoscaling"
    if ray.scales_itself(sight.spec):
        if not ray.is_elastic(sight):
            errors.append(wrong(path, True, AUTOSCALING))
        elif sight.spec.get("managedBy") == MULTIKUEUE:
            detail = (
                "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster"
            )
            errors.append(forbidden(path, detail))
    return errors + ray.check_groups(sight, SPEC) + ray.check_gates(sight, SPEC)


JOB = JobKind(
    framework="ray.io/raycluster",
    resource=ray.RAY_CLUSTER,
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name=ray.OWN_NAME,
    roles=lambda sight: ray.cluster_roles(sight, SPEC),
    active=is_ready,
    ready=is_ready,
    name_extra=ray.name_extra,
    validate=check,
    validates_managed_only=True,
    validates_changes=ray.validates_changes,
    gates_pods=True,
    supports_slices=True,
)
