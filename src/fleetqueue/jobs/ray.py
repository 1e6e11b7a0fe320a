"""What the Ray kinds share: the pods of a RayCluster's spec, and what is refused of it."""

from dataclasses import dataclass

from fleetqueue.api.field_errors import FieldError, forbidden, too_many, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.api.quantity import Quantity
from fleetqueue.base import paths
from fleetqueue.jobs import identity
from fleetqueue.jobs.kind import Role, Sight
from fleetqueue.jobs.pod_sets import MAX
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.plan import Patch, Step
from fleetqueue.kube.resources import Object, Resource

RAY_CLUSTER = Resource("ray.io", "v1", "rayclusters", "RayCluster")
OWN_NAME = "ray.io/kuberay-operator"
GENERATION = "kueue.x-k8s.io/raycluster-generation"
FAULT_TOLERANT = "ray.io/ft-enabled"
REDIS_CLEANUP = {"cpu": "200m", "memory": "256Mi"}
"""What the head asks for at least, since a clean-up of its Redis takes its place."""
AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
SUBMITTER = "ray-job-submitter"
SUBMITTER_RESOURCES = {
    "requests": {"cpu": "500m", "memory": "200Mi"},
    "limits": {"cpu": "1", "memory": "1Gi"},
}


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The spec of a RayCluster, somewhere in an object."""

    path: str
    name: str = ""
    """The path of the name of the cluster that runs; "" where the object is the cluster itself."""
    title: str = ""
    """What refusals call the path, where that is something else."""

    def of(self, job: Object) -> Object:
        return paths.get(job, self.path) or {}

    def called(self, *steps: str) -> str:
        return ".".join((self.title or self.path, *steps))

    def live(self, sight: Sight) -> Object | None:
        """The cluster that an autoscaler may have changed, of an elastic job."""
        name = paths.get(sight.job, self.name) if self.name else ""
        if not name or not is_elastic(sight) or not scales_itself(self.of(sight.job)):
            return None
        return sight.source.get(RAY_CLUSTER, sight.namespace, str(name))


def cluster_roles(sight: Sight, where: ClusterSpec) -> list[Role]:
    spec = where.of(sight.job)
    head = f"{where.path}.headGroupSpec.template"
    found = [Role("head", head, 1, _head(sight, spec))]
    live = where.live(sight)
    sizes = {} if live is None else _sizes(live["spec"])
    for index, group in enumerate(spec.get("workerGroupSpecs") or ()):
        path = f"{where.path}.workerGroupSpecs[{index}].template"
        name = str(group.get("groupName") or "")
        count = sizes.get(name, group_size(group))
        found.append(Role(name, path, count, group.get("template") or {}))
    return found


def validates_changes(settings: JobSettings) -> bool:
    return settings.gates.validate_ray_updates


def is_elastic(sight: Sight) -> bool:
    return identity.is_elastic(sight.job, sight.settings)


def scales_itself(spec: Object) -> bool:
    return bool(spec.get("enableInTreeAutoscaling"))


def is_fault_tolerant(job: Object, spec: Object) -> bool:
    said = identity.annotations_of(job).get(FAULT_TOLERANT) == "true"
    return said or spec.get("gcsFaultToleranceOptions") is not None


def name_extra(job: Object) -> str:
    """The generation of the cluster counts as well as that of the job."""
    generation = str(job["metadata"].get("generation") or 0)
    other = identity.annotations_of(job).get(GENERATION)
    return f"{generation}_{other}" if other else generation


def mirror_generation(sight: Sight, where: ClusterSpec) -> list[Step]:
    """Notes on the job which generation its cluster has, so that a change makes a new slice."""
    live = where.live(sight)
    if live is None:
        return []
    wanted = str(live["metadata"].get("generation") or 0)
    if sight.annotations.get(GENERATION) == wanted:
        return []
    return [Patch(sight.job, {"metadata": {"annotations": {GENERATION: wanted}}})]


def check_groups(sight: Sight, where: ClusterSpec) -> list[FieldError]:
    groups = where.of(sight.job).get("workerGroupSpecs") or []
    errors: list[FieldError] = []
    if len(groups) > MAX - 1:
        errors.append(too_many(where.called("workerGroupSpecs"), len(groups), MAX))
    for index, group in enumerate(groups):
        if group.get("groupName") == "head":
            path = where.called(f"workerGroupSpecs[{index}]", "groupName")
            errors.append(forbidden(path, '"head" is reserved for the head group'))
    return errors


def check_gates(sight: Sight, where: ClusterSpec) -> list[FieldError]:
    """The pods of an elastic job must wait."""
    if not is_elastic(sight):
        return []
    errors: list[FieldError] = []
    for role in cluster_roles(sight, where):
        gates = (role.pods.get("spec") or {}).get("schedulingGates") or []
        if all(gate["name"] != labels.ELASTIC_JOB_GATE for gate in gates):
            path = role.template.replace(where.path, where.called(), 1)
            detail = "an elastic job must have the ElasticJobSchedulingGate"
            errors.append(wrong(f"{path}.spec.schedulingGates", gates, detail))
    return errors


def submitter(name: str, image: str) -> Object:
    """The container that hands a job to its cluster."""
    return {"name": name, "image": image, "resources": SUBMITTER_RESOURCES}


def head_image(spec: Object) -> str:
    found = paths.get(spec, "headGroupSpec.template.spec.containers[0].image")
    return str(found or "")


def with_container(template: Object, container: Object) -> Object:
    spec = template.get("spec") or {}
    return {
        **template,
        "spec": {**spec, "containers": [*(spec.get("containers") or ()), container]},
    }


def _head(sight: Sight, spec: Object) -> Object:
    template = paths.get(spec, "headGroupSpec.template") or {}
    if is_fault_tolerant(sight.job, spec):
        template = _raised(template)
    if scales_itself(spec):
        options = spec.get("autoscalerOptions") or {}
        default = {"requests": AUTOSCALER, "limits": AUTOSCALER}
        resources = options.get("resources") or default
        template = with_container(template, {"name": "autoscaler", "resources": resources})
    return dict(template)


def _raised(template: Object) -> Object:
    path = "spec.containers[0].resources.requests"
    if paths.get(template, "spec.containers[0]") is None:
        return template
    present = paths.get(template, path) or {}
    raised = {
        name: least if Quantity.of(present.get(name) or 0) < Quantity.of(least) else present[name]
        for name, least in REDIS_CLEANUP.items()
    }
    return dict(paths.with_value(template, path, {**present, **raised}))


def _sizes(spec: Object) -> dict[str, int]:
    return {group["groupName"]: group_size(group) for group in spec.get("workerGroupSpecs") or ()}


def group_size(group: Object) -> int:
    replicas = group.get("replicas")
    return (1 if replicas is None else int(replicas)) * max(int(group.get("numOfHosts") or 1), 1)
