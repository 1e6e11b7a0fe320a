"""The workloads that wait in a queue, in the order in which they are tried, and why each waits: two
API groups that are answered from memory.
"""

from functools import partial
from typing import Any

from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.scheduler import Scheduler
from fleetqueue.api import structural
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import explanation, visibility
from fleetqueue.api.kueue.explanation import WorkloadExplanation
from fleetqueue.api.kueue.visibility import LIMIT_DEFAULT, LIMIT_MAX, PendingWorkloadsSummary
from fleetqueue.api.meta import Key
from fleetqueue.api.served_groups import Answered, Asked, ServedGroup, not_found
from fleetqueue.api.times import format_time
from fleetqueue.queueing import plan
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]
PAGE = ("limit", "offset")


def groups(ledger: Ledger, scheduler: Scheduler) -> list[ServedGroup]:
    return [pending_workloads(ledger), explanations(ledger, scheduler)]


def pending_workloads(ledger: Ledger) -> ServedGroup:
    """Who waits, by ClusterQueue and by LocalQueue."""
    below = ("pendingworkloads", "PendingWorkloadsSummary", PAGE)
    return ServedGroup(
        visibility.GROUP,
        "Kueue visibility-server",
        ("v1beta2", "v1beta1"),
        (
            Answered("clusterqueues", "clusterqueue", "ClusterQueue", False, *below),
            Answered("localqueues", "localqueue", "LocalQueue", True, *below),
        ),
        {"PendingWorkloadsSummary": structural.object_schema(PendingWorkloadsSummary)},
        partial(_summary, ledger),
    )


def explanations(ledger: Ledger, scheduler: Scheduler) -> ServedGroup:
    """Why a workload waits."""
    answered = Answered(
        "workloads", "workload", "Workload", True, "explanation", "WorkloadExplanation"
    )
    return ServedGroup(
        explanation.GROUP,
        "fleetqueue visibility",
        (explanation.VERSION,),
        (answered,),
        {"WorkloadExplanation": structural.object_schema(WorkloadExplanation)},
        partial(_explanation, ledger, scheduler),
    )


def _summary(ledger: Ledger, asked: Asked) -> Json:
    offset, limit = read_page(asked)
    if asked.resource == "clusterqueues":
        items = of_cluster_queue(ledger, asked.name, offset, limit)
    else:
        items = of_local_queue(ledger, Key(asked.namespace, asked.name), offset, limit)
    if items is None:
        raise not_found(visibility.GROUP, asked.resource.removesuffix("s"), asked.name)
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": f"{visibility.GROUP}/{asked.version}",
        "metadata": {},
        "items": items,
    }


def _explanation(ledger: Ledger, scheduler: Scheduler, asked: Asked) -> Json:
    found = explain(ledger, scheduler, Key(asked.namespace, asked.name))
    if found is None:
        raise not_found(explanation.GROUP, "workload", asked.name)
    return {
        "kind": "WorkloadExplanation",
        "apiVersion": f"{explanation.GROUP}/{asked.version}",
        "metadata": {"name": asked.name, "namespace": asked.namespace},
        **found,
    }


def of_cluster_queue(
    ledger: Ledger, name: str, offset: int, limit: int, local: Key | None = None
) -> list[Json] | None:
    """All of it, or what came by one LocalQueue. None: there is no such queue."""
    queue = ledger.pending.get(name)
    return None if queue is None else _page(ledger, queue.ordered(), local, offset, limit)


def of_local_queue(ledger: Ledger, key: Key, offset: int, limit: int) -> list[Json] | None:
    """None: there is no such queue, or it is stopped. Without its ClusterQueue nobody waits."""
    local = ledger.local_queues.get(key)
    if local is None or local.is_stopped:
        return None
    return of_cluster_queue(ledger, local.cluster_queue, offset, limit, key) or []


def read_page(asked: Asked) -> tuple[int, int]:
    """Offset and limit of a request."""
    offset, limit = asked.number("offset", 0), asked.number("limit", LIMIT_DEFAULT)
    return max(0, offset), min(max(0, limit), LIMIT_MAX)


def explain(ledger: Ledger, scheduler: Scheduler, key: Key) -> Json | None:
    """What was decided last about a workload: per pod set, flavor and resource what it needs, what
    is free, and why that is not enough. None: there is no such workload.
    """
    obj, decision = ledger.workload(key), scheduler.verdicts.get(key)
    if obj is None:
        return None
    reserved = status.find_condition(obj, status.QUOTA_RESERVED) or {}
    name = (obj.get("spec") or {}).get("queueName") or ""
    local = ledger.local_queues.get(Key(key.namespace, name))
    return {
        "localQueueName": name,
        "clusterQueueName": "" if local is None else local.cluster_queue,
        "decision": "" if decision is None else type(decision).__name__,
        "reason": str(reserved.get("reason") or ""),
        "message": str(reserved.get("message") or ""),
        "podSets": [] if decision is None else plan.explain(decision),
    }


def _page(
    ledger: Ledger, waiting: list[Workload], local: Key | None, offset: int, limit: int
) -> list[Json]:
    places: dict[Key, int] = {}
    found = []
    for position, workload in enumerate(waiting):
        home = Key(workload.key.namespace, workload.local_queue)
        place = places[home] = places.get(home, -1) + 1
        if local is None or home == local:
            found.append(_item(ledger, workload, position, place))
    return found[offset : offset + limit]


def _item(ledger: Ledger, workload: Workload, position: int, place: int) -> Json:
    obj = ledger.workload(workload.key) or {"metadata": {}}
    owners = obj["metadata"].get("ownerReferences") or ()
    metadata: Json = {
        "name": workload.key.name,
        "namespace": workload.key.namespace,
        "creationTimestamp": format_time(workload.created_at),
    }
    if owners:
        told = ("apiVersion", "kind", "name", "uid")
        metadata["ownerReferences"] = [{name: each[name] for name in told} for each in owners]
    return {
        "metadata": metadata,
        "priority": workload.priority,
        "localQueueName": workload.local_queue,
        "positionInClusterQueue": position,
        "positionInLocalQueue": place,
    }
