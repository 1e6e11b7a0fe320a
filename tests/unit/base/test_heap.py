"""The keyed heap finds, updates and removes by key, and keeps a total order."""

import pytest

from fleetqueue.base.heap import KeyedHeap


def heap(**items: int) -> KeyedHeap[str, int]:
    made: KeyedHeap[str, int] = KeyedHeap(rank=lambda item: item)
    for key, item in items.items():
        made.put(key, item)
    return made


def drain(made: KeyedHeap[str, int]) -> list[str]:
    return [made.pop()[0] for _ in range(len(made))]


def test_the_least_leaves_first_and_equals_in_the_order_they_came() -> None:
    assert drain(heap(b=2, a=1, x=2, c=3)) == ["a", "b", "x", "c"]


def test_an_update_moves_an_item_and_keeps_its_turn_among_equals() -> None:
    made = heap(a=1, b=2, c=3)
    made.put("a", 3)
    assert made.get("a") == 3
    assert drain(made) == ["b", "a", "c"]


def test_removal_by_key_returns_the_item() -> None:
    made = heap(a=1, b=2)
    assert made.remove("a") == 1
    assert made.remove("a") is None
    assert "a" not in made
    assert made.peek() == ("b", 2)
    assert len(made) == 1


def test_ordered_shows_all_without_taking_any() -> None:
    made = heap(b=2, a=1)
    assert made.ordered() == [("a", 1), ("b", 2)]
    assert sorted(made) == ["a", "b"]


def test_an_empty_heap_has_nothing_to_give() -> None:
    made = heap()
    assert made.peek() is None
    with pytest.raises(IndexError):
        made.pop()


def test_many_updates_leave_no_garbage_behind() -> None:
    made = heap()
    for number in range(10_000):
        made.put("only", -number)
    assert made.pop() == ("only", -9_999)
    assert len(vars(made)["_heap"]) < 100
