"""Names of the properties that members report and placements choose by."""

NODE_COUNT = "kubernetes-fleet.io/node-count"
KUBERNETES_VERSION = "k8s.io/k8s-version"
ENTRY_POINT = "k8s.io/cluster-entrypoint"
CERTIFICATE_AUTHORITY = "k8s.io/cluster-certificate-authority-data"
CPU_COST = "kubernetes.azure.com/per-cpu-core-cost"
MEMORY_COST = "kubernetes.azure.com/per-gb-memory-cost"

RESOURCE_PREFIX = "resources.kubernetes-fleet.io/"
"""Properties that are read from a member's resource usage: `<prefix><capacity>-<resource>`."""
CAPACITY_TYPES = ("allocatable", "available", "total")


def machine_count(size: str) -> str:
    """The property that counts the nodes of one machine size."""
    return f"kubernetes.azure.com/vm-sizes/{size}/count"
