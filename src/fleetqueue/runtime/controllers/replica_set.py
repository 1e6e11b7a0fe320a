"""ReplicaSets: so many pods of one template, no more and no fewer."""

from fleetqueue.api import times
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions, deletion_order, pod_facts
from fleetqueue.runtime.amounts import rest_seconds, told
from fleetqueue.runtime.controllers import pod_notes
from fleetqueue.runtime.kinds import POD, REPLICA_SET
from fleetqueue.runtime.ownership import adopters, claim
from fleetqueue.runtime.templates import pod_from_template

BURST_MAX = 500
"""Pods created or deleted for one ReplicaSet before it is looked at again."""
FAILURE = "ReplicaFailure"


def decide(look: Look) -> Plan:
    claimed = claim(look, POD, _spec(look)["selector"], pod_facts.is_active)
    plan = Plan(list(claimed.steps))
    if not is_deleting(look.parent):
        plan.add(*_resize(look, claimed.objects))
    plan.add(Status(describe(look, claimed.objects)))
    _wait_for_availability(look, claimed.objects, plan)
    return plan


def describe(look: Look, pods: list[Object], failure: Object | None = None) -> Object:
    """The status; a failure is a condition that the creation or deletion of pods left behind."""
    ready = [pod for pod in pods if pod_facts.is_ready(pod)]
    wait = _spec(look).get("minReadySeconds") or 0
    available = [pod for pod in ready if pod_facts.is_available(pod, wait, look.now)]
    status = {
        "replicas": len(pods),
        "fullyLabeledReplicas": sum(_is_fully_labelled(pod, look.parent) for pod in pods),
        "readyReplicas": len(ready),
        "availableReplicas": len(available),
        "observedGeneration": look.parent["metadata"].get("generation"),
        "conditions": _conditions(look.parent, failure),
    }
    return told(status, "replicas")


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    """Told by an event, and by a condition until it goes well again."""
    if pod_notes.is_namespace_ending(error):
        return Plan()
    pods = claim(look, POD, _spec(look)["selector"], pod_facts.is_active).objects
    is_creation = isinstance(step, Create)
    failure = {
        "type": FAILURE,
        "status": "True",
        "lastTransitionTime": times.format_time(look.now),
        "reason": "FailedCreate" if is_creation else "FailedDelete",
        "message": str(error) if is_creation else f"unable to delete pods: {error}",
    }
    return Plan([pod_notes.refused(step, error), Status(describe(look, pods, failure))])


def _resize(look: Look, pods: list[Object]) -> list[Step]:
    wanted = _spec(look).get("replicas", 1)
    missing = min(wanted - len(pods), BURST_MAX)
    if missing > 0:
        pod = pod_from_template(_spec(look)["template"], look.parent)
        return [Create(pod)] * missing
    too_many = min(len(pods) - wanted, BURST_MAX)
    if too_many <= 0:
        return []
    going = deletion_order.surplus(pods, too_many, look.now, _related(look))
    return [*(Delete(pod) for pod in going), *(pod_notes.deleted(pod) for pod in going)]


def _related(look: Look) -> list[Object]:
    """Pods of all ReplicaSets of the same owner, as those of one Deployment in a roll-out."""
    owner = controller_uid(look.parent)
    siblings = [look.parent]
    if owner:
        siblings = [each for each in look.all(REPLICA_SET) if controller_uid(each) == owner]
    found: dict[str, Object] = {}
    for sibling in siblings:
        for pod in look.selected(POD, sibling["spec"]["selector"]):
            found[pod["metadata"]["uid"]] = pod
    return list(found.values())


def _wait_for_availability(look: Look, pods: list[Object], plan: Plan) -> None:
    wait = _spec(look).get("minReadySeconds") or 0
    for pod in pods:
        left = pod_facts.available_in(pod, wait, look.now)
        if left is not None:
            plan.look_again(left)


def _conditions(parent: Object, failure: Object | None) -> list[Object]:
    present = (parent.get("status") or {}).get("conditions") or []
    if failure is None:
        return conditions.without(present, FAILURE)
    # The first failure stays until all is well: its message is not replaced.
    known = conditions.find(present, FAILURE) is not None
    return list(present) if known else [*present, failure]


def _is_fully_labelled(pod: Object, parent: Object) -> bool:
    wanted = (parent["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return wanted.items() <= (pod["metadata"].get("labels") or {}).items()


def _spec(look: Look) -> Object:
    spec: Object = look.parent["spec"]
    return spec


OPERATOR = Operator(
    "replicaset-controller",
    REPLICA_SET,
    decide,
    owns=(POD,),
    follows=(Follow(POD, adopters(REPLICA_SET)),),
    manager="kube-controller-manager",
    decides_deletion=True,
    created=pod_notes.created,
    refused=refused,
    rest=lambda look: rest_seconds(len(look.owned_by(look.parent, POD))),
)
