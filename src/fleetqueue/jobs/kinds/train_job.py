"""TrainJob (trainer.kubeflow.org/v1alpha1): one run of a training runtime, as a JobSet.

What is admitted goes into a patch of the runtime that the queue keeps in the job.
"""

from collections.abc import Sequence

from fleetqueue.base import paths
from fleetqueue.jobs import replicated_jobs as replicated
from fleetqueue.jobs.infos import PodSetInfo, check_number
from fleetqueue.jobs.kind import JobKind, NotYet, Outcome, Role, Sight
from fleetqueue.kube.plan import Patch, Step
from fleetqueue.kube.resources import Object, Resource, version_of

FRAMEWORK = "trainer.kubeflow.org/trainjob"
GROUP = "trainer.kubeflow.org"
RUNTIMES = {
    "ClusterTrainingRuntime": Resource(
        GROUP, "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
    ),
    "TrainingRuntime": Resource(GROUP, "v1alpha1", "trainingruntimes", "TrainingRuntime"),
}
MANAGER = "kueue.x-k8s.io/manager"
EMPTY = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}}


def jobs_of(sight: Sight) -> list[Object]:
    """Those of the JobSet that the trainer would make, which its blueprint tells; without what an
    admission has put into the queue's patch.
    """
    reference = sight.spec.get("runtimeRef") or {}
    kind, group = reference.get("kind") or "", reference.get("apiGroup") or ""
    resource = RUNTIMES.get(kind)
    blueprint = sight.settings.blueprints.get(FRAMEWORK)
    if resource is None or group != GROUP or blueprint is None:
        raise NotYet(f"unsupported runtime: {kind}.{group}")
    namespace = sight.namespace if resource.namespaced else ""
    runtime = sight.source.get(resource, namespace, reference.get("name") or "")
    if runtime is None:
        raise NotYet(f"runtime '{reference.get('name')}' not found")
    own = {**sight.spec, "runtimePatches": _emptied(sight)}
    found: list[Object] = blueprint({**sight.job, "spec": own}, runtime)["spec"]["replicatedJobs"]
    return found


def statuses_of(sight: Sight) -> list[Object]:
    return sight.status.get("jobsStatus") or []


def roles(sight: Sight) -> list[Role]:
    return replicated.replicated_roles(jobs_of(sight), "job")


def start(sight: Sight, infos: Sequence[PodSetInfo]) -> list[Step]:
    """In two writes: the trainer lets nobody change the patches of a job that runs."""
    check_number(len(roles(sight)), infos)
    patches = sight.spec.get("runtimePatches") or []
    if all(each.get("manager") != MANAGER for each in patches):
        raise NotYet("kueue runtime patch not found")
    filled = [_entry(info) for info in infos]
    return [
        _with_patches(sight.job, [_filled(each, filled) for each in patches]),
        Patch(sight.job, {"spec": {"suspend": False}}),
    ]


def stop(sight: Sight, infos: Sequence[PodSetInfo] | None) -> list[Step]:
    """The patch is emptied when nothing is left that was made with it."""
    if not sight.spec.get("suspend"):
        return [Patch(sight.job, {"spec": {"suspend": True}})]
    emptied = _emptied(sight)
    if emptied == (sight.spec.get("runtimePatches") or []) or JOB.is_active(sight):
        return []
    return [_with_patches(sight.job, emptied)]


def default(sight: Sight) -> None:
    """Every job gets the queue's patch, queued or not."""
    patches = sight.spec.get("runtimePatches") or []
    if all(each.get("manager") != MANAGER for each in patches):
        sight.job.setdefault("spec", {})["runtimePatches"] = [*patches, EMPTY]


def _emptied(sight: Sight) -> list[Object]:
    return [_filled(each, None) for each in sight.spec.get("runtimePatches") or ()]


def _with_patches(job: Object, patches: list[Object]) -> Patch:
    version = {"resourceVersion": version_of(job)}
    return Patch(job, {"metadata": version, "spec": {"runtimePatches": patches}})


def _filled(patch: Object, jobs: list[Object] | None) -> Object:
    if patch.get("manager") != MANAGER:
        return patch
    path = "trainingRuntimeSpec.template.spec.replicatedJobs"
    made = paths.without(patch, path) if jobs is None else paths.with_value(patch, path, jobs)
    return dict(made)


def _entry(info: PodSetInfo) -> Object:
    metadata = {"annotations": dict(info.annotations), "labels": dict(info.labels)}
    spec = {
        "nodeSelector": dict(info.node_selector),
        "tolerations": list(info.tolerations),
        "schedulingGates": list(info.scheduling_gates),
    }
    template = {
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": {name: value for name, value in spec.items() if value},
    }
    return {"name": info.name, "template": {"spec": {"template": template}}}


JOB = JobKind(
    framework=FRAMEWORK,
    resource=Resource(GROUP, "v1alpha1", "trainjobs", "TrainJob"),
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name="trainer.kubeflow.org/trainjob-controller",
    roles=roles,
    pod_index_label=replicated.INDEX_LABEL,
    active="status.jobsStatus[*].active",
    ready=lambda sight: replicated.are_ready(jobs_of(sight), statuses_of(sight)),
    finished=Outcome(succeeded="Complete", failed="Failed"),
    reclaimable=lambda sight: replicated.reclaimable_pods(jobs_of(sight), statuses_of(sight)),
    start=start,
    stop=stop,
    is_fixed=True,
    default=default,
    reads=tuple(RUNTIMES.values()),
    template_title=lambda role: f"job[{role.name}]",
    topology_hint=(
        '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template"'
        " annotations for the corresponding Job"
    ),
)
