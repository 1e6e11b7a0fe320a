"""The kinds that are shown, and the names by which a browser asks for them. Secrets are not among
them, nor anything else that is not named here.
"""

from fleetqueue.admission.kinds import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.kube.resources import Resource

FOLLOWED = (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR)
READABLE = (*FOLLOWED, ADMISSION_CHECK, TOPOLOGY, WORKLOAD_PRIORITY_CLASS)


def readable(name: str) -> Resource | None:
    """By singular or plural, with dashes or without: `cluster-queue`, `clusterqueues`."""
    return _BY_NAME.get(name.lower().replace("-", ""))


_BY_NAME = {
    name: each for each in READABLE for name in (each.plural, each.kind.lower())
}  # fmt: skip
