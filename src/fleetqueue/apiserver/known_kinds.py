"""Which kinds kube-apiserver has registered, served or not; messages tell them from others."""

from functools import cache

from fleetqueue.api import kubernetes

RETIRED = {
    "apps/v1beta1": ("ControllerRevision", "Deployment", "Scale", "StatefulSet"),
    "apps/v1beta2": (
        *("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "Scale", "StatefulSet"),
    ),
    "extensions/v1beta1": (
        *("DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet", "Scale"),
    ),
    "autoscaling/v2beta1": ("HorizontalPodAutoscaler",),
    "autoscaling/v2beta2": ("HorizontalPodAutoscaler",),
    "batch/v1beta1": ("CronJob",),
    "coordination.k8s.io/v1beta1": ("Lease",),
    "discovery.k8s.io/v1beta1": ("EndpointSlice",),
    "events.k8s.io/v1beta1": ("Event",),
    "networking.k8s.io/v1beta1": ("Ingress", "IngressClass", "IPAddress", "ServiceCIDR"),
    "policy/v1beta1": ("Eviction", "PodDisruptionBudget"),
    "rbac.authorization.k8s.io/v1alpha1": (
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    ),
    "rbac.authorization.k8s.io/v1beta1": (
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    ),
    "scheduling.k8s.io/v1alpha1": ("PriorityClass",),
    "scheduling.k8s.io/v1beta1": ("PriorityClass",),
    "storage.k8s.io/v1beta1": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
}
IN_ALL_VERSIONS = (
    *("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions"),
    *("UpdateOptions", "WatchEvent"),
)
IN_CORE = (
    *("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "List", "PodTemplate"),
    *("RangeAllocation", "SerializedReference", "Status"),
)


def is_known(group: str, version: str, kind: str) -> bool:
    """Whether the kind is registered for the version, itself or as a list of what is."""
    known = _known().get(f"{group}/{version}" if group else version, frozenset())
    if kind in known or (known and kind in IN_ALL_VERSIONS):
        return True
    return kind.endswith("List") and kind.removesuffix("List") in known


@cache
def _known() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {name: set(kinds) for name, kinds in RETIRED.items()}
    found["v1"] = set(IN_CORE)
    for group in kubernetes.resources():
        for version in group.versions:
            name = f"{group.name}/{version.name}" if group.name else version.name
            for resource in version.resources:
                kinds = {resource.kind, *(part.kind for part in resource.subresources)}
                found.setdefault(name, set()).update(kinds)
    return {name: frozenset(kinds) for name, kinds in found.items()}
