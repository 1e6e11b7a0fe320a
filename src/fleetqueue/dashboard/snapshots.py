"""The whole of what a topic says, as JSON, made of what is seen. Pure: nothing is asked here."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.admission.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
)
from fleetqueue.api.kueue import phases
from fleetqueue.base import codec
from fleetqueue.dashboard import workload_views
from fleetqueue.dashboard.sight import Held, Sight
from fleetqueue.dashboard.topics import PAGES, Topic
from fleetqueue.kube.resources import Resource

Json = dict[str, Any]
LONGEST_WAITING = 20


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known for one topic alone."""

    explanation: Json | None = None
    events: Sequence[Held] = field(default_factory=tuple)
    problem: str = ""
    """Why the events are not what there is."""


NOTHING = Beside()


def snapshot(sight: Sight, topic: Topic, beside: Beside = NOTHING) -> bytes:
    kinds = PAGES[topic.page].kinds
    problem = sight.problem(kinds) or beside.problem
    if not sight.has_all(kinds):
        return _refusal(problem or "the cluster has not answered yet")
    told = _PAGES[topic.page](sight, topic, beside)
    if problem:
        told["problem"] = codec.encode(problem)
    return _object(told)


def _object(members: Mapping[str, bytes]) -> bytes:
    """A JSON object of members that are encoded already."""
    return b"{" + b",".join(b'"%s":%s' % (k.encode(), v) for k, v in members.items()) + b"}"


def _refusal(text: str) -> bytes:
    return codec.encode({"error": text})


def _rows(found: Iterable[Held]) -> bytes:
    ordered = sorted(found, key=lambda held: (held.key.namespace, held.key.name))
    return codec.encode([held.row for held in ordered])


Told = dict[str, bytes]


def _namespaces(sight: Sight, topic: Topic, beside: Beside) -> Told:
    found = sorted({held.key.namespace for held in sight.all(LOCAL_QUEUE)})
    return {"namespaces": codec.encode(found)}


def _workloads(sight: Sight, topic: Topic, beside: Beside) -> Told:
    if topic.namespace:
        return {"items": sight.workload_rows(sight.by(WORKLOAD, "namespace", topic.namespace))}
    return {"items": sight.workload_rows(sight.all(WORKLOAD))}


def _dashboard(sight: Sight, topic: Topic, beside: Beside) -> Told:
    """Counts, how full each queue is, and who waits the longest."""
    pending = sight.by(WORKLOAD, "phase", phases.PENDING)
    oldest = heapq.nsmallest(
        LONGEST_WAITING, pending, key=lambda held: (held.row["createdAt"], held.key)
    )
    counts = {
        "workloads": sight.phases(),
        "localQueues": len(sight.informers[LOCAL_QUEUE].store),
        "clusterQueues": len(sight.informers[CLUSTER_QUEUE].store),
        "cohorts": len(_cohort_names(sight)),
        "resourceFlavors": len(sight.informers[RESOURCE_FLAVOR].store),
    }
    return {
        "counts": codec.encode(counts),
        "clusterQueues": _rows(sight.all(CLUSTER_QUEUE)),
        "waiting": sight.workload_rows(oldest),
    }


def _workload(sight: Sight, topic: Topic, beside: Beside) -> Told:
    found = sight.get(WORKLOAD, topic.name, topic.namespace)
    if found is None:
        return _missing("Workload", topic)
    return {
        "workload": found.data,
        "row": sight.workload_row(found),
        "preemption": codec.encode(workload_views.preemption(codec.decode(found.data))),
        "explanation": codec.encode(beside.explanation),
    }


def _events(sight: Sight, topic: Topic, beside: Beside) -> Told:
    newest = sorted(beside.events, key=lambda held: (held.row["lastAt"], held.key), reverse=True)
    return {"items": codec.encode([held.row for held in newest])}


def _local_queues(sight: Sight, topic: Topic, beside: Beside) -> Told:
    if topic.namespace:
        return {"items": _rows(sight.by(LOCAL_QUEUE, "namespace", topic.namespace))}
    return {"items": _rows(sight.all(LOCAL_QUEUE))}


def _local_queue(sight: Sight, topic: Topic, beside: Beside) -> Told:
    found = sight.get(LOCAL_QUEUE, topic.name, topic.namespace)
    if found is None:
        return _missing("LocalQueue", topic)
    return {"localQueue": found.data, "row": codec.encode(found.row)}


def _local_queue_workloads(sight: Sight, topic: Topic, beside: Beside) -> Told:
    found = sight.by(WORKLOAD, "queue", (topic.namespace, topic.name))
    return {"items": sight.workload_rows(found)}


