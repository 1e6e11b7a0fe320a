"""What is shown of each object: the lines of lists, quotas, preemption, events."""

from typing import Any

import pytest

from fleetqueue.dashboard import queue_views, workload_views
from fleetqueue.dashboard.masking import HIDDEN, presentable

pytestmark = pytest.mark.rule("kueue 11.5")
Json = dict[str, Any]
AT = "2026-01-01T00:00:00Z"


def condition(type: str, status: str, reason: str = "Some", message: str = "words") -> Json:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": AT,
    }


def workload(*conditions: Json, spec: Json | None = None, **status: Any) -> Json:
    return {
        "metadata": {
            "name": "train",
            "namespace": "team",
            "uid": "u-1",
            "creationTimestamp": AT,
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "controller": True}
            ],
        },
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 3}], **(spec or {})},
        "status": {"conditions": list(conditions), **status},
    }


WAITS = condition("QuotaReserved", "False", "WaitingForQuota", "no room")
HAS_QUOTA = condition("QuotaReserved", "True")
IS_ADMITTED = condition("Admitted", "True", message="admitted")
IS_FINISHED = condition("Finished", "True", "Succeeded", "done")
IS_EVICTED = condition("Evicted", "True", "Preempted", "gone")


@pytest.mark.parametrize(
    ("conditions", "phase", "message"),
    [
        ([], "PENDING", ""),
        ([WAITS], "PENDING", "no room"),
        ([HAS_QUOTA], "QUOTARESERVED", "words"),
        ([HAS_QUOTA, IS_ADMITTED], "ADMITTED", "admitted"),
        ([HAS_QUOTA, IS_ADMITTED, IS_EVICTED], "ADMITTED", "gone"),
        ([HAS_QUOTA, IS_ADMITTED, IS_FINISHED], "FINISHED", "done"),
    ],
)
def test_a_workload_says_how_far_it_is(conditions: list[Json], phase: str, message: str) -> None:
    row = workload_views.row(workload(*conditions))
    assert (row["phase"], row["message"]) == (phase, message)


def test_a_line_has_the_printed_columns_and_what_links_need() -> None:
    row = workload_views.row(
        workload(
            HAS_QUOTA,
            IS_ADMITTED,
            spec={"priority": 7, "priorityClassRef": {"name": "high"}},
            admission={"clusterQueue": "queue"},
            clusterName="worker-1",
        )
    )
    assert row == {
        "namespace": "team",
        "name": "train",
        "uid": "u-1",
        "createdAt": AT,
        "queue": "main",
        "reservedIn": "queue",
        "admitted": "True",
        "finished": "",
        "phase": "ADMITTED",
        "isActive": True,
        "priority": 7,
        "priorityClass": "high",
        "owner": {"apiVersion": "batch/v1", "kind": "Job", "name": "job"},
        "pods": 3,
        "cluster": "worker-1",
        "reason": "Some",
        "message": "admitted",
        "isPreempted": False,
    }


def test_preemption_names_who_needed_the_place() -> None:
    text = "Preempted to accommodate a workload (UID: abc-1, JobUID: def-2) due to prioritization"
    evictions = [{"reason": "Preempted", "underlyingCause": "", "count": 2}]
    found = workload_views.preemption(
        workload(
            condition("Preempted", "True", "InClusterQueue", text),
            schedulingStats={"evictions": evictions},
            requeueState={"count": 1},
        )
    )
    assert found == {
        "isPreempted": True,
        "reason": "InClusterQueue",
        "message": text,
        "at": AT,
        "preemptorUid": "abc-1",
        "evictions": evictions,
        "requeue": {"count": 1},
        "gates": [],
    }
    assert workload_views.preemption(workload())["preemptorUid"] == ""


def test_events_of_both_generations_are_read() -> None:
    old = {
        "metadata": {"uid": "1"},
        "type": "Warning",
        "reason": "Pending",
        "message": "waits",
        "count": 4,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:01:00Z",
        "source": {"component": "kueue"},
    }
    new = {
        "metadata": {"uid": "2"},
        "type": "Normal",
        "reason": "Admitted",
        "note": "in",
        "eventTime": "2026-01-01T00:02:00Z",
        "reportingComponent": "kueue",
        "series": {"count": 3, "lastObservedTime": "2026-01-01T00:03:00Z"},
    }
    first, second = workload_views.event(old), workload_views.event(new)
    assert (first["message"], first["count"], first["lastAt"]) == (
        "waits",
        4,
        "2026-01-01T00:01:00Z",
    )
    assert (second["message"], second["count"], second["lastAt"], second["from"]) == (
        "in",
        3,
        "2026-01-01T00:03:00Z",
        "kueue",
    )


