"""Which queues are tried next."""

import pytest
from tests.support.held import entries

from fleetqueue.admission.turns import Turns

pytestmark = pytest.mark.rule("kueue 4.3")


def tree_of(queue: str) -> str:
    """Queues of one letter are of one tree."""
    return queue[0]


def given(*queues: str) -> Turns:
    turns = Turns(tree_of)
    for queue in queues:
        turns.give(queue)
    return turns


def test_queues_are_tried_tree_by_tree() -> None:
    assert given("b1", "a2", "a1").trees() == [("a", ["a1", "a2"]), ("b", ["b1"])]


def test_what_had_its_turn_waits_until_there_is_something_new() -> None:
    turns = given("a1", "a2")
    turns.take("a1")
    assert turns.trees() == [("a", ["a2"])]
    turns.give("a1")
    assert turns.trees() == [("a", ["a1", "a2"])]


def test_trees_that_were_left_out_come_first_the_next_time() -> None:
    turns = given("a1", "b1", "c1")
    turns.stop_at("b")
    assert [root for root, _ in turns.trees()] == ["c", "a", "b"]


def test_a_head_that_waits_comes_along_where_others_of_its_tree_are_tried() -> None:
    turns = Turns(tree_of)
    turns.block("a1")
    turns.block("b1")
    assert turns.trees() == []
    turns.give("a2")
    assert turns.trees() == [("a", ["a1", "a2"])]


def test_a_change_in_the_tree_gives_waiting_heads_their_turn() -> None:
    turns = Turns(tree_of)
    turns.block("a1")
    turns.unblock("b1")
    assert turns.trees() == []
    turns.unblock("a2")
    assert turns.trees() == [("a", ["a1"])]


def test_queues_that_went_leave_nothing_behind() -> None:
    turns = given("a1", "b1")
    before = entries(turns)
    for queue in ("c1", "a2"):
        turns.give(queue)
        turns.block(queue)
        turns.take(queue)
        turns.block(queue)
        turns.remove(queue)

    assert entries(turns) == before
    assert turns.trees() == [("a", ["a1"]), ("b", ["b1"])]


def test_a_queue_is_forgotten_wherever_its_tree_was() -> None:
    roots = {"a1": "a"}
    turns = Turns(lambda queue: roots.get(queue, queue))
    turns.block("a1")
    roots.clear()
    turns.remove("a1")

    assert entries(turns) == 0
