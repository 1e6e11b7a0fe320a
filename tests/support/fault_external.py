"""A kind that only the configuration names, with what its maker brings: a controller that queues it
and an operator that runs its one pod.
"""

from random import Random

from tests.support.fault_jobs import Family, Wish, for_queue, template

from fleetqueue.api.times import format_time
from fleetqueue.jobs.kind import JobKind, Outcome, PodRole, Sight
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Create, Delete, Look, Plan, Status
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue.kinds import CONTROLLER
from fleetqueue.runtime.kinds import POD

ERRAND = Resource("example.com", "v1", "errands", "Errand")
OWN_NAME = "example.com/errand-runner"
ENDS = {"Succeeded": "Completed", "Failed": "Failed"}
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def errand(name: str, random: Random) -> Wish:
    fails = random.random() < 0.15
    pod = template(random, fails=fails, restartPolicy="Never")
    made: Object = {"apiVersion": "example.com/v1", "kind": "Errand", "metadata": {"name": name}}
    made["spec"] = {"suspend": True, "managedBy": CONTROLLER, "template": pod}
    return Wish(name, (for_queue(made),), fails, 1)


def runs_here(sight: Sight) -> bool:
    """One that was handed over has no pods here, whatever its status tells of those elsewhere."""
    return sight.spec.get("managedBy") != CONTROLLER and bool(sight.status.get("active"))


def decide(look: Look) -> Plan:
    """Its pod while it may run; how that ended is how it ended."""
    pods, status = look.owned(POD), dict(look.parent.get("status") or {})
    if status.get("conditions"):
        return Plan()
    if look.parent["spec"].get("suspend"):
        return Plan([*map(Delete, pods), Status({**status, "active": len(pods)})])
    if not pods:
        return Plan([Create(_pod(look.parent)), Status({**status, "active": 1})])
    end = ENDS.get(str((pods[0].get("status") or {}).get("phase")))
    if end is None:
        return Plan([Status({**status, "active": 1})])
    at = format_time(look.now)
    told = {"type": end, "status": "True", "reason": end, "message": end, "lastTransitionTime": at}
    return Plan([Status({"active": 0, "conditions": [told]})])


def _pod(parent: Object) -> Object:
    metadata, made = parent["metadata"], parent["spec"]["template"]
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Errand",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    names = {"name": f"{metadata['name']}-pod", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], **names}}


KIND = JobKind(
    framework="example.com/errand",
    resource=ERRAND,
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name=OWN_NAME,
    roles=[PodRole("main", "spec.template")],
    active=runs_here,
    ready=lambda sight: bool(sight.status.get("active")),
    finished=Outcome(succeeded="Completed", failed="Failed"),
)
OPERATOR = Operator(
    "errand-runner",
    ERRAND,
    decide,
    owns=(POD,),
    managed_by=("spec", "managedBy"),
    own_name=OWN_NAME,
)
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "errands.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Errand", "plural": "errands", "listKind": "ErrandList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _ANYTHING, "status": _ANYTHING},
                    }
                },
            }
        ],
    },
}
EXTERNAL = Family(
    (),
    ("errands",),
    (OPERATOR,),
    (),
    (errand,),
    queued=(KIND,),
    external=("Errand.v1.example.com",),
    furniture=(DEFINITION,),
)
