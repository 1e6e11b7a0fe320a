"""Who must go for a more important pod."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.cycle import Placed, Waits, schedule
from fleetqueue.runtime.scheduling.pods import PodInfo
from support.scheduling import cluster_of, node, pod

pytestmark = pytest.mark.rule("jobs C.10")


def using(name: str, cpu: str, priority: int = 0, started: str = "00:00", **more: Any) -> Object:
    status = {"startTime": f"2026-01-01T{started}:00Z", **more.pop("status", {})}
    return pod(name, requests={"cpu": cpu}, priority=priority, status=status, **more)


def victims(decision: Placed | Waits) -> tuple[str, list[str]]:
    assert isinstance(decision, Waits)
    assert decision.preemption is not None, decision.message
    return decision.preemption.node, [each.name for each in decision.preemption.victims]


URGENT = PodInfo(using("urgent", "2", priority=100))


def test_the_least_important_pods_go_and_no_more_than_needed() -> None:
    state = cluster_of(
        node("n"),
        placed={"n": [using("a", "1", 5), using("b", "2", 1), using("c", "1", 3)]},
    )
    assert victims(schedule(state, URGENT)) == ("n", ["b"])
    assert sorted(state.nodes["n"].pods) == ["uid-a", "uid-b", "uid-c"]


def test_pods_that_are_as_important_stay() -> None:
    state = cluster_of(node("n"), placed={"n": [using("a", "4", 100)]})
    assert schedule(state, URGENT) == Waits(
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


def test_nodes_that_removal_does_not_help_are_told_apart() -> None:
    state = cluster_of(
        node("a"),
        node("b", cpu="1"),
        placed={"a": [using("x", "4", 200)], "b": [using("y", "1", 0)]},
    )
    assert schedule(state, URGENT) == Waits(
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_a_pod_may_be_told_never_to_preempt() -> None:
    state = cluster_of(node("n"), placed={"n": [using("a", "4")]})
    info = PodInfo(using("urgent", "2", 100, preemptionPolicy="Never"))
    assert schedule(state, info) == Waits(
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: not eligible due to preemptionPolicy=Never.",
        keeps_nomination=True,
    )


NODES: dict[str, tuple[list[Object], list[Object], str]] = {
    "where the most important victim is least important": (
        [using("a", "4", 9)],
        [using("b", "4", 5)],
        "b",
    ),
    "where the victims are less important together": (
        [using("a1", "2", 5), using("a2", "2", 5)],
        [using("b1", "3", 5), using("b2", "1", 5)],
        "a",
    ),
    "where the victims began last": (
        [using("a", "4", 5, "08:00")],
        [using("b", "4", 5, "09:00")],
        "b",
    ),
    "by name where nothing else differs": ([using("a", "4", 5)], [using("b", "4", 5)], "a"),
}


@pytest.mark.parametrize(("first", "second", "chosen"), NODES.values(), ids=NODES)
def test_the_node_is_chosen_where_it_hurts_least(
    first: list[Object], second: list[Object], chosen: str
) -> None:
    state = cluster_of(node("a"), node("b"), placed={"a": first, "b": second})
    assert victims(schedule(state, URGENT))[0] == chosen


def budget(allowed: int) -> Object:
    return {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "db"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_pods_that_a_budget_protects_are_spared_where_others_can_go() -> None:
    protected = using("db", "2", 0, labels={"app": "db"})
    state = cluster_of(node("n"), placed={"n": [protected, using("web", "2", 5)]})
    assert victims(schedule(state, URGENT, budgets=[budget(0)])) == ("n", ["web"])
    assert victims(schedule(state, URGENT, budgets=[budget(1)])) == ("n", ["db"])


def test_a_budget_gives_way_where_nothing_else_helps() -> None:
    state = cluster_of(
        node("a"),
        node("b"),
        placed={
            "a": [using("db", "4", 0, labels={"app": "db"})],
            "b": [using("web", "4", 50)],
        },
    )
    assert victims(schedule(state, URGENT, budgets=[budget(0)])) == ("b", ["web"])
    state.take_away("uid-web")
    state.place(PodInfo(using("web", "4", 200)), "b")
    assert victims(schedule(state, URGENT, budgets=[budget(0)])) == ("a", ["db"])


def leaving(name: str) -> Object:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    made = using(name, "4", status={"conditions": [condition]})
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def test_nobody_else_goes_while_victims_are_on_their_way_out() -> None:
    state = cluster_of(node("a"), node("b"), placed={"a": [leaving("x")], "b": [using("y", "4")]})
    waiting = using("urgent", "2", 100, status={"nominatedNodeName": "a"})
    assert schedule(state, PodInfo(waiting)) == Waits(
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: not eligible due to a terminating pod on the nominated node.",
        keeps_nomination=True,
    )


def test_the_room_that_was_made_is_kept_from_lesser_pods() -> None:
    state = cluster_of(node("a"))
    info = PodInfo(using("urgent", "4", 100, status={"nominatedNodeName": "a"}))
    state.nominate(info, "a")
    assert isinstance(schedule(state, PodInfo(using("lesser", "1", 1))), Waits)
    assert schedule(state, PodInfo(using("greater", "1", 200))) == Placed("a")
    assert schedule(state, info) == Placed("a")
