"""Which of several nodes a pod gets."""

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.cycle import Placed, schedule
from fleetqueue.runtime.scheduling.pods import PodInfo
from fleetqueue.runtime.scheduling.scoring import score
from support.scheduling import HOST, PREFERRED, cluster_of, node, pod

pytestmark = pytest.mark.rule("jobs C.10")

APP = {"matchLabels": {"app": "web"}}
BY_HOST = {"weight": 1, "podAffinityTerm": {"labelSelector": APP, "topologyKey": HOST}}
SSD = {
    "weight": 1,
    "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
}

CASES: dict[str, tuple[list[Object], dict[str, list[Object]], Object, str]] = {
    "equal nodes by name": ([node("b"), node("a")], {}, pod("p"), "a"),
    "the least used": (
        [node("a"), node("b")],
        {"a": [pod("x", requests={"cpu": "1", "memory": "1Gi"})]},
        pod("p"),
        "b",
    ),
    "pods that ask for nothing count too": (
        [node("a"), node("b")],
        {"a": [pod("x")]},
        pod("p"),
        "b",
    ),
    "the node it prefers": (
        [node("a"), node("b", labels={"disk": "ssd"})],
        {"b": [pod("x", requests={"cpu": "1"})]},
        pod("p", affinity={"nodeAffinity": {PREFERRED: [SSD]}}),
        "b",
    ),
    "near the pods it prefers": (
        [node("a"), node("b")],
        {"b": [pod("web", labels={"app": "web"})]},
        pod("p", affinity={"podAffinity": {PREFERRED: [BY_HOST]}}),
        "b",
    ),
    "away from the pods it avoids": (
        [node("a"), node("b")],
        {
            "a": [pod("web", labels={"app": "web"})],
            "b": [pod("x", requests={"cpu": "2", "memory": "4Gi"})],
        },
        pod("p", affinity={"podAntiAffinity": {PREFERRED: [BY_HOST]}}),
        "b",
    ),
    "near a pod that prefers it": (
        [node("a"), node("b")],
        {"b": [pod("x", affinity={"podAffinity": {PREFERRED: [BY_HOST]}})]},
        pod("p", labels={"app": "web"}),
        "b",
    ),
    "where it is not merely put up with": (
        [node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), node("b")],
        {"b": [pod("x", requests={"cpu": "1"})]},
        pod("p"),
        "b",
    ),
    "spread where it can be": (
        [node("a"), node("b", cpu="2")],
        {"a": [pod("web", labels={"app": "web"})]},
        pod(
            "p",
            labels={"app": "web"},
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": HOST,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": APP,
                }
            ],
        ),
        "b",
    ),
}


@pytest.mark.parametrize(("nodes", "placed", "wanted", "chosen"), CASES.values(), ids=CASES)
def test_the_best_node_is_chosen(
    nodes: list[Object], placed: dict[str, list[Object]], wanted: Object, chosen: str
) -> None:
    state = cluster_of(*nodes, placed=placed)
    assert schedule(state, PodInfo(wanted)) == Placed(chosen)


def test_what_is_left_of_a_node_is_its_score() -> None:
    state = cluster_of(node("a", cpu="4", memory="4Gi"))
    info = PodInfo(pod("p", requests={"cpu": "1", "memory": "2Gi"}))
    assert score(state, info, state.ordered_nodes()) == [(75 + 50) // 2]
