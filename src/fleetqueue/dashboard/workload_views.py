"""What is shown of a Workload: its line in a list, and who preempted it. Pure."""

import re
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import phases

Json = dict[str, Any]
_PREEMPTOR = re.compile(r"\(UID: ([^,)\s]+)")


def row(workload: Json) -> Json:
    """All but the ClusterQueue of one that waits, which only its LocalQueue knows."""
    metadata, spec = workload["metadata"], workload.get("spec") or {}
    told = workload.get("status") or {}
    phase = phases.phase_of(workload)
    news = _news(workload, phase)
    return {
        "namespace": metadata.get("namespace") or "",
        "name": metadata["name"],
        "uid": metadata.get("uid") or "",
        "createdAt": metadata.get("creationTimestamp") or "",
        "queue": spec.get("queueName") or "",
        "reservedIn": (told.get("admission") or {}).get("clusterQueue") or "",
        "admitted": _status_of(workload, status.ADMITTED),
        "finished": _status_of(workload, status.FINISHED),
        "phase": phase,
        "isActive": spec.get("active") is not False,
        "priority": spec.get("priority") or 0,
        "priorityClass": (spec.get("priorityClassRef") or {}).get("name") or "",
        "owner": _owner(metadata),
        "pods": sum(each.get("count", 1) for each in spec.get("podSets") or ()),
        "cluster": told.get("clusterName") or "",
        "reason": news.get("reason") or "",
        "message": news.get("message") or "",
        "isPreempted": status.is_true(workload, status.PREEMPTED),
    }


def preemption(workload: Json) -> Json:
    """Why it was preempted; `preemptorUid` is of the Workload that needed its place."""
    told = workload.get("status") or {}
    found = status.find_condition(workload, status.PREEMPTED) or {}
    message = str(found.get("message") or "")
    uid = _PREEMPTOR.search(message)
    return {
        "isPreempted": found.get("status") == "True",
        "reason": found.get("reason") or "",
        "message": message,
        "at": found.get("lastTransitionTime") or "",
        "preemptorUid": uid.group(1) if uid else "",
        "evictions": (told.get("schedulingStats") or {}).get("evictions") or [],
        "requeue": told.get("requeueState"),
        "gates": told.get("preemptionGates") or [],
    }


def event(obj: Json) -> Json:
    """One line of what happened to it; both generations of Events are read."""
    series = obj.get("series") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime") or ""
    source = obj.get("source") or {}
    return {
        "uid": obj["metadata"].get("uid") or "",
        "type": obj.get("type") or "",
        "reason": obj.get("reason") or "",
        "message": obj.get("message") or obj.get("note") or "",
        "count": series.get("count") or obj.get("count") or 1,
        "firstAt": first,
        "lastAt": series.get("lastObservedTime") or obj.get("lastTimestamp") or first,
        "from": source.get("component") or obj.get("reportingComponent") or "",
    }


def _news(workload: Json, phase: str) -> Json:
    """The condition that says most about where it stands."""
    if phase == phases.FINISHED:
        wanted: tuple[str, ...] = (status.FINISHED,)
    elif phase == phases.PENDING:
        wanted = (status.QUOTA_RESERVED, status.EVICTED)
    else:
        wanted = (status.EVICTED, status.ADMITTED, status.QUOTA_RESERVED)
    for type in wanted:
        found = status.find_condition(workload, type)
        if found is not None and (type != status.EVICTED or found.get("status") == "True"):
            return found
    return {}


def _status_of(workload: Json, type: str) -> str:
    return str((status.find_condition(workload, type) or {}).get("status") or "")


def _owner(metadata: Json) -> Json | None:
    owners = metadata.get("ownerReferences") or ()
    first = next((each for each in owners if each.get("controller")), next(iter(owners), None))
    if first is None:
        return None
    return {name: first.get(name) or "" for name in ("apiVersion", "kind", "name")}
