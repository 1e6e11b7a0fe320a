"""Training jobs of kubeflow.org/v1 and their pods for tests."""

import copy
from typing import Any

from tests.support import operators

from fleetqueue.kube.plan import Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import (
    jax_job,
    paddle_job,
    pytorch_job,
    tf_job,
    xgboost_job,
)
from fleetqueue.runtime.operators import training_pods as made
from fleetqueue.runtime.operators.training_jobs import decide
from fleetqueue.runtime.operators.training_kinds import Family, training_job

PYTORCH, TF, XGBOOST = pytorch_job.FAMILY, tf_job.FAMILY, xgboost_job.FAMILY
PADDLE, JAX = paddle_job.FAMILY, jax_job.FAMILY
FAMILIES = (PYTORCH, TF, XGBOOST, PADDLE, JAX)


def job(family: Family, roles: dict[str, Any], *, name: str = "mnist", **spec: Any) -> Object:
    """`roles` gives each role its count, or its whole spec; `status` may be given too."""
    status = spec.pop("status", None)
    specs = {role: _replica(family, given) for role, given in roles.items()}
    made: Object = {
        "apiVersion": "kubeflow.org/v1",
        "kind": family.name,
        "metadata": {"name": name, "namespace": "default", "uid": "uid-1"},
        "spec": copy.deepcopy({family.specs: specs, "runPolicy": {"suspend": False}, **spec}),
    }
    if status is not None:
        made["status"] = status
    return made


def _replica(family: Family, given: Any) -> Object:
    container = {"name": family.container, "image": "python"}
    whole: Object = {"template": {"spec": {"containers": [container]}}}
    return whole | (given if isinstance(given, dict) else {"replicas": given})


def pods(parent: Object, family: Family, **states: str) -> list[Object]:
    """The pods that have a state: `worker_1="Failed 3"` is a phase and an exit code; a phase
    that ends in `!` is that of a pod on its way out.
    """
    found = []
    whole = training_job(family, parent)
    for replica in whole.replicas:
        for index in range(10):
            state = states.get(f"{replica.role.lower()}_{index}")
            if state:
                pod = made.make_pod(whole, replica, index)
                found.append(_in_state(pod, family, state))
    return found


def _in_state(pod: Object, family: Family, state: str) -> Object:
    phase, _, code = state.partition(" ")
    pod["metadata"] |= {"uid": pod["metadata"]["name"], "creationTimestamp": operators.TIME}
    if phase.endswith("!"):
        pod["metadata"]["deletionTimestamp"] = operators.TIME
    pod["status"] = {"phase": phase.rstrip("!")}
    if code:
        ended = {"terminated": {"exitCode": int(code)}}
        pod["status"]["containerStatuses"] = [{"name": family.container, "state": ended}]
    return pod


def services(parent: Object, family: Family) -> list[Object]:
    whole = training_job(family, parent)
    return [
        made.make_service(whole, replica, index)
        for replica in whole.replicas
        for index in range(replica.count)
    ]


def see(parent: Object, family: Family, *others: Object, after: float = 0.0) -> Plan:
    return decide(family, operators.look(parent, *others, after=after))


def run(parent: Object, family: Family, after: float = 0.0, **states: str) -> Plan:
    """A look at the job, whose Services are all there and whose pods are as said."""
    others = [*services(parent, family), *pods(parent, family, **states)]
    return see(parent, family, *others, after=after)


def environment(pod: Object, container: int = 0) -> dict[str, Any]:
    """The variables of a container, the later ones before the earlier."""
    listed = pod["spec"]["containers"][container].get("env") or []
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in listed}
