"""RayJob (ray.io/v1): a RayCluster of its own, and a program that is submitted to it."""

from fleetqueue.api.field_errors import FieldError, required, wrong
from fleetqueue.jobs import ray
from fleetqueue.jobs.kind import JobKind, Role, Sight, Verdict
from fleetqueue.kube.resources import Object, Resource

SPEC = ray.ClusterSpec("spec.rayClusterSpec", name="status.rayClusterName")
SUBMITTER_TEMPLATE = "spec.submitterPodTemplate"


def roles(sight: Sight) -> list[Role]:
    found = ray.cluster_roles(sight, SPEC)
    mode = sight.spec.get("submissionMode") or "K8sJobMode"
    container = ray.submitter(ray.SUBMITTER, ray.head_image(SPEC.of(sight.job)))
    if mode == "SidecarMode":
        head = found[0]
        pods = ray.with_container(head.pods, container)
        found[0] = Role(head.name, head.template, head.count, pods)
    if mode == "K8sJobMode":
        default = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        pods = sight.spec.get("submitterPodTemplate") or default
        found.append(Role("submitter", SUBMITTER_TEMPLATE, 1, pods))
    return found


def uses_other_cluster(sight: Sight) -> bool:
    return bool(sight.spec.get("clusterSelector"))


def is_active(sight: Sight) -> bool:
    return (sight.status.get("jobDeploymentStatus") or "") not in ("", "Suspended")


def is_ready(sight: Sight) -> bool:
    cluster = sight.status.get("rayClusterStatus") or {}
    return bool(cluster.get("state") == "ready")


def verdict(sight: Sight) -> Verdict | None:
    if sight.status.get("jobDeploymentStatus") not in ("Complete", "Failed"):
        return None
    message = str(sight.status.get("message") or "")
    return Verdict(message, sight.status.get("jobStatus") == "SUCCEEDED")


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    has_cluster = sight.spec.get("rayClusterSpec") is not None
    if uses_other_cluster(sight):
        if not has_cluster:
            return []
        detail = "a kueue managed job should not use an existing cluster"
        return [wrong("spec.clusterSelector", sight.spec["clusterSelector"], detail)]
    if not has_cluster:
        detail = "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"
        return [required("spec.rayClusterSpec", detail)]
    errors: list[FieldError] = []
    if not sight.spec.get("shutdownAfterJobFinishes"):
        detail = "a kueue managed job should delete the cluster after finishing"
        errors.append(wrong("spec.shutdownAfterJobFinishes", False, detail))
    if ray.scales_itself(SPEC.of(sight.job)) and not ray.is_elastic(sight):
        detail = "a kueue managed job should only use autoscaling when workload slicing is enabled"
        errors.append(wrong(SPEC.called("enableInTreeAutoscaling"), True, detail))
    return errors + ray.check_groups(sight, SPEC)


JOB = JobKind(
    framework="ray.io/rayjob",
    resource=Resource("ray.io", "v1", "rayjobs", "RayJob"),
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name=ray.OWN_NAME,
    roles=roles,
    active=is_active,
    ready=is_ready,
    finished=verdict,
    skip=uses_other_cluster,
    on_hold=lambda sight: sight.status.get("jobDeploymentStatus") == "ValidationFailed",
    name_extra=ray.name_extra,
    prepare=lambda sight: ray.mirror_generation(sight, SPEC),
    owns=(ray.RAY_CLUSTER,),
    validate=check,
    validates_managed_only=True,
    validates_changes=ray.validates_changes,
    supports_slices=True,
)
