"""Whether a node still serves a workload, and what becomes of it where it does not."""

from typing import Any

import pytest

from fleetqueue.admission import node_health

pytestmark = pytest.mark.rule("kueue 8.8")

Json = dict[str, Any]


def node(ready: str | None = "True", *taints: Json) -> Json:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    return {"spec": {"taints": list(taints)}, "status": {"conditions": conditions}}


def pod(phase: str = "Running", node_name: str = "n", **spec: Any) -> Json:
    return {
        "metadata": {"name": "p", "namespace": "team"},
        "spec": {"nodeName": node_name, **spec},
        "status": {"phase": phase},
    }


TAINT = {"key": "broken", "effect": "NoSchedule"}
LASTING = {"key": "broken", "operator": "Exists"}
SHORT = {**LASTING, "tolerationSeconds": 9}
# fmt: off
CASES = {
    "all is well": (node(), [], [], "healthy"),
    "it is gone": (None, [], [pod()], "failed"),
    "it never said that it is ready": (node(None), [], [pod()], "failed"),
    "not ready, but a pod runs on": (node("False"), [], [pod()], "healthy"),
    "not ready, and its pods ended": (node("False"), [], [pod("Failed")], "failed"),
    "not ready, nobody there": (node("Unknown"), [], [], "failed"),
    "a taint keeps it out": (node("True", TAINT), [], [], "failed"),
    "a taint, but a pod runs on": (node("True", TAINT), [], [pod()], "healthy"),
    "a taint that is tolerated": (node("True", TAINT), [LASTING], [], "healthy"),
    "tolerated for a while only": (node("True", TAINT), [SHORT], [], "failed"),
}
# fmt: on


@pytest.mark.parametrize(("found", "tolerations", "pods", "health"), CASES.values(), ids=CASES)
def test_health(found: Json | None, tolerations: list[Json], pods: list[Json], health: str) -> None:
    assert node_health.judge(found, tolerations, pods) == health


def test_only_pods_that_wait_for_that_node_are_ended() -> None:
    selector = {"kubernetes.io/hostname": "n"}
    waiting = pod("Pending", "", nodeSelector=selector)
    gated = pod("Pending", "", nodeSelector=selector, schedulingGates=[{"name": "x"}])
    other = pod("Pending", "", nodeSelector={"kubernetes.io/hostname": "m"})

    assert node_health.to_terminate("n", [waiting, gated, other, pod()]) == [waiting]


def test_a_second_node_that_fails_is_one_too_many() -> None:
    obj: Json = {"status": {"unhealthyNodes": [{"name": "a"}]}}

    assert node_health.many_failed(obj, "a") == ""
    assert node_health.many_failed(obj, "b") == (
        "Workload eviction triggered due to multiple TAS assigned node failures, including: a, b"
    )
    assert node_health.with_failed(obj, "a") is None
    healthy = node_health.with_healthy(obj, "a")
    assert healthy is not None
    assert "unhealthyNodes" not in healthy["status"]
