"""visibility.kueue.x-k8s.io: the workloads that wait in a queue, in order; both versions alike."""

from dataclasses import replace

from fleetqueue.api.kinds import Kind, Resource
from fleetqueue.api.meta import ObjectMeta
from fleetqueue.api.model import Model, sent
from fleetqueue.api.scalars import Int32

GROUP = "visibility.kueue.x-k8s.io"
LIMIT_DEFAULT = 1000
LIMIT_MAX = 100_000


class PendingWorkload(Model):
    """One that waits, and its places in both of its queues, counted from zero."""

    metadata: ObjectMeta = sent(default_factory=ObjectMeta)
    priority: Int32
    local_queue_name: str
    position_in_cluster_queue: Int32
    position_in_local_queue: Int32


SUMMARY = Kind(GROUP, "v1beta2", "pendingworkloads", crd=False)


class PendingWorkloadsSummary(Resource, kind=SUMMARY):
    """A page of the waiting workloads of a ClusterQueue or LocalQueue."""

    items: list[PendingWorkload]


class PendingWorkloadsSummaryV1Beta1(
    Resource, kind=replace(SUMMARY, version="v1beta1", name="PendingWorkloadsSummary")
):
    """The same under the older version."""

    items: list[PendingWorkload]
