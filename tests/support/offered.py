"""Workloads, workers and their queues as dispatchers see them, from a few words."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fleetqueue.api.times import format_time
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.multikueue.dispatcher import Candidate, Offer
from fleetqueue.multikueue.settings import DispatchSettings

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SETTINGS = DispatchSettings(jobs=JobSettings())
GROUP = "kueue.x-k8s.io/v1beta2"


def workload(
    name: str = "job-a", annotations: Mapping[str, str] | None = None, **usage: str
) -> Json:
    """One that holds quota for one pod; cpu=1 where nothing is said."""
    used = usage or {"cpu": "1"}
    metadata: Json = {"name": name, "namespace": "team", "uid": f"uid-{name}", "generation": 1}
    if annotations:
        metadata["annotations"] = dict(annotations)
    container = {"name": "c", "image": "busybox", "resources": {"requests": used}}
    template = {"spec": {"containers": [container]}}
    assigned = {"name": "main", "count": 1, "flavors": dict.fromkeys(used, "default")}
    return {
        "apiVersion": GROUP,
        "kind": "Workload",
        "metadata": metadata,
        "spec": {
            "queueName": "user-queue",
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
        "status": {
            "admission": {
                "clusterQueue": "manager-queue",
                "podSetAssignments": [{**assigned, "resourceUsage": used}],
            },
            "conditions": [condition("QuotaReserved", True, "QuotaReserved")],
        },
    }


def condition(type: str, value: bool, reason: str, message: str = "", at: datetime = NOW) -> Json:
    return {
        "type": type,
        "status": "True" if value else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(at),
        "observedGeneration": 1,
    }


def copy(*conditions: Json, **status: Any) -> Json:
    """A remote Workload."""
    return {**workload(), "status": {"conditions": list(conditions), **status}}


def local_queue(queue: str = "queue", name: str = "user-queue", namespace: str = "team") -> Json:
    metadata = {"name": name, "namespace": namespace}
    spec = {"clusterQueue": queue}
    return {"apiVersion": GROUP, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def cluster_queue(
    name: str = "queue",
    *,
    cohort: str = "",
    used: str = "",
    borrow: str | None = None,
    lend: str | None = None,
    active: bool = True,
    generation: int = 1,
    **flavors: str,
) -> Json:
    """Flavors as `default="cpu=4 memory=8Gi"`, what is used as `used="default: cpu=1"`."""
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    said = {key: value for key, value in limits.items() if value is not None}
    spec: Json = {"resourceGroups": [_group(flavors, said)]} if flavors else {}
    if cohort:
        spec["cohortName"] = cohort
    reason = "Ready" if active else "Stopped"
    message = "Can admit new workloads" if active else "Can't admit new workloads: is stopped."
    return {
        "apiVersion": GROUP,
        "kind": "ClusterQueue",
        "metadata": {"name": name, "generation": generation},
        "spec": spec,
        "status": {
            "conditions": [condition("Active", active, reason, message)],
            "flavorsReservation": _reserved(used),
        },
    }


def pairs(text: str) -> dict[str, str]:
    return dict(each.split("=", 1) for each in text.split())


def worker(name: str, queue: Json | None = None, *more: Json, **rest: Any) -> Candidate:
    """A connected worker with one LocalQueue of the workload's name; nothing is known of one
    without queues.
    """
    known: Json = {"name": name, "is_connected": True}
    if queue is not None:
        known["cluster_queues"] = [queue, *more]
        known["local_queues"] = [local_queue(queue["metadata"]["name"])]
    return Candidate(**{**known, **rest})


def offer(*candidates: Candidate, **rest: Any) -> Offer:
    known: Json = {
        "workload": workload(),
        "nominated": (),
        "round_started": None,
        "now": NOW,
        "settings": SETTINGS,
    }
    return Offer(**{**known, "candidates": candidates, **rest})


def _group(flavors: Mapping[str, str], limits: Json) -> Json:
    made = {name: pairs(text) for name, text in flavors.items()}
    return {
        "coveredResources": list(dict.fromkeys(key for each in made.values() for key in each)),
        "flavors": [
            {"name": name, "resources": _resources(each, limits)} for name, each in made.items()
        ],
    }


def _resources(amounts: Mapping[str, str], limits: Json) -> Sequence[Json]:
    return [{"name": name, "nominalQuota": each, **limits} for name, each in amounts.items()]


def _reserved(used: str) -> Sequence[Json]:
    made = [each.partition(":") for each in used.split(";") if each]
    return [
        {
            "name": flavor.strip(),
            "resources": [{"name": key, "total": each} for key, each in pairs(text).items()],
        }
        for flavor, _, text in made
    ]
