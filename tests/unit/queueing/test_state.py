"""The state that decisions work on: who holds what, and that tries can be taken back."""

from dataclasses import replace

import pytest

from fleetqueue.queueing.model import Cohort
from fleetqueue.testing.quota_pictures import quota_tree, workload
from support.cycles import usage

pytestmark = pytest.mark.rule("kueue 6.6")
CPU = ("default", "cpu")


def test_what_a_workload_holds_counts_until_it_is_released() -> None:
    state = quota_tree("lab\n  a cpu=4\n  b cpu=4").state
    held = workload("w@a cpu=6")
    state.hold(held)
    assert usage(state) == {"lab": {CPU: 6000}, "a": {CPU: 6000}, "b": {}}
    assert state.holder(held.key) is held
    assert state.release(held.key) is held
    assert usage(state) == {"lab": {}, "a": {}, "b": {}}
    assert state.release(held.key) is None


def test_what_it_held_before_is_replaced() -> None:
    state = quota_tree("a cpu=4\nb cpu=4").state
    state.hold(workload("w@a cpu=3"))
    state.hold(workload("w@b cpu=1"))
    assert usage(state) == {"a": {}, "b": {CPU: 1000}}


def test_a_queue_that_comes_back_has_its_workloads_still() -> None:
    state = quota_tree("lab\n  a cpu=4\n  b cpu=4").state
    state.hold(workload("w@a cpu=6"))
    queue = state.queues["a"]
    state.remove_queue("a")
    assert usage(state) == {"lab": {}, "b": {}}
    state.put_queue(queue)
    assert usage(state) == {"lab": {CPU: 6000}, "a": {CPU: 6000}, "b": {}}


def test_nothing_is_kept_of_a_queue_that_is_gone_and_held_by_nobody() -> None:
    state = quota_tree("lab\n  a cpu=4\nb cpu=4").state
    held = workload("w@a cpu=3")
    state.hold(held)
    for queue in ("a", "b"):
        state.dispatching.add(queue)
        state.delayed_flavors[queue] = None
        state.ranked(queue)
        state.remove_queue(queue)
    assert set(state.holders) == set(state.delayed_flavors) == state.dispatching == {"a"}

    state.release(held.key)
    state.remove_cohort("lab")
    books = (state.holders, state.delayed_flavors, state.dispatching, state._ranked, state._changed)
    assert not any(books)


def test_a_workload_may_be_known_before_its_queue() -> None:
    state = quota_tree("b cpu=4").state
    state.hold(workload("w@a cpu=3"))
    state.put_queue(replace(state.queues["b"], name="a"))
    assert usage(state)["a"] == {CPU: 3000}


def test_tries_are_taken_back() -> None:
    state = quota_tree("a cpu=4").state
    held, other = workload("w@a cpu=3"), workload("x@a cpu=1")
    state.hold(held)
    before = usage(state)
    start = state.mark()
    state.take(held)
    inner = state.mark()
    state.give(other)
    state.give(held)
    assert not state.is_taken(held.key)
    state.undo(inner)
    assert state.is_taken(held.key)
    state.undo(start)
    assert not state.is_taken(held.key)
    assert usage(state) == before


def test_what_is_released_is_not_remembered_as_taken() -> None:
    state = quota_tree("a cpu=4").state
    held = workload("w@a cpu=3")
    state.hold(held)
    state.release(held.key)
    assert not state.is_taken(held.key)


@pytest.mark.rule("kueue 5.5")
def test_generations_follow_changes_of_the_whole_tree() -> None:
    state = quota_tree("lab\n  a cpu=4\n  b cpu=4\nalone cpu=4").state

    def changed() -> set[str]:
        now = {name: state.generation(name) for name in ("a", "b", "alone")}
        found = {name for name, count in now.items() if before.get(name) != count}
        before.update(now)
        return found

    before = {name: state.generation(name) for name in ("a", "b", "alone")}
    state.put_queue(state.queues["a"])
    assert changed() == {"a", "b"}
    state.put_cohort(Cohort("lab"))
    assert changed() == {"a", "b"}
    state.hold(workload("w@alone cpu=2"))
    assert changed() == set()
    state.hold(workload("w@alone cpu=2"))
    assert changed() == set()
    state.hold(workload("w@alone cpu=1"))
    assert changed() == {"alone"}
    state.release(workload("w@alone").key)
    assert changed() == {"alone"}
    state.put_queue(replace(state.queues["alone"], cohort="lab"))
    assert changed() == {"a", "b", "alone"}
    state.put_queue(replace(state.queues["alone"], cohort=""))
    assert changed() == {"a", "b", "alone"}
    state.remove_queue("b")
    assert changed() == {"a", "b"}
    state.remove_cohort("lab")
    assert changed() == {"a"}


def test_a_circle_of_cohorts_has_no_generation() -> None:
    state = quota_tree("circle/\n  turn/\n    loop cpu=4").state
    state.put_cohort(Cohort("circle", parent="turn"))
    assert state.generation("loop") == 0
    assert state.generation("nobody") == 0
