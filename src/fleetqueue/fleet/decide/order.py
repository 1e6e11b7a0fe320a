"""In which order selected objects are listed and delivered."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.fleet import text

Json = dict[str, Any]
KINDS = (
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}


def ordered(objects: Iterable[Json]) -> list[Json]:
    """Kinds that others need first, those nobody knows last; the same order every time."""
    return sorted(objects, key=_key)


def _key(obj: Json) -> tuple[int, str, str]:
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    metadata = obj["metadata"]
    name = text.object_name(metadata.get("namespace") or "", metadata["name"])
    kind = str(obj["kind"])
    return _RANKS.get(kind, len(KINDS)), text.kind(group, version, kind), name
