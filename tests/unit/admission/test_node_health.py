"""Whether a node still serves a workload, and what becomes of it where it does not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission import node_health
from fleetqueue.admission.node_health import NodeRules
from fleetqueue.admission.settings import read_settings
from fleetqueue.api.kueue.config import read_configuration
from fleetqueue.api.times import format_time

pytestmark = pytest.mark.rule("kueue 8.8")

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(ready: str | None = "True", *taints: Json, seconds: int = 0) -> Json:
    """`seconds`: for so long it has been as it is."""
    since = format_time(NOW - timedelta(seconds=seconds))
    told = {"type": "Ready", "status": ready, "lastTransitionTime": since}
    conditions = [] if ready is None else [told]
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
    assert node_health.judge(found, tolerations, pods, NOW) == health


NO_PODS = NodeRules(counts_ended_pods=False)
NO_TAINTS = NodeRules(counts_taints=False)
TIME = NodeRules(counts_time=True)
ONLY_TIME = NodeRules(counts_ended_pods=False, counts_time=True)
# fmt: off
SWITCHED = {
    "pods do not count": (node("False", seconds=99), [], NO_PODS, "healthy"),
    "it is gone all the same": (None, [pod()], NO_PODS, "failed"),
    "pods still count where taints do": (node("True", TAINT), [], NO_PODS, "failed"),
    "taints do not count": (node("True", TAINT), [], NO_TAINTS, "healthy"),
    "not ready, whatever its taints": (node("False", TAINT), [], NO_TAINTS, "failed"),
    "time alone does not count": (node("False", seconds=99), [pod()], NodeRules(), "healthy"),
    "not ready for a while, a pod runs": (node("False", seconds=29), [pod()], TIME, "healthy"),
    "not ready for long, a pod runs": (node("False", seconds=30), [pod()], TIME, "failed"),
    "not ready for a while, pods ended": (node("False", seconds=1), [], TIME, "failed"),
    "the same, and pods do not count": (node("False", seconds=1), [], ONLY_TIME, "healthy"),
    "for long, and pods do not count": (node("False", seconds=30), [], ONLY_TIME, "failed"),
    "ready for long": (node("True", seconds=99), [], TIME, "healthy"),
    "tainted for long, a pod runs": (node("True", TAINT, seconds=99), [pod()], TIME, "healthy"),
}
# fmt: on


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(("found", "pods", "rules", "health"), SWITCHED.values(), ids=SWITCHED)
def test_what_may_be_switched_off(
    found: Json | None, pods: list[Json], rules: NodeRules, health: str
) -> None:
    assert node_health.judge(found, [], pods, NOW, rules) == health


@pytest.mark.parametrize(
    ("found", "rules", "seconds"),
    [
        (node("False", seconds=20), TIME, 10),
        (node("Unknown", seconds=31), TIME, -1),
        (node("False", seconds=20), NodeRules(), None),
        (node("True", seconds=20), TIME, None),
        (None, TIME, None),
    ],
)
def test_how_long_a_node_may_still_be_away(
    found: Json | None, rules: NodeRules, seconds: int | None
) -> None:
    left = node_health.time_left(found, NOW, rules)
    assert left == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize(
    ("gate", "value", "rules"),
    [
        ("TASReplaceNodeOnPodTermination", False, NO_PODS),
        ("TASReplaceNodeOnNodeTaints", False, NO_TAINTS),
        ("TASReplaceNodeDueToNotReadyOverFixedTime", True, TIME),
    ],
)
def test_gates_switch_them(gate: str, value: bool, rules: NodeRules) -> None:
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config = read_configuration({**kind, "featureGates": {gate: value}})
    assert read_settings(config).nodes == rules


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
