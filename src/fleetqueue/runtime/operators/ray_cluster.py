"""RayClusters: a head, groups of workers, and the Services in front of them."""

from fleetqueue.kube import finalizers
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, nobody
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.kinds import JOB, POD, RAY_CLUSTER, SERVICE
from fleetqueue.runtime.operators import ray_access as access
from fleetqueue.runtime.operators import ray_cluster_rules as rules
from fleetqueue.runtime.operators import ray_cluster_status as states
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators import ray_services as services
from fleetqueue.runtime.operators import ray_storage as storage
from fleetqueue.runtime.operators.ray_workforce import plan_pods

ACCOUNT_SECONDS = 10.0
"""How often a ServiceAccount that is missing is looked for."""


def decide(look: Look) -> Plan:
    cluster = look.parent
    problem = rules.problem_of(cluster)
    if problem is not None:
        return Plan([Note(problem.reason, problem.text, "Warning")])
    if is_deleting(cluster):
        return storage.clean_up(look) if names.is_fault_tolerant(cluster) else Plan()
    patch = finalizers.added(cluster, storage.FINALIZER)
    if names.is_fault_tolerant(cluster) and patch is not None:
        return Plan([Patch(cluster, patch)])
    absent = access.absent_account(look)
    if absent is not None:
        return Plan([absent], after=ACCOUNT_SECONDS)
    return _reconcile(look)


def created(look: Look, obj: Object) -> Plan:
    """The events that tell of children."""
    name = names.full_name(obj)
    match obj["kind"]:
        case "Pod":
            node_type = names.labels_of(obj)[names.NODE_TYPE_KEY]
            reason = f"Created{node_type.capitalize()}Pod"
            return Plan([Note(reason, f"Created {node_type} Pod {name}")])
        case "Job":
            return Plan([Note("CreatedRedisCleanupJob", f"Created Redis cleanup Job {name}")])
        case "Secret":
            return Plan()
        case kind:
            return Plan([Note(f"Created{kind}", f"Created {_WORDS[kind]} {name}")])


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    """The events that tell of refusals; those about pods are in the status too."""
    if not isinstance(step, Create | Delete):
        return Plan()
    obj, verb = step.obj, "Create" if isinstance(step, Create) else "Delete"
    if obj["kind"] == "Pod":
        node_type = str(names.labels_of(obj).get(names.NODE_TYPE_KEY)).capitalize()
        text = _pod_text(look.parent, step, error)
        note = Note(f"FailedTo{verb}{node_type}Pod", text, "Warning")
        reason = f"Failed{verb}{node_type}Pod"
        return Plan([note, *_failure(look, reason, f"{reason}\n{error}")])
    if obj["kind"] == "Job":
        text = f"Failed to create Redis cleanup Job {names.full_name(obj)}, {error}"
        return Plan([Note("FailedToCreateRedisCleanupJob", text, "Warning")])
    if obj["kind"] not in _WORDS:
        return Plan()
    what = f"Failed creating {_WORDS[obj['kind']]} {names.full_name(obj)}, {error}"
    return Plan([Note(f"FailedToCreate{obj['kind']}", what, "Warning")])


_WORDS = {
    "Service": "service",
    "ServiceAccount": "service account",
    "Role": "role",
    "RoleBinding": "role binding",
    "Ingress": "ingress",
}


def _reconcile(look: Look) -> Plan:
    plan = access.missing(look)
    for service in services.services_of(look.parent):
        if look.find(SERVICE, service["metadata"]["name"]) is None:
            plan.add(Create(service))
    work = plan_pods(look.parent, look.owned(POD))
    plan.add(*work.steps, *_status(look, is_settled=work.is_settled))
    return plan


def _status(
    look: Look, *, failure: tuple[str, str] | None = None, is_settled: bool = True
) -> list[Step]:
    """Nothing as long as the head has no Service: there is not yet anything to tell."""
    service = look.find(SERVICE, names.head_service(look.parent))
    if service is None:
        return []
    pods = look.owned(POD)
    status = states.describe(
        look.parent, pods, service, look.now, failure=failure, is_settled=is_settled
    )
    return [Status(status)]


def _failure(look: Look, reason: str, message: str) -> list[Step]:
    """Said once: the text names a pod that was never made, another one at each attempt."""
    listed = (look.parent.get("status") or {}).get("conditions")
    known = conditions.find(listed, states.FAILURE) or {}
    if known.get("status") == "True" and known.get("reason") == reason:
        return []
    return _status(look, failure=(reason, message))


def _pod_text(cluster: Object, step: Create | Delete, error: KubeError) -> str:
    is_head = names.labels_of(step.obj).get(names.NODE_TYPE_KEY) == names.HEAD
    if isinstance(step, Delete):
        kind = "head Pod" if is_head else "worker Pod"
        return f"Failed deleting {kind} {names.full_name(step.obj)}, {error}"
    if is_head:
        return f"Failed to create head Pod {names.full_name(step.obj)}, {error}"
    return f"Failed to create worker Pod for the cluster {names.full_name(cluster)}, {error}"


OPERATOR = Operator(
    "raycluster-controller",
    RAY_CLUSTER,
    decide,
    owns=(POD, SERVICE, JOB),
    reads=tuple(nobody(kind) for kind in access.KINDS),
    manager="kuberay-operator",
    managed_by=("spec", "managedBy"),
    own_name=names.OWN_NAME,
    decides_deletion=True,
    created=created,
    refused=refused,
    complete=access.complete,
)
