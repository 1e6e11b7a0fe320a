"""What is said of a workload in each of its states."""

from typing import Any

import pytest

from fleetqueue.cli.explaining import Known, Place, explain

Object = dict[str, Any]
pytestmark = pytest.mark.rule("kueue 11.1")


def condition(type: str, status: str = "True", reason: str = "R", message: str = "") -> Object:
    return {"type": type, "status": status, "reason": reason, "message": message}


def workload(*conditions: Object, active: bool = True, **status: Any) -> Object:
    spec = {"queueName": "main", "active": active}
    metadata = {"name": "w", "namespace": "default"}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": [*conditions], **status}}


RESERVED = condition("QuotaReserved")
IN_QUEUE = {"clusterQueue": "gpus"}
CHECK = {"name": "autoscaler", "state": "Pending", "message": "3 nodes come"}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(
            workload(condition("Finished", message="Job finished successfully")),
            ["job/x has finished: Job finished successfully"],
            id="finished",
        ),
        pytest.param(
            workload(condition("Finished", reason="Failed", message="backoff limit")),
            ["job/x has failed: backoff limit"],
            id="failed",
        ),
        pytest.param(
            workload(condition("Finished", message="done"), clusterName="worker-1"),
            ["job/x has finished on worker-1: done"],
            id="finished on a worker",
        ),
        pytest.param(
            workload(condition("Finished", reason="Succeeded")),
            ["job/x has finished"],
            id="finished without a word",
        ),
        pytest.param(
            workload(
                condition("Evicted", reason="Deactivated", message="a check said no"),
                active=False,
                admissionChecks=[{**CHECK, "state": "Rejected", "message": "never"}],
            ),
            [
                "job/x is switched off: spec.active of its Workload is false",
                "  it was put out (Deactivated): a check said no",
                "  autoscaler is Rejected: never",
            ],
            id="refused",
        ),
        pytest.param(
            workload(condition("Evicted", reason="Deactivated", message="by hand"), active=False),
            [
                "job/x is switched off: spec.active of its Workload is false",
                "  it was put out (Deactivated): by hand",
            ],
            id="off",
        ),
        pytest.param(
            workload(
                RESERVED,
                condition("Admitted"),
                condition("PodsReady", "False", message="1 of 2 is ready"),
                admission=IN_QUEUE,
            ),
            ["job/x is admitted in gpus", "  1 of 2 is ready"],
            id="starting",
        ),
        pytest.param(
            workload(RESERVED, condition("Admitted"), clusterName="west"),
            ["job/x is admitted on west"],
            id="sent",
        ),
        pytest.param(
            workload(
                RESERVED,
                admission=IN_QUEUE,
                admissionChecks=[CHECK],
                nominatedClusterNames=["east", "west"],
            ),
            [
                "job/x has quota in gpus, waits for its admission checks, and is offered to"
                " east, west",
                "  autoscaler is Pending: 3 nodes come",
            ],
            id="checked",
        ),
        pytest.param(
            workload(
                condition("QuotaReserved", "False", message="no room"),
                condition("Evicted", reason="Preempted", message="for another"),
                requeueState={"requeueAt": "2026-01-01T00:00:00Z"},
            ),
            [
                "job/x waits in the queue main",
                "  it was put out (Preempted): for another",
                "  it may try again at 2026-01-01T00:00:00Z",
                "  no room",
            ],
            id="waits again",
        ),
        pytest.param(
            workload(),
            ["job/x waits in the queue main", "  nobody has looked at it yet"],
            id="new",
        ),
    ],
)
def test_each_state_has_its_words(made: Object, expected: list[str]) -> None:
    assert explain("job/x", Known(made), {}) == expected


VERDICT = {
    "clusterQueueName": "gpus",
    "message": "no room",
    "podSets": [
        {
            "name": "main",
            "count": 2,
            "considered": [
                {
                    "flavor": "spot",
                    "mode": "NoFit",
                    "reasons": ["untolerated taint"],
                    "resources": [],
                },
                {
                    "flavor": "a100",
                    "mode": "NoFit",
                    "resources": [
                        {
                            "resource": "cpu",
                            "needed": "2",
                            "free": "9",
                            "borrowable": "0",
                            "mode": "Fit",
                            "why": "",
                        },
                        {
                            "resource": "nvidia.com/gpu",
                            "needed": "8",
                            "free": "1",
                            "borrowable": "3",
                            "mode": "NoFit",
                            "why": "4 more needed",
                        },
                    ],
                },
            ],
        }
    ],
}


def test_one_that_waits_is_told_its_place_and_the_numbers() -> None:
    assert explain("job/x", Known(workload(), VERDICT, Place(2, 5, 7)), {}) == [
        "job/x waits in the queue main",
        "  its ClusterQueue is gpus",
        "  it is number 2 of 5 that wait in its queue",
        "  in its ClusterQueue it is number 7",
        "  no room",
        "",
        "  POD SET    FLAVOR   RESOURCE         NEEDED   FREE   BORROWABLE   WHY NOT",
        "  main (2)   spot                                                   untolerated taint",
        "  main (2)   a100     cpu              2        9      0            ",
        "  main (2)   a100     nvidia.com/gpu   8        1      3            4 more needed",
    ]


def test_workers_tell_of_their_copies() -> None:
    offered = workload(RESERVED, nominatedClusterNames=["east", "west"])
    copy = workload(condition("QuotaReserved", "False", message="no room"))
    found = explain("job/x", Known(offered), {"west": "cannot be reached", "east": Known(copy)})
    assert found[1:] == [
        "on east it waits in the queue main",
        "  no room",
        "on west: cannot be reached",
    ]


UNREADY = condition("PodsReady", "False", message="not ready")
SENT = workload(RESERVED, condition("Admitted"), UNREADY, clusterName="west")
THERE = (RESERVED, condition("Admitted"))


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(Known(workload(*THERE, condition("PodsReady"))), [], id="ready there"),
        pytest.param(
            Known(workload(*THERE, UNREADY), pods=["pod p: no node"]),
            ["  not ready", "  pod p: no node"],
            id="not ready there",
        ),
        pytest.param(Known(workload(*THERE), are_pods_ready=True), [], id="as its pods say"),
    ],
)
def test_the_worker_that_has_it_says_how_its_pods_are(there: Known, expected: list[str]) -> None:
    found = explain("job/x", Known(SENT), {"west": there})
    assert found == ["job/x is admitted on west", "on west it is admitted", *expected]


def test_where_that_worker_says_nothing_the_word_of_the_manager_is_told() -> None:
    for there in (Known(workload(*THERE)), "it cannot be reached"):
        assert explain("job/x", Known(SENT), {"west": there})[1] == "  not ready"


@pytest.mark.rule("LIM-2")
def test_what_is_missing_is_told_of_every_worker() -> None:
    offered = workload(RESERVED, nominatedClusterNames=["east"])
    missing = {"west": ["No queue.", "No kind."], "east": ["No room."], "north": []}
    found = explain("job/x", Known(offered), {"east": "it has no copy"}, missing)
    assert found[1:] == [
        "on east: it has no copy",
        "  No room.",
        "on west: it cannot run there",
        "  No queue.",
        "  No kind.",
    ]
