"""The Progressing condition of a Deployment follows from the status that was written before, and
which statuses get written depends on who is faster: so it is held against each side's own record.

While a new ReplicaSet is made, kube-controller-manager's Deployment controller loses its first
status to a conflict with itself. Whether it then still counts no new pods, and later sees them
come, or counts them at once, is a race with its ReplicaSet controller; the reason stays
`NewReplicaSetCreated` in the second case until a pod gets ready.
"""

from itertools import pairwise
from pprint import pformat
from typing import Any

from differential.harness import Object, Side

CREATED, UPDATED = "NewReplicaSetCreated", "ReplicaSetUpdated"
COMPLETE = "NewReplicaSetAvailable"
REVISION = "deployment.kubernetes.io/revision"


def timeless(deployment: Object) -> Object:
    """Without the reason that a later roll-out tells while it is under way."""
    condition = _condition(deployment)
    annotations = deployment["metadata"].get("annotations") or {}
    # The first roll-out begins at no pods at all, so any pod is progress, however late it is seen.
    is_first = annotations.get(REVISION, "1") == "1"
    if is_first or condition.get("status") != "True" or _is_complete(deployment):
        return deployment
    conditions = [
        {**each, "reason": "under way", "message": "under way"} if each is condition else each
        for each in deployment["status"]["conditions"]
    ]
    return {**deployment, "status": {**deployment["status"], "conditions": conditions}}


def assert_followed(side: Side) -> None:
    """Each status that was written tells progress if, and only if, there was some."""
    for before, after in pairwise(side.record_of("Deployment")):
        if _is_judged(before, after):
            told, due = _condition(after)["reason"], _due(before, after)
            assert told == due, (
                f"{side.name} told {told}, not {due}\n--- before\n"
                f"{pformat(before['status'])}\n--- after\n{pformat(after['status'])}"
            )


def _is_judged(before: Object, after: Object) -> bool:
    """Both are of the same roll-out, neither resized nor paused, which is not over; and the second
    is more than the note that its ReplicaSet was made."""
    generation = after["metadata"]["generation"]
    conditions = _condition(before), _condition(after)
    is_note = conditions[1].get("reason") == CREATED != conditions[0].get("reason")
    return (
        before["metadata"]["uid"] == after["metadata"]["uid"]
        and before["metadata"]["generation"] == generation
        and all(each.get("status") == "True" for each in conditions)
        and all(each["status"].get("observedGeneration") == generation for each in (before, after))
        and before["status"] != after["status"]
        and not after["spec"].get("paused")
        and not is_note
        and not _is_complete(after)
    )


def _due(before: Object, after: Object) -> Any:
    reason, status = _condition(before)["reason"], after["status"]
    is_resync = reason == COMPLETE and status.get("replicas") == status.get("updatedReplicas")
    if not is_resync and _has_progressed(before["status"], status):
        return UPDATED
    return reason


def _has_progressed(before: Object, after: Object) -> bool:
    def grew(name: str) -> bool:
        return bool(after.get(name, 0) > before.get(name, 0))

    return _old(after) < _old(before) or any(
        map(grew, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    )


def _old(status: Object) -> int:
    return int(status.get("replicas", 0) - status.get("updatedReplicas", 0))


def _is_complete(deployment: Object) -> bool:
    status = deployment["status"]
    counts = {status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
    is_seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return is_seen and counts == {deployment["spec"]["replicas"]}


def _condition(deployment: Object) -> Object:
    conditions = (deployment.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == "Progressing"), {})
