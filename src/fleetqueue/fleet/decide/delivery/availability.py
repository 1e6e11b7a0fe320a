"""Whether an object that was applied is of use already, by its kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.delivery import job_ends

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Availability:
    """The condition of a manifest, before it knows time and generation."""

    reason: str
    message: str
    is_true: bool


AVAILABLE = Availability("Available", "Manifest is available", True)
NOT_TRACKABLE = Availability(
    "NotTrackable",
    "Manifest's availability is not trackable; Fleet assumes that the applied manifest is"
    " available",
    True,
)
NOT_YET = Availability(
    "ManifestNotAvailableYet",
    "Manifest is not yet available; Fleet will check again later",
    False,
)


def failed(error: str) -> Availability:
    text = f"Failed to track the availability of the applied manifest (error = {error})"
    return Availability("Failed", text, False)


def availability(obj: Json, *, is_job_aware: bool) -> Availability:
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind") or "")
    if is_job_aware and job_ends.is_job(group, kind):
        return of_job(job_ends.end_of(obj))
    if (group, kind) in _AT_ONCE:
        return AVAILABLE
    check = _CHECKS.get((group, kind))
    return NOT_TRACKABLE if check is None else check(obj)


def of_job(end: job_ends.End | None) -> Availability:
    if end is None:
        return NOT_YET
    return AVAILABLE if end.is_success else failed(end.message)


def _known(is_available: bool) -> Availability:
    return AVAILABLE if is_available else NOT_YET


def _is_observed(obj: Json) -> bool:
    seen = (obj.get("status") or {}).get("observedGeneration") or 0
    return bool(seen == (obj["metadata"].get("generation") or 0))


def _count(obj: Json, name: str) -> int:
    return int((obj.get("status") or {}).get(name) or 0)


def _replicas(obj: Json) -> int:
    found = (obj.get("spec") or {}).get("replicas")
    return 1 if found is None else int(found)


def _deployment(obj: Json) -> Availability:
    wanted = _replicas(obj)
    return _known(
        _is_observed(obj)
        and _count(obj, "updatedReplicas") == _count(obj, "availableReplicas") == wanted
        and _count(obj, "unavailableReplicas") == 0
    )


def _stateful_set(obj: Json) -> Availability:
    status = obj.get("status") or {}
    return _known(
        _is_observed(obj)
        and _count(obj, "availableReplicas") == _replicas(obj)
        and _count(obj, "currentReplicas") == _count(obj, "updatedReplicas")
        and status.get("currentRevision") == status.get("updateRevision")
    )


def _daemon_set(obj: Json) -> Availability:
    return _known(
        _is_observed(obj)
        and _count(obj, "numberAvailable") == _count(obj, "desiredNumberScheduled")
        and _count(obj, "currentNumberScheduled") == _count(obj, "updatedNumberScheduled")
    )


def _service(obj: Json) -> Availability:
    spec = obj.get("spec") or {}
    match spec.get("type") or "ClusterIP":
        case "ClusterIP" | "NodePort":
            return _known(bool((spec.get("clusterIPs") or [spec.get("clusterIP")])[0]))
        case "LoadBalancer":
            found = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
            return _known(any(each.get("ip") or each.get("hostname") for each in found))
    return NOT_TRACKABLE


def _definition(obj: Json) -> Availability:
    found = (obj.get("status") or {}).get("conditions")
    types = ("Established", "NamesAccepted")
    return _known(all(conditions.status_of(found, type) == conditions.TRUE for type in types))


_CHECKS: Mapping[tuple[str, str], Callable[[Json], Availability]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("policy", "PodDisruptionBudget"): lambda obj: _known(_is_observed(obj)),
}
_AT_ONCE_BY_GROUP = {
    "": "Namespace Secret ConfigMap ServiceAccount LimitRange ResourceQuota",
    "rbac.authorization.k8s.io": "Role ClusterRole RoleBinding ClusterRoleBinding",
    "networking.k8s.io": "NetworkPolicy IngressClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass CSIStorageCapacity",
    "apps": "ControllerRevision",
    "scheduling.k8s.io": "PriorityClass",
}
_AT_ONCE = {(group, kind) for group, kinds in _AT_ONCE_BY_GROUP.items() for kind in kinds.split()}
