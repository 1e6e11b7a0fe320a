"""TrainJobs, their runtimes and JobSets for tests."""

import copy
from typing import Any

from tests.support import operators

from fleetqueue.kube.plan import Apply, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import train_job, train_job_children
from fleetqueue.runtime.operators.training_runtimes import runtimes

GROUP = "trainer.kubeflow.org"


def runtime(name: str = "torch-distributed") -> Object:
    """One of the preinstalled, as a test may change it."""
    found = next(each for each in runtimes() if each["metadata"]["name"] == name)
    return copy.deepcopy(found)


def job(runtime: str = "torch-distributed", *, name: str = "run", **spec: Any) -> Object:
    """As it is stored; `status` may be given too."""
    status = spec.pop("status", None)
    reference = {"name": runtime, "apiGroup": GROUP, "kind": "ClusterTrainingRuntime"}
    made: Object = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": "uid-1",
            "creationTimestamp": operators.TIME,
        },
        "spec": {"runtimeRef": reference, "suspend": False, **copy.deepcopy(spec)},
    }
    if status is not None:
        made["status"] = status
    return made


def job_set(parent: Object, plan_for: Object, **status: Any) -> Object:
    """The JobSet that the job becomes with a runtime."""
    made = train_job_children.make_job_set(train_job_children.make_blueprint(parent, plan_for))
    made["metadata"]["uid"] = "uid-2"
    made["status"] = status
    return made


def built(parent: Object, plan_for: Object) -> Object:
    """The pod spec of the JobSet's trainer."""
    return pod_of(job_set(parent, plan_for), trainer_job(plan_for))


def trainer_job(plan_for: Object) -> str:
    jobs = plan_for["spec"]["template"]["spec"]["replicatedJobs"]
    return "launcher" if any(each["name"] == "launcher" for each in jobs) else "node"


def replicated(job_set: Object, name: str) -> Object:
    jobs = job_set["spec"]["replicatedJobs"]
    return dict(next(each for each in jobs if each["name"] == name))


def pod_of(job_set: Object, name: str) -> Object:
    return dict(replicated(job_set, name)["template"]["spec"]["template"]["spec"])


def environment(pod: Object, container: str = "node") -> dict[str, Any]:
    found = next(each for each in pod["containers"] if each["name"] == container)
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in found.get("env", ())}


def see(parent: Object, *others: Object, after: float = 0.0) -> Plan:
    return train_job.decide(operators.look(parent, *others, after=after))


def applied(plan: Plan) -> dict[str, Object]:
    """What is applied, by kind and name."""
    steps = [step for step in plan.steps if isinstance(step, Apply)]
    assert {step.manager for step in steps} <= {"trainer"}
    return {f"{step.obj['kind']} {step.obj['metadata']['name']}": step.obj for step in steps}
