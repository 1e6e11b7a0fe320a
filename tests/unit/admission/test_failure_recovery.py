"""Pods that nobody ends since their node cannot be reached are ended, where they agree."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission.controllers import failure_recovery
from fleetqueue.api.times import format_time
from fleetqueue.kube.plan import Look, Note, Patch, Plan
from fleetqueue.kube.sources import Listed

pytestmark = [pytest.mark.rule("kueue 2.3"), pytest.mark.rule("kueue 10.3")]

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAFE = {"kueue.x-k8s.io/safe-to-forcefully-delete": "true"}


def pod(
    annotations: Json | None = None, phase: str = "Running", ends: int | None = 0, node: str = "n"
) -> Json:
    """`ends`: in so many seconds its time to end is over; None: it is not being deleted."""
    metadata: Json = {"name": "p", "namespace": "team", "uid": "u", "resourceVersion": "7"}
    metadata["annotations"] = SAFE if annotations is None else annotations
    if ends is not None:
        metadata["deletionTimestamp"] = format_time(NOW + timedelta(seconds=ends))
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}
    spec = {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def node(*taints: str) -> Json:
    spec = {"taints": [{"key": key, "effect": "NoExecute"} for key in taints]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec}


AWAY = node("example.com/other", "node.kubernetes.io/unreachable")


def decide(made: Json, *around: Json) -> Plan:
    return failure_recovery.decide(Look(made, NOW, Listed([made, *around])))


@pytest.mark.parametrize("around", [[AWAY], []], ids=["unreachable", "gone"])
def test_a_pod_that_its_node_never_ends_is_failed(around: list[Json]) -> None:
    patch, note = decide(pod(), *around).steps

    assert isinstance(patch, Patch)
    assert patch.subresource == "status"
    assert patch.patch["metadata"] == {"resourceVersion": "7"}
    assert patch.patch["status"]["phase"] == "Failed"
    ready, ended = patch.patch["status"]["conditions"]
    assert ready["type"] == "Ready"
    assert (ended["type"], ended["status"]) == ("TerminatedByKueue", "True")
    assert isinstance(note, Note)
    assert note.message == ended["message"]
    assert "node n cannot be reached" in note.message


# fmt: off
LEFT_ALONE = {
    "it does not agree": (pod({}), AWAY),
    "it says no": (pod(dict.fromkeys(SAFE, "false")), AWAY),
    "nobody deletes it": (pod(ends=None), AWAY),
    "it has ended": (pod(phase="Failed"), AWAY),
    "it has no node": (pod(node=""), AWAY),
    "its node is there": (pod(), node()),
    "its node is not ready": (pod(), node("node.kubernetes.io/not-ready")),
}
# fmt: on


@pytest.mark.parametrize(("made", "around"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_others_are_left_alone(made: Json, around: Json) -> None:
    plan = decide(made, around)
    assert (plan.steps, plan.after) == ([], None)


def test_a_pod_may_take_the_time_it_was_given() -> None:
    plan = decide(pod(ends=30), AWAY)
    assert (plan.steps, plan.after) == ([], 30)
