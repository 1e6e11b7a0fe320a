"""The search as a whole: it asks for places, leaves the state as it was, and tells whether
preemption helps at all."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.queueing.amounts import FlavorResource
from fleetqueue.queueing.preemption import search
from fleetqueue.queueing.preemption.demand import Demand
from fleetqueue.queueing.preemption.search import find_targets, possibility
from fleetqueue.queueing.preemption.targets import Target
from fleetqueue.queueing.settings import DEFAULTS, FairSharing, Settings
from fleetqueue.queueing.state import State
from fleetqueue.testing.quota_pictures import Pictured, quota_tree, workload

AT: FlavorResource = ("default", "gpu")
FAIR = Settings(fair_sharing=FairSharing())


def everything(state: State) -> dict[str, Any]:
    nodes = (*state.tree.queues.values(), *state.tree.cohorts.values())
    held = {key: state.is_taken(key) for of_queue in state.holders.values() for key in of_queue}
    return {"usage": [(node.name, dict(node.usage)) for node in nodes], "held": held}


def team(settings: Settings = DEFAULTS) -> Pictured:
    tree = """
        team
          a  gpu=4  reclaim=Any  within=LowerPriority
          b  gpu=4
    """
    return quota_tree(tree, settings).running("a1@a gpu=1 priority=-1; b1@b gpu=3; b2@b gpu=4")


@pytest.mark.rule("kueue 7.4")
@pytest.mark.parametrize("settings", [DEFAULTS, FAIR], ids=["classical", "fair"])
@pytest.mark.parametrize("line", ["w@a gpu=3", "w@a gpu=4", "w@a gpu=9"])
def test_the_state_is_left_as_it_was(settings: Settings, line: str) -> None:
    found = team(settings)
    before = everything(found.state)
    found.targets(line)
    assert everything(found.state) == before


@pytest.mark.rule("kueue 7.4")
@pytest.mark.parametrize("settings", [DEFAULTS, FAIR], ids=["classical", "fair"])
def test_pods_have_to_find_nodes_too(settings: Settings) -> None:
    """Quota is enough after b2; nodes only once a1 is gone as well. Then b2 need not go."""
    found = team(settings)
    pending = replace(workload("w@a gpu=1"), assignments=())
    asked: list[list[str]] = []

    def fits_place() -> bool:
        held = [key for of_queue in found.state.holders.values() for key in of_queue]
        asked.append([key.name for key in held if found.state.is_taken(key)])
        return "a1" in asked[-1]

    targets = find_targets(found.state, pending, {AT: 1}, frozenset([AT]), fits_place)
    assert [each.workload.key.name for each in targets] == ["a1"]
    assert all(asked)


@pytest.mark.rule("kueue 7.4")
def test_where_no_node_helps_nobody_goes() -> None:
    pending = replace(workload("w@a gpu=3"), assignments=())
    state = team().state
    assert find_targets(state, pending, {AT: 3}, frozenset([AT]), lambda: False) == []


def test_an_error_in_the_middle_leaves_the_state_as_it_was() -> None:
    found = team()
    before = everything(found.state)

    def fails() -> bool:
        raise RuntimeError("no topology")

    pending = replace(workload("w@a gpu=3"), assignments=())
    with pytest.raises(RuntimeError, match="no topology"):
        find_targets(found.state, pending, {AT: 3}, frozenset([AT]), fails)
    assert everything(found.state) == before


CHANCES = {  # the tree, what runs, who asks, for how much, and the answer
    "some of the own queue goes": (
        "cq gpu=4 within=LowerPriority",
        "x@cq gpu=4",
        "w@cq priority=1",
        4,
        ("preempt", 0),
    ),
    "nobody may go": ("cq gpu=4", "x@cq gpu=4", "w@cq priority=1", 4, ("none", 0)),
    "only others go": (
        "t\n  a gpu=4 reclaim=Any\n  b gpu=4",
        "x@b gpu=8",
        "w@a",
        4,
        ("reclaim", 0),
    ),
    "own and others": (
        "t\n  a gpu=4 reclaim=Any within=LowerPriority\n  b gpu=4",
        "o@a gpu=1; x@b gpu=7",
        "w@a priority=1",
        4,
        ("preempt", 0),
    ),
    "nobody, and it would borrow": (
        "t gpu=4\n  a gpu=1",
        "x@a gpu=5",
        "w@a priority=1",
        2,
        ("none", 1),
    ),
    "the level is that after preemption": (
        "r gpu=2\n  t gpu=2\n    a gpu=0 within=LowerPriority",
        "x@a gpu=2; y@a gpu=2",
        "w@a priority=1",
        2,
        ("preempt", 2),
    ),
    "and lower if enough goes": (
        "r gpu=2\n  t gpu=2\n    a gpu=0 within=LowerPriority",
        "x@a gpu=4",
        "w@a priority=1",
        2,
        ("preempt", 1),
    ),
    "by the advantage of the cohort": (
        "r\n  t gpu=2\n    a gpu=0 reclaim=Any\n  u\n    b gpu=0",
        "x@b gpu=2",
        "w@a",
        2,
        ("reclaim", 1),
    ),
}


@pytest.mark.rule("kueue 5.4")
@pytest.mark.parametrize(
    ("tree", "running", "asks", "amount", "answer"), CHANCES.values(), ids=CHANCES.keys()
)
def test_would_preemption_help(
    tree: str, running: str, asks: str, amount: int, answer: tuple[str, int]
) -> None:
    state = quota_tree(tree).running(running).state
    before = everything(state)
    assert possibility(state, workload(asks), AT, amount) == answer
    assert everything(state) == before


@pytest.mark.rule("kueue 7.4")
def test_the_same_question_is_looked_into_once_while_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether somebody can go is asked first, who it is next; another state gets another answer."""
    found, looks = team(), []
    classical = search.classical_targets

    def counted(demand: Demand) -> list[Target]:
        looks.append(demand)
        return classical(demand)

    monkeypatch.setattr(search, "classical_targets", counted)
    pending = replace(workload("w@a gpu=3"), assignments=())

    def targets() -> list[str]:
        possibility(found.state, pending, AT, 3)
        told = find_targets(found.state, pending, {AT: 3}, frozenset([AT]))
        return [each.workload.key.name for each in told]

    first = targets()
    assert len(looks) == 1

    gone = next(each for each in found.state.holders["b"].values() if each.key.name in first)
    start = found.state.mark()
    found.state.take(gone)
    assert targets() != first
    found.state.undo(start)
    assert targets() == first

    found.state.release(gone.key)
    assert targets() != first
