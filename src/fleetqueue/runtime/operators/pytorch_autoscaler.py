"""The autoscaler of an elastic PyTorchJob that names metrics."""

from fleetqueue.kube.plan import Create, Delete, Look, Patch, Step, child
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.operators.strangers import complain, is_stranger
from fleetqueue.runtime.operators.training_kinds import TrainingJob

AUTOSCALER = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")


def autoscaler(look: Look, job: TrainingJob) -> list[Step]:
    """An elastic job with metrics has an autoscaler of its name, while it may run."""
    elastic = job.spec.get("elasticPolicy") or {}
    if elastic.get("metrics") is None:
        return []
    found = look.find(AUTOSCALER, job.name)
    if found is not None and is_stranger(look, found):
        return [] if job.is_suspended else [complain(look, found)]
    if job.is_suspended:
        return [Delete(found)] if found else []
    spec = _autoscaler_spec(job, elastic)
    if found is None:
        return [Create(child(AUTOSCALER, job.obj, {"name": job.name}, spec=spec))]
    if any(found["spec"].get(name) != value for name, value in spec.items()):
        return [Patch(found, {"spec": spec})]
    return []


def _autoscaler_spec(job: TrainingJob, elastic: Object) -> Object:
    low, high = bounds(elastic)
    worker = job.replica("Worker")
    count = worker.count if worker else 1
    return {
        "scaleTargetRef": {
            "apiVersion": job.obj["apiVersion"],
            "kind": job.obj["kind"],
            "name": job.name,
        },
        "minReplicas": count if low is None else low,
        "maxReplicas": count if high is None else high,
        "metrics": elastic["metrics"],
    }


def bounds(elastic: Object) -> tuple[int | None, int | None]:
    """A bound that is missing is the other one."""
    low, high = elastic.get("minReplicas"), elastic.get("maxReplicas")
    return (high if low is None else low, low if high is None else high)
