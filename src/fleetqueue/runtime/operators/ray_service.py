"""RayServices: applications served by a cluster that another one replaces without interruption."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fleetqueue.api.meta import Key
from fleetqueue.kube import finalizers
from fleetqueue.kube.controller import owners
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Order, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.kinds import POD, RAY_CLUSTER, RAY_SERVICE, SERVICE
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_service_clusters as clusters
from fleetqueue.runtime.operators import ray_service_rules as rules
from fleetqueue.runtime.operators import ray_service_status as status
from fleetqueue.runtime.operators import ray_services as services
from fleetqueue.runtime.operators.ray_cluster_rules import Problem
from fleetqueue.runtime.operators.ray_service_outside import Deploy, ServeOfRay
from fleetqueue.runtime.operators.strangers import is_stranger
from fleetqueue.runtime.ray_dashboard import Dashboard

FINALIZER = "ray.io/rayservice-finalizer"


@dataclass(frozen=True, slots=True)
class Settings:
    """How Ray is reached."""

    has_ray: Callable[[str], bool]
    poll_seconds: float = 1.0


def decide(settings: Settings, look: Look) -> Plan:
    if is_deleting(look.parent):
        return _let_go(look)
    draft = status.Draft(look.parent, look.now)
    problem = rules.problem_of(look.parent)
    if problem is not None:
        return _refuse(draft, problem)
    plan = Plan()
    patch = finalizers.added(look.parent, FINALIZER)
    if patch is not None:
        plan.add(Patch(look.parent, patch))
    if look.parent["spec"].get("suspend"):
        _suspend(look, draft, plan)
    else:
        _run(settings, look, draft, plan)
    whole = draft.finish()
    plan.add(*([Status(whole)] if whole is not None else []), *draft.notes)
    return plan


def _let_go(look: Look) -> Plan:
    """The clusters go first, each in its own way."""
    plan = Plan()
    if FINALIZER not in finalizers.finalizers_of(look.parent):
        return plan
    left = look.owned(RAY_CLUSTER)
    for cluster in left:
        plan.add(*clusters.remove(cluster))
    if not left:
        plan.add(Patch(look.parent, finalizers.removed(look.parent, FINALIZER)))
    return plan


def _refuse(draft: status.Draft, problem: Problem) -> Plan:
    draft.set(status.READY, False, "ValidationFailed", problem.text)
    whole = draft.finish()
    if whole is None:
        return Plan()
    text = f"{names.full_name(draft.service)}: {problem.text}"
    return Plan([Status(whole), Note(problem.reason, text, "Warning")])


def _suspend(look: Look, draft: status.Draft, plan: Plan) -> None:
    """All clusters go; when they are gone, the service is suspended."""
    left = look.owned(RAY_CLUSTER)
    for cluster in left:
        plan.add(*clusters.remove(cluster))
    draft.active, draft.pending = {}, {}
    draft.describe(_endpoints(look))
    is_done = not left
    text = "RayService is suspended" if is_done else "RayService is being suspended"
    draft.set(status.SUSPENDING, not is_done, status.SUSPENDING, text)
    draft.set(status.SUSPENDED, is_done, status.SUSPENDED, text)


def _run(settings: Settings, look: Look, draft: status.Draft, plan: Plan) -> None:
    for type in (status.SUSPENDING, status.SUSPENDED):
        if draft.is_true(type):
            draft.set(type, False, "Resumed", "RayService is resumed")
    used = {str(each.get("rayClusterName") or "") for each in (draft.active, draft.pending)}
    cleaning = clusters.remove_unused(look, used)
    plan.add(*cleaning.steps)
    if cleaning.after is not None:
        plan.look_again(cleaning.after)
    if draft.has_timed_out:
        return
    turn = _Turn(settings, look, draft, plan)
    turn.keep_clusters()
    turn.serve()
    draft.describe(_endpoints(look))
    if draft.seconds_left is not None:
        plan.look_again(draft.seconds_left)


class _Turn:
    """One look at a service that is to run."""

    def __init__(self, settings: Settings, look: Look, draft: status.Draft, plan: Plan) -> None:
        self._settings, self._look, self._draft, self._plan = settings, look, draft, plan
        self._active, self._pending = self._find(draft.active), self._find(draft.pending)

    def keep_clusters(self) -> None:
        name = self._draft.pending.get("rayClusterName")
        if name and self._pending is None:
            self._plan.add(Create(clusters.make(self._look.parent, name)))
            return
        service = self._look.parent
        if self._active is not None and not self._draft.is_true(status.UPGRADING):
            self._plan.add(*clusters.update(service, self._active, "active"))
        if self._pending is not None:
            self._plan.add(*clusters.update(service, self._pending, "pending"))

    def serve(self) -> None:
        for one, cluster in (
            (self._draft.active, self._active),
            (self._draft.pending, self._pending),
        ):
            one.pop("applicationStatuses", None)
            one["rayClusterStatus"] = (cluster or {}).get("status") or dict(states.EMPTY)
            if cluster is not None:
                self._label_head(cluster)
        is_serving = self._turn_to_ready_cluster()
        if not is_serving and self._needs_another():
            metadata = self._look.parent["metadata"]
            seed = (metadata["uid"], metadata.get("resourceVersion"))
            self._draft.pending = {"rayClusterName": names.generated(self._look.name, *seed)}

    def _turn_to_ready_cluster(self) -> bool:
        """Whether the pending cluster has taken over just now."""
        if self._pending is not None:
            if self._is_up(self._pending, self._draft.pending) and self._point_to(self._pending):
                self._draft.active, self._draft.pending = self._draft.pending, {}
                return True
            return False
        is_kept = self._active is not None and not self._needs_another()
        if is_kept and self._active and self._is_up(self._active, self._draft.active):
            self._point_to(self._active)
        return False

    def _point_to(self, cluster: Object) -> bool:
        """Whether the Services of its name are there, or made now, for that cluster."""
        serving = services.serve_service(self._look.parent, cluster)
        if serving is None:
            return False
        head = services.named_head_service(self._look.parent, cluster)
        kept = services.keep(self._look, head, serving)
        self._plan.add(*kept.steps)
        if kept.after is None:
            return True
        self._plan.look_again(kept.after)
        return False

    def _needs_another(self) -> bool:
        if self._pending is None and self._draft.pending.get("rayClusterName"):
            # It is being made just now.
            return False
        cluster = self._pending or self._active
        return cluster is None or clusters.is_outgrown(self._look.parent, cluster)

    def _is_up(self, cluster: Object, one: Object) -> bool:
        """Whether all applications run there; what they are goes into the status."""
        if not states.is_true(cluster, states.HEAD_READY):
            return False
        if not self._has_ray(cluster):
            found = status.assumed_applications(self._look.parent)
            one["applicationStatuses"] = found
            return True
        self._plan.look_again(self._settings.poll_seconds)
        seen = self._look.observed.get(cluster["metadata"]["name"])
        if seen is None or seen.problem:
            return False
        found = status.applications_of(seen.applications)
        one["applicationStatuses"] = found
        text = self._look.parent["spec"].get("serveConfigV2") or ""
        if seen.deployed != text or not found:
            config = status.serve_config(self._look.parent)
            self._plan.add(Order(Deploy(cluster, config, text)))
        return status.all_run(found)

    def _label_head(self, cluster: Object) -> None:
        """Only a head that serves is an endpoint."""
        labels = {names.CLUSTER_KEY: cluster["metadata"]["name"], names.NODE_TYPE_KEY: names.HEAD}
        for pod in self._look.selected(POD, {"matchLabels": labels}):
            wanted = str(self._head_serves(cluster)).lower()
            if names.labels_of(pod).get(names.SERVE_KEY) != wanted:
                patch = {"metadata": {"labels": {names.SERVE_KEY: wanted}}}
                what = f'Updated the serve label to "{wanted}" for the Head Pod'
                note = Note("UpdatedHeadPodServeLabel", f"{what} {names.full_name(pod)}")
                self._plan.add(Patch(pod, patch), note)

    def _head_serves(self, cluster: Object) -> bool:
        if self._look.parent["spec"].get("excludeHeadPodFromServeSvc"):
            return False
        if not self._has_ray(cluster):
            return states.is_true(cluster, states.HEAD_READY)
        seen = self._look.observed.get(cluster["metadata"]["name"])
        return seen is not None and seen.is_serving

    def _has_ray(self, cluster: Object) -> bool:
        return self._settings.has_ray(names.head_image(cluster["spec"]))

    def _find(self, one: Object) -> Object | None:
        name = one.get("rayClusterName")
        return self._look.find(RAY_CLUSTER, name) if name else None


def _endpoints(look: Look) -> int:
    """How many pods the serve Service reaches."""
    service = look.find(SERVICE, services.serve_name(look.parent))
    if service is None or is_stranger(look, service):
        return 0
    pods = look.selected(POD, {"matchLabels": service["spec"].get("selector") or {}})
    return sum(pod_facts.is_ready(pod) and pod_facts.is_active(pod) for pod in pods)


def created(look: Look, obj: Object) -> Plan:
    name = names.full_name(obj)
    if obj["kind"] == "RayCluster":
        return Plan([Note("CreatedRayCluster", f"Created the RayCluster {name}")])
    return Plan([Note("CreatedService", f"Created the service {name}")])


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    if not isinstance(step, Create | Delete):
        return Plan()
    kind, name = step.obj["kind"], names.full_name(step.obj)
    verb = type(step).__name__
    if kind == "RayCluster":
        text = f"Failed to {verb.lower()} the RayCluster {name}: {error}"
    else:
        text = f"Failed to {verb.lower()} the service {name}, {error}"
    return Plan([Note(f"FailedTo{verb}{kind}", text, "Warning")])


def ray_service_operator(dashboard: Dashboard, settings: Settings) -> Operator:
    return Operator(
        "rayservice-controller",
        RAY_SERVICE,
        partial(decide, settings),
        owns=(RAY_CLUSTER, SERVICE),
        follows=(Follow(POD, _services_of_pod),),
        manager="kuberay-operator",
        managed_by=("spec", "managedBy"),
        own_name=names.OWN_NAME,
        decides_deletion=True,
        created=created,
        refused=refused,
        outside=ServeOfRay(dashboard, settings.has_ray),
    )


def _services_of_pod(source: Source, pod: Object) -> list[Key]:
    name = names.labels_of(pod).get(names.CLUSTER_KEY)
    cluster = source.get(RAY_CLUSTER, key_of(pod).namespace, name) if name else None
    return owners(cluster, RAY_SERVICE) if cluster is not None else []
