"""The clusters of a RayService: when another one is needed, what it looks like, and when those that
serve no more go.
"""

import copy
from datetime import timedelta

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Delete, Look, Note, Patch, Plan, Step, child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import RAY_CLUSTER
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.operators.ray_workforce import spec_hash

HASH_KEY = "ray.io/hash-without-replicas-and-workers-to-delete"
GROUPS_KEY = "ray.io/num-worker-groups"
UNUSED_KEY = "fleetqueue.io/unused-since"
DELAY_SECONDS = 60


def make(service: Object, name: str) -> Object:
    config = service["spec"]["rayClusterConfig"]
    metadata = {
        "name": name,
        "labels": {
            **names.labels_of(service),
            names.FROM_NAME_KEY: service["metadata"]["name"],
            names.FROM_KIND_KEY: "RayService",
        },
        "annotations": {
            **names.annotations_of(service),
            HASH_KEY: spec_hash(config),
            GROUPS_KEY: str(len(config.get("workerGroupSpecs") or ())),
            names.VERSION_KEY: names.OPERATOR_VERSION,
        },
    }
    return child(RAY_CLUSTER, service, metadata, spec=copy.deepcopy(config))


def is_outgrown(service: Object, cluster: Object) -> bool:
    """Whether the service asks for what this cluster cannot become."""
    if (service["spec"].get("upgradeStrategy") or {}).get("type") == "None":
        return False
    return not (
        _is_same(service, cluster) or _is_extended(service, cluster) or _rests(service, cluster)
    )


def update(service: Object, cluster: Object, role: str) -> list[Step]:
    """More worker groups, and suspension, reach a cluster that there is; one without pods becomes
    whatever is asked for.
    """
    config = service["spec"]["rayClusterConfig"]
    is_moved = bool(config.get("suspend")) != bool(cluster["spec"].get("suspend"))
    can_become = _is_extended(service, cluster) or _rests(service, cluster)
    if not is_moved and (_is_same(service, cluster) or not can_become):
        return []
    wanted = make(service, cluster["metadata"]["name"])
    gone = {key: None for key in cluster["spec"] if key not in wanted["spec"]}
    patch = {
        "metadata": {key: wanted["metadata"][key] for key in ("labels", "annotations")},
        "spec": {**wanted["spec"], **gone},
    }
    text = f"Updated the {role} RayCluster {names.full_name(cluster)}"
    return [Patch(cluster, patch), Note("UpdatedRayCluster", text)]


def remove_unused(look: Look, used: set[str]) -> Plan:
    """Those that are in nobody's charge go after a while, in which requests may end."""
    plan = Plan()
    chosen = look.parent["spec"].get("rayClusterDeletionDelaySeconds")
    delay = timedelta(seconds=DELAY_SECONDS if chosen is None else chosen)
    for cluster in look.owned(RAY_CLUSTER):
        if cluster["metadata"]["name"] in used or is_deleting(cluster):
            continue
        since = names.annotations_of(cluster).get(UNUSED_KEY)
        if since is None:
            mark = {"metadata": {"annotations": {UNUSED_KEY: format_time(look.now)}}}
            plan.add(Patch(cluster, mark))
            plan.look_again(delay.total_seconds())
            continue
        left = (parse_time(since) + delay - look.now).total_seconds()
        if left > 0:
            plan.look_again(left)
        else:
            plan.add(*remove(cluster))
    return plan


def remove(cluster: Object) -> list[Step]:
    if is_deleting(cluster):
        return []
    text = f"Deleted the RayCluster {names.full_name(cluster)}"
    return [Delete(cluster), Note("DeletedRayCluster", text)]


def _is_same(service: Object, cluster: Object) -> bool:
    known = names.annotations_of(cluster).get(HASH_KEY)
    return known == spec_hash(service["spec"]["rayClusterConfig"])


def _rests(service: Object, cluster: Object) -> bool:
    """Whether it has no pods, or is to have none: so a queue holds it, and writes into the pods'
    templates as it lets go.
    """
    config = service["spec"]["rayClusterConfig"]
    return bool(config.get("suspend") or cluster["spec"].get("suspend"))


def _is_extended(service: Object, cluster: Object) -> bool:
    """Whether all that the service asks for beyond this cluster is more worker groups."""
    annotations = names.annotations_of(cluster)
    count = str(annotations.get(GROUPS_KEY) or "")
    if not count.isdigit():
        return True
    config = service["spec"]["rayClusterConfig"]
    groups = (config.get("workerGroupSpecs") or [])[: int(count)]
    return annotations.get(HASH_KEY) == spec_hash({**config, "workerGroupSpecs": groups})