def _cluster_queues(sight: Sight, topic: Topic, beside: Beside) -> Told:
    return {"items": _rows(sight.all(CLUSTER_QUEUE))}


def _cluster_queue(sight: Sight, topic: Topic, beside: Beside) -> Told:
    """With the LocalQueues that lead to it, and the workloads that have quota in it."""
    found = sight.get(CLUSTER_QUEUE, topic.name)
    if found is None:
        return _missing("ClusterQueue", topic)
    holding = sight.by(WORKLOAD, "reservedIn", topic.name)
    running = (held for held in holding if held.row["phase"] != phases.FINISHED)
    return {
        "clusterQueue": found.data,
        "row": codec.encode(found.row),
        "localQueues": _rows(sight.by(LOCAL_QUEUE, "clusterQueue", topic.name)),
        "workloads": sight.workload_rows(running),
    }


def _cohorts(sight: Sight, topic: Topic, beside: Beside) -> Told:
    return {"items": codec.encode([_cohort_row(sight, name) for name in _cohort_names(sight)])}


def _cohort(sight: Sight, topic: Topic, beside: Beside) -> Told:
    """Also one that no object describes: to be named by a queue is enough."""
    found = sight.get(COHORT, topic.name)
    queues = sight.by(CLUSTER_QUEUE, "cohort", topic.name)
    children = sight.by(COHORT, "parent", topic.name)
    if found is None and not queues and not children:
        return _missing("Cohort", topic)
    return {
        "cohort": b"null" if found is None else found.data,
        "row": codec.encode(_cohort_row(sight, topic.name)),
        "clusterQueues": _rows(queues),
        "children": codec.encode([_cohort_row(sight, held.key.name) for held in children]),
    }


def _cohort_names(sight: Sight) -> list[str]:
    names = {held.key.name for held in sight.all(COHORT)}
    names |= {str(held.row["parent"]) for held in sight.all(COHORT)}
    names |= {str(held.row["cohort"]) for held in sight.all(CLUSTER_QUEUE)}
    return sorted(names - {""})


def _cohort_row(sight: Sight, name: str) -> Json:
    found = sight.get(COHORT, name)
    row: Json = {"parent": "", "weightedShare": None, "resources": [], "createdAt": ""}
    return {
        **(row if found is None else found.row),
        "name": name,
        "exists": found is not None,
        "clusterQueues": _names(sight, CLUSTER_QUEUE, "cohort", name),
        "children": _names(sight, COHORT, "parent", name),
    }


def _resource_flavors(sight: Sight, topic: Topic, beside: Beside) -> Told:
    ordered = sorted(sight.all(RESOURCE_FLAVOR), key=lambda held: held.key)
    return {"items": codec.encode([_flavor_row(sight, held) for held in ordered])}


def _resource_flavor(sight: Sight, topic: Topic, beside: Beside) -> Told:
    """With the queues that have quota of it."""
    found = sight.get(RESOURCE_FLAVOR, topic.name)
    if found is None:
        return _missing("ResourceFlavor", topic)
    return {
        "resourceFlavor": found.data,
        "row": codec.encode(_flavor_row(sight, found)),
        "clusterQueues": _rows(sight.by(CLUSTER_QUEUE, "flavor", topic.name)),
    }


def _flavor_row(sight: Sight, flavor: Held) -> Json:
    return {
        **flavor.row,
        "clusterQueues": _names(sight, CLUSTER_QUEUE, "flavor", flavor.key.name),
    }


def _names(sight: Sight, kind: Resource, index: str, value: str) -> list[str]:
    return sorted(held.key.name for held in sight.by(kind, index, value))


def _missing(kind: str, topic: Topic) -> Told:
    name = f"{topic.namespace}/{topic.name}" if topic.namespace else topic.name
    return {"error": codec.encode(f'there is no {kind} "{name}"')}


_PAGES: dict[str, Callable[[Sight, Topic, Beside], Told]] = {
    "namespaces": _namespaces,
    "workloads": _workloads,
    "dashboard": _dashboard,
    "workload": _workload,
    "events": _events,
    "local-queues": _local_queues,
    "local-queue": _local_queue,
    "local-queue-workloads": _local_queue_workloads,
    "cluster-queues": _cluster_queues,
    "cluster-queue": _cluster_queue,
    "cohorts": _cohorts,
    "cohort": _cohort,
    "resource-flavors": _resource_flavors,
    "resource-flavor": _resource_flavor,
}
