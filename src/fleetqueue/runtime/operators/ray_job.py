"""RayJobs: one run of an entry point on a Ray cluster, from
Initializing to Complete or Failed, with suspension and retries on the way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube import finalizers
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Order, Patch, Plan, Step
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.runtime.kinds import JOB, POD, RAY_CLUSTER, RAY_JOB, SERVICE
from fleetqueue.runtime.operators import ray_job_rules as rules
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_job_draft import TERMINAL, Settings
from fleetqueue.runtime.operators.ray_job_turn import FINALIZER, Submit, Turn
from fleetqueue.runtime.ray_dashboard import Dashboard, DashboardError


def decide(settings: Settings, look: Look) -> Plan:
    if is_deleting(look.parent):
        return _let_go(look)
    turn = Turn(look, settings)
    problem = rules.problem_of(look.parent)
    if problem is not None:
        turn.refuse(problem)
    else:
        turn.take()
    return turn.draft.plan


def _let_go(look: Look) -> Plan:
    """A job that may still run is stopped; whether that works or not, the object may go."""
    plan = Plan()
    status = look.parent.get("status") or {}
    if FINALIZER not in finalizers.finalizers_of(look.parent):
        return plan
    cluster = look.find(RAY_CLUSTER, str(status.get("rayClusterName") or ""))
    is_open = status.get("jobStatus") not in TERMINAL and status.get("jobId")
    if is_open and cluster is not None:
        plan.add(Order(Stop(cluster, str(status["jobId"]))))
    plan.add(Patch(look.parent, finalizers.removed(look.parent, FINALIZER)))
    return plan


def created(look: Look, obj: Object) -> Plan:
    name = names.full_name(obj)
    match obj["kind"]:
        case "RayCluster":
            return Plan([Note("CreatedRayCluster", f"Created RayCluster {name}")])
        case "Job":
            return Plan([Note("CreatedRayJobSubmitter", f"Created Kubernetes Job {name}")])
        case _:
            return Plan([Note("CreatedService", f"Created the service {name}")])


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    if not isinstance(step, Create | Delete):
        return Plan()
    kind, name = step.obj["kind"], names.full_name(step.obj)
    texts = {
        (Create, "RayCluster"): f"Failed to create RayCluster {name}: {error}",
        (Create, "Job"): f"Failed to create new Kubernetes Job {name}: {error}",
        (Create, "Service"): f"Failed to create the service {name}, {error}",
        (Delete, "RayCluster"): f"Failed to delete cluster {name}: {error}",
        (Delete, "Job"): f"Failed to delete submitter K8s Job {name}: {error}",
    }
    text = texts.get((type(step), kind))
    if text is None:
        return Plan()
    what = {"Job": "RayJobSubmitter"}.get(kind, kind)
    return Plan([Note(f"FailedTo{type(step).__name__}{what}", text, "Warning")])


@dataclass(frozen=True, slots=True)
class Stop:
    """An order to Ray: end this."""

    cluster: Object
    id: str


class JobsOfRay:
    """Asks and orders the dashboards of clusters that have Ray."""

    def __init__(self, dashboard: Dashboard, has_ray: Callable[[str], bool]) -> None:
        self._dashboard, self._has_ray = dashboard, has_ray

    async def observe(self, look: Look, /) -> Mapping[str, Any]:
        status = look.parent.get("status") or {}
        cluster = look.find(RAY_CLUSTER, str(status.get("rayClusterName") or ""))
        is_running = status.get("jobDeploymentStatus") == "Running"
        if not is_running or cluster is None or not self._asks(cluster):
            return {}
        try:
            return {"job": await self._dashboard.job(cluster, str(status.get("jobId") or ""))}
        except DashboardError as error:
            return {"problem": str(error)}

    async def carry_out(self, look: Look, what: Any, /) -> Plan:
        if not self._asks(what.cluster):
            return Plan()
        try:
            match what:
                case Stop(cluster, id):
                    await self._dashboard.stop(cluster, id)
                case Submit(cluster, request):
                    await self._dashboard.submit(cluster, request)
        except DashboardError:
            # A job that cannot be stopped must not keep its object; one that was not submitted is
            # missing at the next look, and submitted then.
            return Plan()
        return Plan()

    def _asks(self, cluster: Object) -> bool:
        return self._has_ray(names.head_image(cluster["spec"]))


def ray_job_operator(dashboard: Dashboard, settings: Settings) -> Operator:
    return Operator(
        "rayjob-controller",
        RAY_JOB,
        partial(decide, settings),
        owns=(RAY_CLUSTER, JOB, SERVICE),
        follows=(
            Follow(RAY_CLUSTER, _jobs_on_cluster),
            Follow(POD, _jobs_of_pod),
        ),
        manager="kuberay-operator",
        managed_by=("spec", "managedBy"),
        own_name=names.OWN_NAME,
        decides_deletion=True,
        created=created,
        refused=refused,
        outside=JobsOfRay(dashboard, settings.has_ray),
    )


def _jobs_on_cluster(source: Source, cluster: Object) -> list[Key]:
    """Those that run on a cluster that they did not make."""
    key = key_of(cluster)
    return [
        key_of(job)
        for job in source.all(RAY_JOB, key.namespace)
        if ((job["spec"].get("clusterSelector") or {}).get(names.CLUSTER_KEY)) == key.name
    ]


def _jobs_of_pod(source: Source, pod: Object) -> list[Key]:
    """Whose submitter a pod is, or whose head."""
    labels, namespace = names.labels_of(pod), key_of(pod).namespace
    submitted = labels.get("batch.kubernetes.io/job-name")
    if submitted:
        return [Key(namespace, submitted)] if source.get(RAY_JOB, namespace, submitted) else []
    if labels.get(names.NODE_TYPE_KEY) != names.HEAD:
        return []
    cluster = source.get(RAY_CLUSTER, namespace, str(labels.get(names.CLUSTER_KEY) or ""))
    if cluster is None or names.creator(cluster) != "RayJob":
        return []
    return [Key(namespace, str(names.labels_of(cluster).get(names.FROM_NAME_KEY) or ""))]
