"""MPIJobs and their children for tests."""

import copy
from typing import Any

from tests.support import operators

from fleetqueue.kube.plan import Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import mpi_job
from fleetqueue.runtime.operators import mpi_job_children as children
from fleetqueue.runtime.operators.mpi_job_spec import MpiJob

GROUP = "kubeflow.org"


def job(workers: int | None = 2, *, name: str = "pi", **spec: Any) -> Object:
    """As it is stored; `status`, `run_policy`, `launcher` and `worker` may be given too."""
    status, run_policy = spec.pop("status", None), spec.pop("run_policy", {})
    roles: Object = {"Launcher": {"template": _template(), **spec.pop("launcher", {})}}
    if workers is not None:
        worker = {"replicas": workers, "template": _template(), **spec.pop("worker", {})}
        roles["Worker"] = worker
    whole = {"mpiReplicaSpecs": roles, "runPolicy": run_policy, **spec}
    made: Object = {
        "apiVersion": f"{GROUP}/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": "default", "uid": "uid-1"},
        "spec": copy.deepcopy(whole),
    }
    if status is not None:
        made["status"] = status
    return made


def _template() -> Object:
    return {"spec": {"containers": [{"name": "mpi", "image": "mpi"}]}}


def others(parent: Object, *states: str, launcher: Object | None = None) -> list[Object]:
    """Its children: workers in these states, the launcher's Job with a status if one is given.

    A state is a phase; `Ready` is a running pod that is ready, `Evicted` a failed one.
    """
    whole = MpiJob(parent)
    pods = [_in_state(children.make_worker(whole, i), state) for i, state in enumerate(states)]
    made = [
        children.make_service(whole),
        children.make_config(whole, pods),
        children.make_secret(whole),
        *pods,
    ]
    if launcher is not None:
        child = children.make_launcher(whole)
        child["metadata"]["uid"] = "uid-launcher"
        made.append({**child, "status": launcher})
    return made


def _in_state(pod: Object, state: str) -> Object:
    pod["metadata"]["uid"] = f"uid-{pod['metadata']['name']}"
    phase = {"Ready": "Running", "Evicted": "Failed"}.get(state, state)
    pod["status"] = {"phase": phase}
    if state == "Ready":
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    if state == "Evicted":
        pod["status"]["reason"] = "Evicted"
    return pod


def launcher_pod(number: int = 0, phase: str = "Running", **status: Any) -> Object:
    reference = {"kind": "Job", "name": "pi-launcher", "uid": "uid-launcher", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pi-launcher-{number}",
            "namespace": "default",
            "ownerReferences": [reference],
            "creationTimestamp": f"2026-01-01T11:00:0{number}Z",
        },
        "status": {"phase": phase, **status},
    }


def ended(type: str, **more: Any) -> Object:
    condition = {"type": type, "status": "True", **more}
    return {"conditions": [condition], "completionTime": "2026-01-01T11:59:00Z"}


def see(parent: Object, *around: Object, after: float = 0.0) -> Plan:
    return mpi_job.decide(operators.look(parent, *around, after=after))
