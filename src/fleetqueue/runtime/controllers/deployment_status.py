"""What a Deployment says of itself: counts, and the conditions of a roll-out in their order."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from fleetqueue.api import times
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions
from fleetqueue.runtime.amounts import number, told, total
from fleetqueue.runtime.controllers.rollout_sizes import size, unavailable_max, wanted

NEVER = 2**31 - 1
AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
TIMED_OUT, COMPLETE = "ProgressDeadlineExceeded", "NewReplicaSetAvailable"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"


def has_deadline(deployment: Object) -> bool:
    seconds = deployment["spec"].get("progressDeadlineSeconds")
    return seconds is not None and seconds != NEVER


def condition(type: str, status: str, reason: str, message: str, now: datetime) -> Object:
    moment = times.format_time(now)
    return {
        "type": type,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def progressing(reason: str, message: str, now: datetime, status: str = "True") -> Object:
    return condition(PROGRESSING, status, reason, message, now)


def paused_conditions(deployment: Object, present: list[Object], now: datetime) -> list[Object]:
    """Time spent paused must not count against the deadline, so both ends of it are noted."""
    found = conditions.find(present, PROGRESSING) or {}
    if not has_deadline(deployment) or found.get("reason") == TIMED_OUT:
        return present
    is_noted = found.get("reason") == PAUSED
    is_paused = bool(deployment["spec"].get("paused"))
    if is_paused == is_noted:
        return present
    reason, what = (PAUSED, "paused") if is_paused else (RESUMED, "resumed")
    new = progressing(reason, f"Deployment is {what}", now, "Unknown")
    return conditions.renewed(present, new)


def counted(
    deployment: Object,
    sets: Sequence[Object],
    new: Object | None,
    present: list[Object],
    now: datetime,
) -> Object:
    """The counts, and whether enough is available."""
    available = total(sets, "status", "availableReplicas")
    status = {
        "observedGeneration": deployment["metadata"].get("generation"),
        "replicas": total(sets, "status", "replicas"),
        "updatedReplicas": number(new or {}, "status", "replicas"),
        "readyReplicas": total(sets, "status", "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(sum(map(size, sets)) - available, 0),
        "collisionCount": number(deployment, "status", "collisionCount"),
    }
    if available >= wanted(deployment) - unavailable_max(deployment):
        message = "Deployment has minimum availability."
        enough = condition(AVAILABLE, "True", "MinimumReplicasAvailable", message, now)
    else:
        message = "Deployment does not have minimum availability."
        enough = condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)
    return told({**status, "conditions": conditions.renewed(present, enough)})


def rolled_out(
    deployment: Object,
    sets: Sequence[Object],
    new: Object | None,
    present: list[Object],
    now: datetime,
) -> Object:
    """The status during and after a roll-out: the counts, and how it progresses."""
    status = counted(deployment, sets, new, present, now)
    found = list(status.get("conditions") or ())
    if has_deadline(deployment):
        found = _progress(deployment, status, new, present, found, now)
    else:
        found = conditions.without(found, PROGRESSING)
    failure = _failure(sets, new)
    if failure is None:
        found = conditions.without(found, FAILURE)
    else:
        found = conditions.renewed(found, failure)
    return told({**status, "conditions": found})


def is_complete(deployment: Object, status: Object) -> bool:
    counts = {number(status, name) for name in ("updatedReplicas", "replicas", "availableReplicas")}
    is_observed = number(status, "observedGeneration") >= number(
        deployment, "metadata", "generation"
    )
    return counts == {wanted(deployment)} and is_observed


def deadline_in(deployment: Object, status: Object, now: datetime) -> float | None:
    """The seconds until lack of progress is to be told; None where that is no question."""
    found = conditions.find(status.get("conditions"), PROGRESSING)
    if not has_deadline(deployment) or found is None or is_complete(deployment, status):
        return None
    if found.get("reason") == TIMED_OUT:
        return None
    return max((_deadline(deployment, found) - now).total_seconds(), 0.0) + 1.0


def _progress(
    deployment: Object,
    status: Object,
    new: Object | None,
    present: list[Object],
    found: list[Object],
    now: datetime,
) -> list[Object]:
    known = conditions.find(present, PROGRESSING)
    is_rolled_out = number(status, "replicas") == number(status, "updatedReplicas")
    if is_rolled_out and known is not None and known.get("reason") == COMPLETE:
        return found
    name = deployment["metadata"]["name"] if new is None else new["metadata"]["name"]
    who = f'{"Deployment" if new is None else "ReplicaSet"} "{name}"'
    if is_complete(deployment, status):
        done = progressing(COMPLETE, f"{who} has successfully progressed.", now)
        return conditions.renewed(found, done)
    if _has_progressed(deployment.get("status") or {}, status):
        step = progressing("ReplicaSetUpdated", f"{who} is progressing.", now)
        if known is not None and known.get("status") == "True":
            step["lastTransitionTime"] = known.get("lastTransitionTime")
        return [*conditions.without(found, PROGRESSING), step]
    if _is_timed_out(deployment, found, now):
        late = progressing(TIMED_OUT, f"{who} has timed out progressing.", now, "False")
        return conditions.renewed(found, late)
    return found


def _has_progressed(before: Object, after: Object) -> bool:
    """More new pods, fewer old ones, or more that are ready or available."""
    more = ("updatedReplicas", "readyReplicas", "availableReplicas")
    if any(number(after, name) > number(before, name) for name in more):
        return True
    return _old(after) < _old(before)


def _old(status: Object) -> int:
    return number(status, "replicas") - number(status, "updatedReplicas")


def _is_timed_out(deployment: Object, found: list[Object], now: datetime) -> bool:
    known = conditions.find(found, PROGRESSING)
    if known is None or known.get("reason") == COMPLETE:
        return False
    return known.get("reason") == TIMED_OUT or _deadline(deployment, known) < now


def _deadline(deployment: Object, known: Object) -> datetime:
    since = times.parse_time(known["lastUpdateTime"])
    return since + timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])


def _failure(sets: Sequence[Object], new: Object | None) -> Object | None:
    """What keeps a ReplicaSet from its pods; the new one's trouble comes first."""
    for each in [*([new] if new is not None else []), *sets]:
        found = conditions.find((each.get("status") or {}).get("conditions"), FAILURE)
        if found is not None:
            return {**found, "lastUpdateTime": found["lastTransitionTime"]}
    return None
