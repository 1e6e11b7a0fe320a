"""The summary of pending workloads, in both of its versions."""

from fleetqueue.api.kinds import Resource, kind_of
from fleetqueue.api.kueue.visibility import (
    PendingWorkload,
    PendingWorkloadsSummary,
    PendingWorkloadsSummaryV1Beta1,
)
from fleetqueue.api.meta import ObjectMeta
from fleetqueue.api.model import write


def test_a_summary_writes_its_metadata_and_zeroes() -> None:
    item = PendingWorkload(
        metadata=ObjectMeta(name="w"),
        priority=0,
        local_queue_name="q",
        position_in_cluster_queue=0,
        position_in_local_queue=0,
    )
    assert write(PendingWorkloadsSummary(items=[item])) == {
        "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
        "kind": "PendingWorkloadsSummary",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": "w"},
                "priority": 0,
                "localQueueName": "q",
                "positionInClusterQueue": 0,
                "positionInLocalQueue": 0,
            }
        ],
    }


def test_both_versions_have_the_same_kind_and_no_crd() -> None:
    classes: tuple[type[Resource], ...] = (PendingWorkloadsSummary, PendingWorkloadsSummaryV1Beta1)
    found = [kind_of(cls) for cls in classes]
    assert [kind.version for kind in found] == ["v1beta2", "v1beta1"]
    assert {kind.name for kind in found} == {"PendingWorkloadsSummary"}
    assert not any(kind.crd for kind in found)
