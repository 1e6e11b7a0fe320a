"""What goes when a RayJob has ended, and when: its cluster, the workers of that, or the job."""

from fleetqueue.api.times import parse_time
from fleetqueue.kube.calls import Propagation
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Delete, Look, Note, Patch, Plan, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import RAY_CLUSTER
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.strangers import complain, is_stranger

_IMPACT = ("DeleteNone", "DeleteWorkers", "DeleteCluster", "DeleteSelf")


def clean_up(look: Look) -> Plan:
    """The most that is due now; the rest at its time. A cluster that was given stays."""
    plan = Plan()
    spec, status = look.parent["spec"], look.parent.get("status") or {}
    if spec.get("clusterSelector") or not status.get("endTime"):
        return plan
    passed = (look.now - parse_time(status["endTime"])).total_seconds()
    due = []
    for policy, seconds in _policies(spec, status):
        if seconds > passed:
            plan.look_again(seconds - passed)
        elif steps := _steps(look, policy):
            due.append((_IMPACT.index(policy), steps))
    if due:
        plan.add(*max(due, key=lambda each: each[0])[1])
    return plan


def delete_cluster(
    look: Look, cluster: Object | None, propagation: Propagation = "Background"
) -> list[Step]:
    """Only of one that the job made: the name may be that of a cluster that was selected once."""
    if cluster is None or is_deleting(cluster):
        return []
    if is_stranger(look, cluster):
        return [complain(look, cluster)]
    text = f"Deleted cluster {names.full_name(cluster)}"
    return [Delete(cluster, propagation), Note("DeletedRayCluster", text)]


def _policies(spec: Object, status: Object) -> list[tuple[str, int]]:
    """What holds for a job that ended like this, each with its seconds."""
    strategy = spec.get("deletionStrategy")
    ttl = int(spec.get("ttlSecondsAfterFinished") or 0)
    if strategy is None:
        return [("DeleteCluster", ttl)] if spec.get("shutdownAfterJobFinishes") else []
    if strategy.get("deletionRules") is None:
        ends = {"SUCCEEDED": "onSuccess", "FAILED": "onFailure"}
        end = strategy.get(ends.get(str(status.get("jobStatus")), "")) or {}
        return [(end["policy"], ttl)] if end.get("policy") else []
    return [
        (rule["policy"], int(rule["condition"].get("ttlSeconds") or 0))
        for rule in strategy["deletionRules"]
        if _matches(rule["condition"], status)
    ]


def _matches(condition: Object, status: Object) -> bool:
    if condition.get("jobStatus") is not None:
        return bool(condition["jobStatus"] == status.get("jobStatus"))
    return bool(condition.get("jobDeploymentStatus") == status.get("jobDeploymentStatus"))


def _steps(look: Look, policy: str) -> list[Step]:
    """Empty where it is done already."""
    cluster = look.find(RAY_CLUSTER, str((look.parent["status"]).get("rayClusterName") or ""))
    if policy == "DeleteSelf":
        return [Delete(look.parent)]
    if policy == "DeleteCluster":
        return delete_cluster(look, cluster)
    if policy == "DeleteWorkers" and cluster is not None and not is_deleting(cluster):
        return _suspend_workers(look, cluster)
    return []


def _suspend_workers(look: Look, cluster: Object) -> list[Step]:
    if is_stranger(look, cluster):
        return [complain(look, cluster)]
    groups = names.worker_groups(cluster)
    if all(group.get("suspend") for group in groups):
        return []
    suspended = [{**group, "suspend": True} for group in groups]
    what = "Set the `suspend` field to true for all worker groups in cluster"
    return [
        Patch(cluster, {"spec": {"workerGroupSpecs": suspended}}),
        Note("UpdatedRayCluster", f"{what} {names.full_name(cluster)}"),
    ]