def cluster_queue() -> Json:
    def amount(total: str, borrowed: str = "0") -> list[Json]:
        return [
            {"name": "spot", "resources": [{"name": "cpu", "total": total, "borrowed": borrowed}]}
        ]

    quota = {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "2"}
    return {
        "metadata": {"name": "queue", "creationTimestamp": AT},
        "spec": {
            "cohortName": "lab",
            "queueingStrategy": "StrictFIFO",
            "stopPolicy": "Hold",
            "resourceGroups": [
                {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [quota]}]}
            ],
        },
        "status": {
            "pendingWorkloads": 3,
            "admittedWorkloads": 1,
            "flavorsReservation": amount("5", "1"),
            "flavorsUsage": amount("2500m"),
            "conditions": [condition("Active", "False", "Stopped", "is stopped")],
        },
    }


def test_a_cluster_queue_says_how_full_it_is() -> None:
    row = queue_views.cluster_queue(cluster_queue())
    assert row == {
        "name": "queue",
        "createdAt": AT,
        "cohort": "lab",
        "strategy": "StrictFIFO",
        "pendingWorkloads": 3,
        "reservingWorkloads": 0,
        "admittedWorkloads": 1,
        "active": "False",
        "reason": "Stopped",
        "message": "is stopped",
        "stopPolicy": "Hold",
        "flavors": ["spot"],
        "resources": [
            {
                "flavor": "spot",
                "resource": "cpu",
                "nominal": "4",
                "borrowingLimit": "2",
                "lendingLimit": None,
                "reserved": "5",
                "used": "2500m",
                "borrowed": "1",
                "ratio": 1.25,
            }
        ],
    }


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [("1", "4", 0.25), ("500m", "1", 0.5), ("1Gi", "2Gi", 0.5), ("0", "0", 0.0), ("x", "1", 0.0)],
)
def test_ratios_are_of_quantities(part: str, whole: str, expected: float) -> None:
    assert queue_views.ratio(part, whole) == expected


def test_what_is_used_of_nothing_is_plenty() -> None:
    assert queue_views.ratio("1", "0") > 1


def test_local_queues_cohorts_and_flavors_have_their_columns() -> None:
    local = queue_views.local_queue(
        {"metadata": {"name": "main", "namespace": "team"}, "spec": {"clusterQueue": "queue"}}
    )
    assert (local["namespace"], local["clusterQueue"], local["pendingWorkloads"]) == (
        "team",
        "queue",
        0,
    )
    cohort = queue_views.cohort({"metadata": {"name": "lab"}, "spec": {"parentName": "root"}})
    assert (cohort["parent"], cohort["weightedShare"]) == ("root", None)
    flavor = queue_views.resource_flavor(
        {"metadata": {"name": "spot"}, "spec": {"nodeLabels": {"a": "b"}, "topologyName": "racks"}}
    )
    assert (flavor["nodeLabels"], flavor["topology"]) == ({"a": "b"}, "racks")


# What nobody is shown


def test_credentials_in_the_environment_of_pods_are_hidden() -> None:
    env = [
        {"name": "HF_TOKEN", "value": "hf_1"},
        {"name": "db_password", "value": "p"},
        {"name": "AWS_SECRET_ACCESS_KEY", "value": "k"},
        {"name": "WANDB_API_KEY", "value": "w"},
        {"name": "MODE", "value": "fast"},
        {"name": "FROM_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    spec = {"containers": [{"name": "a", "env": env}], "initContainers": [{"name": "b"}]}
    made = workload(spec={"podSets": [{"name": "main", "template": {"spec": spec}}]})

    shown = presentable(made)

    [pod_set] = shown["spec"]["podSets"]
    seen = pod_set["template"]["spec"]["containers"][0]["env"]
    assert [each.get("value") for each in seen] == [HIDDEN, HIDDEN, HIDDEN, HIDDEN, "fast", None]
    assert seen[5] == env[5]
    assert env[0]["value"] == "hf_1", "what was given is not changed"


def test_who_wrote_what_and_what_was_applied_are_left_out() -> None:
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "<b>"}
    made = {"metadata": {"name": "x", "managedFields": [{}], "annotations": notes}, "spec": {}}
    assert presentable(made)["metadata"] == {"name": "x", "annotations": {"mine": "<b>"}}
