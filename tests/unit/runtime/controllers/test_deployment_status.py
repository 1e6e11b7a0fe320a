"""What a Deployment says of a roll-out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment_status as statuses
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.3")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
STARTED = statuses.progressing("ReplicaSetUpdated", "", NOW - timedelta(seconds=700))


def deployment(status: Object | None = None, **spec: Any) -> Object:
    made = apps.workload("Deployment", replicas=2, progressDeadlineSeconds=600, **spec)
    made["metadata"] |= {"generation": 1}
    return {**made, "status": status or {}}


def replica_set(replicas: int, ready: int, **status: Any) -> Object:
    made = apps.workload("ReplicaSet", "web-new", replicas=2)
    counts = {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready}
    return {**made, "status": {**counts, **status}}


def said(parent: Object, new: Object, present: list[Object]) -> list[tuple[str, str, str]]:
    status = statuses.rolled_out(parent, [new], new, present, NOW)
    found = status["conditions"]
    return [(each["type"], each["status"], each["reason"]) for each in found]


@pytest.mark.parametrize(
    ("why", "before", "now", "present", "expected"),
    [
        (
            "complete",
            {},
            replica_set(2, 2),
            [STARTED],
            ("Progressing", "True", "NewReplicaSetAvailable"),
        ),
        (
            "more are ready",
            {"replicas": 2, "updatedReplicas": 2},
            replica_set(2, 1),
            [STARTED],
            ("Progressing", "True", "ReplicaSetUpdated"),
        ),
        (
            "nothing moves, and it is late",
            {"replicas": 2, "updatedReplicas": 2},
            replica_set(2, 0),
            [STARTED],
            ("Progressing", "False", "ProgressDeadlineExceeded"),
        ),
        (
            "nothing moves, but it was done once",
            {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2},
            replica_set(2, 0),
            [{**STARTED, "reason": "NewReplicaSetAvailable"}],
            ("Progressing", "True", "NewReplicaSetAvailable"),
        ),
    ],
)
def test_how_it_progresses(
    why: str,
    before: Object,
    now: Object,
    present: list[Object],
    expected: tuple[str, str, str],
) -> None:
    assert expected in said(deployment(before), now, present), why


def test_without_a_deadline_nothing_is_said_of_progress() -> None:
    parent = deployment()
    parent["spec"]["progressDeadlineSeconds"] = 2**31 - 1
    assert [type for type, _, _ in said(parent, replica_set(2, 2), [STARTED])] == ["Available"]


def test_a_replica_set_in_trouble_is_told_and_forgotten() -> None:
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "no room",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    sick = replica_set(0, 0, conditions=[failure])
    assert ("ReplicaFailure", "True", "FailedCreate") in said(deployment(), sick, [])
    well = said(deployment(), replica_set(2, 2), [failure])
    assert "ReplicaFailure" not in [type for type, _, _ in well]


@pytest.mark.parametrize(
    ("paused", "reason", "expected"),
    [
        (True, "ReplicaSetUpdated", "DeploymentPaused"),
        (True, "DeploymentPaused", "DeploymentPaused"),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, "ReplicaSetUpdated", "ReplicaSetUpdated"),
        (True, "ProgressDeadlineExceeded", "ProgressDeadlineExceeded"),
    ],
)
def test_pausing_and_resuming_are_noted(paused: bool, reason: str, expected: str) -> None:
    present = [{**STARTED, "reason": reason}]
    (found,) = statuses.paused_conditions(deployment(paused=paused), present, NOW)
    assert found["reason"] == expected


def test_the_next_look_is_at_the_deadline() -> None:
    parent = deployment()
    recent = statuses.progressing("ReplicaSetUpdated", "", NOW - timedelta(seconds=100))
    assert statuses.deadline_in(parent, {"conditions": [recent]}, NOW) == 501.0
    assert statuses.deadline_in(parent, {"conditions": []}, NOW) is None
