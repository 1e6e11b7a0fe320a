"""Converts Kueue's objects between v1beta1 and v1beta2, on plain JSON.

Fields that neither version knows pass through; the target's schema decides about them. What a Go
program would add when it writes the object again, such as `status: {}`, is added here too, because
clients can see it.
"""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.kueue import topology_encoding
from fleetqueue.api.kueue.group import GROUP
from fleetqueue.api.kueue.templates import fill_templates
from fleetqueue.api.kueue.v1beta1.workload import (
    POD_PRIORITY_CLASS_SOURCE,
    WORKLOAD_PRIORITY_CLASS_SOURCE,
)
from fleetqueue.base import codec

Json = dict[str, Any]

V1BETA1 = f"{GROUP}/v1beta1"
V1BETA2 = f"{GROUP}/v1beta2"

_REFERENCES = {
    WORKLOAD_PRIORITY_CLASS_SOURCE: (GROUP, "WorkloadPriorityClass"),
    POD_PRIORITY_CLASS_SOURCE: ("scheduling.k8s.io", "PriorityClass"),
}
_SOURCES = {reference: source for source, reference in _REFERENCES.items()}


class ConversionError(ValueError):
    """The object cannot be given in the version that was asked for."""


def convert(obj: Json, api_version: str) -> Json:
    """The same object in another version; the one handed in stays as it is."""
    source = obj.get("apiVersion")
    if {source, api_version} - {V1BETA1, V1BETA2}:
        raise ConversionError(f"cannot convert {obj.get('kind')} from {source} to {api_version}")
    converted: Json = codec.copy(obj)
    if source == api_version:
        return converted
    converted["apiVersion"] = api_version
    steps = _UP if api_version == V1BETA2 else _DOWN
    if step := steps.get(str(obj.get("kind"))):
        try:
            step(converted)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ConversionError(f"the {obj['kind']} is malformed: {error!r}") from error
    return converted


def _cluster_queue_up(obj: Json) -> None:
    spec, status = _part(obj, "spec"), _queue_status(obj)
    _rename(spec, "cohort", "cohortName")
    if checks := spec.pop("admissionChecks", None):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    fungibility = spec.get("flavorFungibility") or {}
    for field, old_word in (("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")):
        if fungibility.get(field) == old_word:
            fungibility[field] = "MayStopSearch"
    status.pop("pendingWorkloadsStatus", None)
    _forget_past_usage(status)


def _cluster_queue_down(obj: Json) -> None:
    spec = _part(obj, "spec")
    _queue_status(obj)
    _rename(spec, "cohortName", "cohort")
    spec.pop("concurrentAdmissionPolicy", None)


def _local_queue_up(obj: Json) -> None:
    status = _queue_status(obj)
    _rename(status, "flavorUsage", "flavorsUsage")
    status.pop("flavors", None)


def _local_queue_down(obj: Json) -> None:
    _rename(_queue_status(obj), "flavorsUsage", "flavorUsage")


def _cohort_up(obj: Json) -> None:
    _forget_past_usage(_part(obj, "status"))


def _cohort_down(obj: Json) -> None:
    _part(obj, "status")


def _workload_up(obj: Json) -> None:
    spec, status = _part(obj, "spec"), _part(obj, "status")
    name = spec.pop("priorityClassName", "")
    reference = _REFERENCES.get(spec.pop("priorityClassSource", ""))
    if reference:
        group, kind = reference
        spec["priorityClassRef"] = {"group": group, "kind": kind, "name": name}
    _rename(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
    fill_templates(spec)
    _each_assignment(status, topology_encoding.pack)


def _workload_down(obj: Json) -> None:
    spec, status = _part(obj, "spec"), _part(obj, "status")
    if reference := spec.pop("priorityClassRef", None):
        spec["priorityClassName"] = reference.get("name", "")
        source = _SOURCES.get((reference.get("group", ""), reference.get("kind", "")))
        if source:
            spec["priorityClassSource"] = source
    _rename(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    spec.pop("preemptionGates", None)
    status.pop("preemptionGates", None)
    for pod_set in spec.get("podSets") or []:
        (pod_set.get("topologyRequest") or {}).pop("podsetSliceRequiredTopologyConstraints", None)
    fill_templates(spec)
    _each_assignment(status, topology_encoding.unpack)


def _multikueue_cluster_up(obj: Json) -> None:
    spec = _part(obj, "spec")
    _part(obj, "status")
    kube_config, profile = spec.pop("kubeConfig", None), spec.pop("clusterProfileRef", None)
    source: Json = {}
    if kube_config and kube_config.get("location"):
        source["kubeConfig"] = kube_config
    if profile:
        source["clusterProfileRef"] = profile
    spec["clusterSource"] = source


def _multikueue_cluster_down(obj: Json) -> None:
    spec = _part(obj, "spec")
    _part(obj, "status")
    source = spec.pop("clusterSource", None) or {}
    spec["kubeConfig"] = source.get("kubeConfig") or {"location": "", "locationType": ""}
    if profile := source.get("clusterProfileRef"):
        spec["clusterProfileRef"] = profile


_UP: dict[str, Callable[[Json], None]] = {
    "ClusterQueue": _cluster_queue_up,
    "LocalQueue": _local_queue_up,
    "Cohort": _cohort_up,
    "Workload": _workload_up,
    "MultiKueueCluster": _multikueue_cluster_up,
}

_DOWN: dict[str, Callable[[Json], None]] = {
    "ClusterQueue": _cluster_queue_down,
    "LocalQueue": _local_queue_down,
    "Cohort": _cohort_down,
    "Workload": _workload_down,
    "MultiKueueCluster": _multikueue_cluster_down,
}

KINDS = frozenset(_UP)
"""The kinds with a conversion of their own; of the others only the apiVersion changes."""


def _part(obj: Json, name: str) -> Json:
    part: Json = obj.get(name) or {}
    obj[name] = part
    return part


def _queue_status(obj: Json) -> Json:
    """The status of a queue of either sort; its counters are always written."""
    status = _part(obj, "status")
    for counter in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads"):
        status.setdefault(counter, 0)
    return status


def _rename(part: Json, old: str, new: str) -> None:
    if value := part.pop(old, None):
        part[new] = value


def _forget_past_usage(status: Json) -> None:
    (status.get("fairSharing") or {}).pop("admissionFairSharingStatus", None)


def _each_assignment(status: Json, change: Callable[[Json], Json]) -> None:
    for assignment in (status.get("admission") or {}).get("podSetAssignments") or []:
        if topology := assignment.get("topologyAssignment"):
            assignment["topologyAssignment"] = change(topology)
