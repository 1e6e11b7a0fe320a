"""What a list of workloads tells of each: its job, its queues, its status, its place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue.phases import PENDING, PHASES, phase_of
from fleetqueue.api.times import human_duration, parse_time
from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.cli.kueuectl.quotas import split
from fleetqueue.cli.kueuectl.tables import age

Object = dict[str, Any]
HEADERS = (
    "Name",
    "Job Type",
    "Job Name",
    "LocalQueue",
    "ClusterQueue",
    "Status",
    "Position in Queue",
    "Exec Time",
    "Age",
)
TYPE_LENGTH_MAX = 20
BAD_STATUS = 'invalid status value ({}). Must be "all", "pending", "admitted" or "finished"'


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known beside the workloads."""

    cluster_queues: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By namespace and name of the LocalQueue."""
    positions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By namespace and name of the workload."""
    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """`<singular>.<group>` by apiVersion and kind."""


def row(workload: Object, around: Surroundings, now: datetime) -> list[Any]:
    metadata = workload["metadata"]
    status = phase_of(workload)
    where = (metadata.get("namespace") or "", metadata["name"])
    position = around.positions.get(where) if status == PENDING else None
    return [
        metadata["name"],
        shortened(job_types(workload, around)),
        ", ".join(owner["name"] for owner in owners(workload)),
        local_queue(workload),
        cluster_queue(workload, around),
        status,
        "" if position is None else position,
        execution_time(workload, now),
        age(now, metadata.get("creationTimestamp")),
    ]


def read_statuses(texts: tuple[str, ...]) -> set[str]:
    """Which of them are wanted; nothing said is all."""
    found: set[str] = set()
    for text in split(texts):
        name = text.upper()
        if name == "ALL":
            found |= set(PHASES)
        elif name in PHASES:
            found.add(name)
        else:
            raise Failure(BAD_STATUS.format(text))
    return found or set(PHASES)


def local_queue(workload: Object) -> str:
    return (workload.get("spec") or {}).get("queueName") or ""


def cluster_queue(workload: Object, around: Surroundings) -> str:
    """Where it is admitted; else where its queue would have it."""
    admission = (workload.get("status") or {}).get("admission") or {}
    key = (workload["metadata"].get("namespace") or "", local_queue(workload))
    return admission.get("clusterQueue") or around.cluster_queues.get(key, "")


def owners(workload: Object) -> list[Object]:
    return list(workload["metadata"].get("ownerReferences") or ())


def job_types(workload: Object, around: Surroundings) -> str:
    kinds = [(owner["apiVersion"], owner["kind"]) for owner in owners(workload)]
    return ", ".join(dict.fromkeys(around.types.get(kind) or plain_type(*kind) for kind in kinds))


def plain_type(api_version: str, kind: str, singular: str = "") -> str:
    group, slash, _ = api_version.rpartition("/")
    name = singular or kind.lower()
    return f"{name}.{group}" if slash else name


def shortened(text: str) -> str:
    return text if len(text) <= TYPE_LENGTH_MAX else f"{text[:TYPE_LENGTH_MAX]}..."


def execution_time(workload: Object, now: datetime) -> str:
    admitted = status_of.find_condition(workload, "Admitted")
    if admitted is None or admitted["status"] != "True":
        return ""
    finished = status_of.find_condition(workload, "Finished")
    is_over = finished is not None and finished["status"] == "True"
    end = parse_time(finished["lastTransitionTime"]) if finished and is_over else now
    return human_duration(end - parse_time(admitted["lastTransitionTime"]))
