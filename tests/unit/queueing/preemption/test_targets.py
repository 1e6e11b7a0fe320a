"""What is said when a workload is preempted; the texts are those that were recorded."""

import pytest

from fleetqueue.queueing.preemption.targets import (
    Target,
    preempted_event,
    preempted_message,
    preempted_workload_event,
)
from fleetqueue.testing.quota_pictures import quota_tree, workload

pytestmark = pytest.mark.rule("kueue 7.8")

TREE = "root\n  left\n    cq-a gpu=1\n  right\n    cq-b gpu=1\nalone gpu=1"

# fmt: off
TEXTS = {
    "InClusterQueue":                "prioritization in the ClusterQueue",
    "InCohortReclamation":           "reclamation within the cohort",
    "InCohortFairSharing":           "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}
# fmt: on


@pytest.mark.parametrize(("reason", "text"), TEXTS.items())
def test_the_message_names_the_preemptor_the_reason_and_both_paths(reason: str, text: str) -> None:
    state = quota_tree(TREE).state
    target = Target(workload("low@cq-b uid=u-2"), reason)
    preemptor = workload("high@cq-a uid=u-1 job=j-1")
    assert preempted_message(preemptor, target, state) == (
        f"Preempted to accommodate a workload (UID: u-1, JobUID: j-1) due to {text}; "
        "preemptor path: /root/left/cq-a; preemptee path: /root/right/cq-b"
    )


@pytest.mark.rule("kueue 7.10")
@pytest.mark.rule("kueue 13.3")
def test_a_preemptor_without_a_job_and_a_queue_without_a_cohort() -> None:
    state = quota_tree(TREE).state
    target = Target(workload("low@alone"), "InClusterQueue")
    assert preempted_message(workload("high@alone uid=u-1"), target, state) == (
        "Preempted to accommodate a workload (UID: u-1, JobUID: UNKNOWN) due to prioritization in "
        "the ClusterQueue; preemptor path: /alone; preemptee path: /alone"
    )


def test_events_add_the_effective_priorities() -> None:
    state = quota_tree(TREE).state
    target = Target(workload("job-low@alone uid=u-2 priority=100"), "InClusterQueue")
    preemptor = workload("high@alone uid=u-1 job=j-1 priority=900 boost=100")
    tail = (
        "; preemptor effective priority: 1000 (base: 900, boost: 100)"
        "; preemptee effective priority: 100 (base: 100, boost: 0)"
    )
    message = preempted_message(preemptor, target, state)
    assert preempted_event(preemptor, target, state) == message + tail
    assert preempted_workload_event(preemptor, target) == (
        f"Preempted workload default/job-low (UID: u-2) in ClusterQueue alone{tail}"
    )


def test_a_queue_that_is_gone_is_still_named() -> None:
    state = quota_tree(TREE).state
    target = Target(workload("low@gone"), "InClusterQueue")
    assert "preemptee path: /gone" in preempted_message(workload("high@alone"), target, state)
