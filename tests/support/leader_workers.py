"""LeaderWorkerSets and their groups for tests."""

import copy
from typing import Any

from tests.support import operators

from fleetqueue.kube.plan import Apply, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import leader_worker_children as children
from fleetqueue.runtime.operators import leader_worker_set
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_pods import default as default_pod
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet, label
from fleetqueue.runtime.operators.leader_worker_webhook import default

GROUP = "leaderworkerset.x-k8s.io"


def lws(replicas: int = 2, size: int = 3, *, name: str = "serve", **spec: Any) -> Object:
    """As it is stored; `image`, `template`, `annotations`, `rolling` and `status` may be said."""
    status, annotations = spec.pop("status", None), spec.pop("annotations", None)
    container = {"name": "main", "image": spec.pop("image", "one")}
    template = {
        "workerTemplate": {"spec": {"containers": [container]}},
        "size": size,
        **spec.pop("template", {}),
    }
    if "rolling" in spec:
        rolling = {"partition": 0, "maxUnavailable": 1, "maxSurge": 0, **spec.pop("rolling")}
        spec["rolloutStrategy"] = {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": rolling,
        }
    metadata: Object = {"name": name, "namespace": "default", "uid": "uid-1", "generation": 1}
    if annotations is not None:
        metadata["annotations"] = annotations
    made: Object = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata,
        "spec": copy.deepcopy({"replicas": replicas, "leaderWorkerTemplate": template, **spec}),
    }
    default(operators.asked(made))
    if status is not None:
        made["status"] = status
    return made


def around(
    parent: Object, *states: str, partition: int = 0, of: Object | None = None
) -> list[Object]:
    """Revision, leaders, and one group for each state, as made for `of`, or for the set itself.

    A state is words: `ready`, `new` (of the set's own template), `bare` (without workers),
    `restarted` and `leaving` (its last worker), `gone` (no group at all).
    """
    old = LeaderWorkerSet(of or parent)
    revision = children.make_revision(old, [])
    newer = children.make_revision(LeaderWorkerSet(parent), [revision])
    key = label(revision if of is None else newer, keys.REVISION_KEY)
    leaders = children.make_leaders(LeaderWorkerSet(parent), partition, len(states), key)
    leaders["metadata"]["uid"] = "uid-leaders"
    leaders["status"] = {"replicas": len(states)}
    made = [revision, leaders] if of is None else [revision, newer, leaders]
    for index, state in enumerate(states):
        used = newer if "new" in state else revision
        made += _group(LeaderWorkerSet(parent), index, state, used, leaders)
    return made


def _group(
    whole: LeaderWorkerSet, index: int, state: str, revision: Object, leaders: Object
) -> list[Object]:
    if "gone" in state:
        return []
    key = label(revision, keys.REVISION_KEY)
    leader = pod_of(leaders, index, "uid-leaders")
    leader["metadata"]["labels"][keys.REVISION_KEY] = key
    is_up = "ready" in state
    leader["status"] = _pod_status(is_up)
    if "bare" in state or whole.size == 1:
        return [leader]
    workers = children.make_workers(whole, leader, revision, {})
    workers["metadata"]["uid"] = f"uid-workers-{index}"
    count = whole.size - 1
    workers["status"] = {
        "availableReplicas": count if is_up else 0,
        "currentRevision": "a",
        "updateRevision": "a",
    }
    pods = [pod_of(workers, number + 1, workers["metadata"]["uid"]) for number in range(count)]
    for pod in pods:
        pod["status"] = _pod_status(is_up or "restarted" in state or "leaving" in state)
    if "restarted" in state:
        pods[-1]["status"]["containerStatuses"] = [{"name": "main", "restartCount": 1}]
    if "leaving" in state:
        pods[-1]["metadata"]["deletionTimestamp"] = operators.TIME
    return [leader, workers, *pods]


def pod_of(stateful_set: Object, ordinal: int, uid: str) -> Object:
    """As its controller and the admission of pods make it."""
    name = f"{stateful_set['metadata']['name']}-{ordinal}"
    template = copy.deepcopy(stateful_set["spec"]["template"])
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **template["metadata"],
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [{"kind": "StatefulSet", "uid": uid, "controller": True}],
        },
        "spec": {**template["spec"], "subdomain": stateful_set["spec"]["serviceName"]},
    }
    default_pod(operators.asked(pod))
    return pod


def _pod_status(is_up: bool) -> Object:
    if not is_up:
        return {"phase": "Pending"}
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def see(parent: Object, *others: Object) -> Plan:
    return leader_worker_set.decide(operators.look(parent, *others))


def leaders_of(plan: Plan) -> Object:
    """The leaders' StatefulSet that a plan applies."""
    (step,) = [step for step in plan.steps if isinstance(step, Apply)]
    assert step.manager == "lws"
    return step.obj


def course(plan: Plan) -> tuple[int, int]:
    """The partition and the number of leaders."""
    spec = leaders_of(plan)["spec"]
    return spec["updateStrategy"]["rollingUpdate"]["partition"], spec["replicas"]
