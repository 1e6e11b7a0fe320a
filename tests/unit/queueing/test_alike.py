"""Workloads that would get the same answer wait together."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing import order
from fleetqueue.queueing.alike import Alike
from fleetqueue.queueing.queues import PendingQueue, Requeue
from fleetqueue.queueing.workload import PodSet, Workload

pytestmark = pytest.mark.rule("kueue 4.1", "kueue 4.3")

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PODS = (PodSet("main", 1, {"cpu": 1000}, {"cpu": 1000}, {}),)


def workload(number: int, hash: str = "same", namespace: str = "team", **more: Any) -> Workload:
    key = Key(namespace, f"w-{number}")
    at = NOW + timedelta(seconds=number)
    return Workload(key, f"uid-{number:06}", "main", "queue", PODS, NOW, at, NOW, hash=hash, **more)


def alike(*workloads: Workload) -> Alike:
    made = Alike(order.rank)
    for each in workloads:
        made.put(each)
    return made


def left(waiting: Alike) -> list[str]:
    found = []
    while (workload := waiting.pop()) is not None:
        found.append(workload.key.name)
    return found


def test_the_first_of_all_groups_leaves_first() -> None:
    waiting = alike(workload(3, "a"), workload(1, "b"), workload(2, "a"), workload(0, "b"))

    assert left(waiting) == ["w-0", "w-1", "w-2", "w-3"]


def test_a_group_is_set_aside_and_taken_back_as_a_whole() -> None:
    waiting = alike(workload(0, "a"), workload(1, "b"), workload(2, "a"))

    waiting.set_aside("a")

    assert (len(waiting), waiting.aside_count) == (1, 2)
    assert waiting.is_aside(Key("team", "w-2"))
    assert left(waiting) == ["w-1"]
    waiting.take_back(lambda namespace: True)
    assert left(waiting) == ["w-0", "w-2"]


def test_only_selected_namespaces_are_taken_back() -> None:
    waiting = alike(workload(0, namespace="one"), workload(1, namespace="two"))
    waiting.set_aside("same")

    waiting.take_back(lambda namespace: namespace == "two")

    assert left(waiting) == ["w-1"]
    assert waiting.aside_count == 1


def test_one_that_waits_while_its_equals_are_aside_is_joined_by_them() -> None:
    waiting = alike(workload(0), workload(2))
    waiting.set_aside("same")
    waiting.put(workload(1))

    assert len(waiting) == 1
    waiting.take_back(lambda namespace: True)
    assert left(waiting) == ["w-0", "w-1", "w-2"]


def test_ranks_that_changed_count_for_those_aside_too() -> None:
    sticky: list[Key | None] = [None]
    waiting = Alike(lambda each: order.rank(each, sticky=sticky[0]))
    waiting.put(workload(0))
    waiting.put(workload(1))
    waiting.set_aside("same")
    sticky[0] = Key("team", "w-1")

    waiting.reorder(Key("team", "w-1"))
    waiting.take_back(lambda namespace: True)

    assert left(waiting) == ["w-1", "w-0"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_each_is_in_one_place_and_leaves_in_order(seed: int) -> None:
    source = random.Random(seed)
    waiting, active, aside = Alike(order.rank), set[int](), set[int]()
    for _ in range(300):
        number = source.randrange(40)
        made = workload(number, hash=f"h{number % 3}", namespace=f"n{number % 2}")
        match source.choice(["put", "put", "remove", "aside", "back", "pop"]):
            case "put" if number not in aside:
                waiting.put(made)
                active.add(number)
            case "remove":
                waiting.remove(made.key)
                active.discard(number)
                aside.discard(number)
            case "aside":
                waiting.set_aside(made.hash)
                aside |= {each for each in active if each % 3 == number % 3}
                active -= aside
            case "back":
                waiting.take_back(lambda namespace, wanted=made.key.namespace: namespace == wanted)
                active |= {each for each in aside if each % 2 == number % 2}
                aside -= active
            case "pop":
                found = waiting.pop()
                assert (found is None) is (not active)
                if found is not None:
                    assert found.key.name == f"w-{min(active)}"
                    active.remove(min(active))
        assert (len(waiting), waiting.aside_count) == (len(active), len(aside))


def test_what_does_not_fit_costs_as_much_as_there_are_kinds_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every change of a tree wakes its queues: ten thousand equals must not be sorted again."""
    queue = PendingQueue("queue")
    for number in range(10_000):
        queue.put(workload(number, hash=f"h{number % 3}"), NOW)
    looked = 0
    rank = order.rank

    def counted(*args: Any, **options: Any) -> order.Rank:
        nonlocal looked
        looked += 1
        return rank(*args, **options)

    monkeypatch.setattr(order, "rank", counted)
    for _ in range(3):
        head = queue.pop()
        assert head is not None
        queue.requeue(head, Requeue.NO_FIT, NOW)

    assert queue.pop() is None
    assert queue.counts.parked == 10_000
    queue.unpark(NOW, lambda namespace: True)
    assert queue.counts.active == 10_000
    assert looked < 50
