"""The workloads that wait in one ClusterQueue: who is tried, who is parked, who comes back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.queues import Counts, PendingQueue, Requeue
from fleetqueue.queueing.workload import PodSet, Workload

pytestmark = pytest.mark.rule("kueue 4.1")

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def workload(name: str, **changes: Any) -> Workload:
    known: dict[str, Any] = {
        "key": Key("team", name),
        "uid": f"uid-{name}",
        "local_queue": "main",
        "cluster_queue": "queue",
        "pod_sets": (PodSet("main", 1, {"cpu": 1000}, {"cpu": 1000}, {}),),
        "created_at": NOW,
        "ordered_at": NOW,
        "queued_at": NOW,
    }
    return Workload(**(known | changes))


def queue_of(*workloads: Workload, **options: Any) -> PendingQueue:
    queue = PendingQueue("queue", **options)
    for each in workloads:
        queue.put(each, NOW)
    return queue


def order_of(queue: PendingQueue) -> str:
    return " ".join(each.key.name for each in queue.ordered())


def everywhere(namespace: str) -> bool:
    return True


@pytest.mark.rule("kueue 4.2")
@pytest.mark.parametrize(
    ("workloads", "order"),
    {
        "by priority": ([workload("a", priority=1), workload("b", priority=5)], "b a"),
        "with the boost": ([workload("a", priority=1, boost=9), workload("b", priority=5)], "a b"),
        "then by time": (
            [workload("a", ordered_at=NOW + timedelta(seconds=1)), workload("b")],
            "b a",
        ),
        "then by uid": ([workload("b"), workload("a")], "a b"),
    }.values(),
)
def test_the_order_in_a_queue_is_total(workloads: list[Workload], order: str) -> None:
    assert order_of(queue_of(*workloads)) == order


@pytest.mark.rule("kueue 4.10")
def test_what_a_local_queue_used_before_counts_more_than_priority() -> None:
    queue = PendingQueue("queue")
    queue.shares = {Key("team", "greedy"): 2.0, Key("team", "modest"): 1.0}
    queue.put(workload("a", local_queue="greedy", priority=9), NOW)
    queue.put(workload("b", local_queue="modest"), NOW)

    assert order_of(queue) == "b a"


@pytest.mark.rule("kueue 4.3")
def test_one_workload_at_a_time_is_tried() -> None:
    queue = queue_of(workload("a"), workload("b"))
    head = queue.pop()

    assert head is not None
    assert head.key.name == "a"
    assert queue.pop() is None
    assert queue.counts == Counts(active=2)


AT_ONCE = [
    Requeue.FAILED_AFTER_NOMINATION,
    Requeue.PENDING_PREEMPTION,
    Requeue.PENDING_MIGRATION,
    Requeue.PREEMPTION_FAILED,
]


@pytest.mark.rule("kueue 4.4")
@pytest.mark.parametrize("why", list(Requeue))
@pytest.mark.parametrize("is_strict", [True, False])
def test_who_goes_straight_back_depends_on_the_strategy(why: Requeue, is_strict: bool) -> None:
    queue = queue_of(workload("a"), is_strict=is_strict)
    head = queue.pop()
    assert head is not None

    at_once = queue.requeue(head, why, NOW)

    wanted = why is not Requeue.NAMESPACE_MISMATCH if is_strict else why in AT_ONCE
    assert at_once is wanted
    assert queue.counts == (Counts(active=1) if wanted else Counts(parked=1))


@pytest.mark.rule("kueue 4.4", "kueue 5.5")
def test_flavors_left_to_try_bring_it_back_at_once() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None

    assert queue.requeue(head, Requeue.NO_FIT, NOW, has_more_flavors=True)


@pytest.mark.rule("kueue 4.4")
def test_what_changed_while_it_was_tried_is_not_missed() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None
    queue.unpark(NOW, everywhere)

    assert queue.requeue(head, Requeue.NO_FIT, NOW)


@pytest.mark.rule("kueue 4.4", "kueue 4.8")
def test_only_namespaces_that_the_queue_selects_come_back() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.NAMESPACE_MISMATCH, NOW)

    queue.unpark(NOW, lambda namespace: False)
    assert queue.counts == Counts(parked=1)

    queue.unpark(NOW, everywhere)
    assert queue.counts == Counts(active=1)


@pytest.mark.rule("kueue 3.5")
@pytest.mark.parametrize(
    "waiting", [{"waits_until": NOW + timedelta(seconds=9)}, {"may_requeue": False}]
)
def test_a_workload_that_backs_off_is_parked_whatever_happens(waiting: dict[str, Any]) -> None:
    queue = queue_of(workload("a", **waiting))
    queue.unpark(NOW, everywhere)
    assert queue.counts == Counts(parked=1)

    queue.put(workload("a"), NOW)
    assert queue.counts == Counts(active=1)


@pytest.mark.rule("kueue 3.5")
def test_a_back_off_ends_with_time() -> None:
    queue = queue_of(workload("a", waits_until=NOW + timedelta(seconds=9)))

    queue.unpark(NOW + timedelta(seconds=9), everywhere)

    assert queue.counts == Counts(active=1)


def parked(name: str = "a", **changes: Any) -> PendingQueue:
    queue = queue_of(workload(name, **changes))
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.NO_FIT, NOW)
    return queue


@pytest.mark.rule("kueue 4.4")
@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2},
        {"priority": 3},
        {"is_evicted": True},
        {"has_closed_gate": True},
        {"pod_sets": (PodSet("main", 0, {"cpu": 1000}, {}, {}),)},
    ],
)
def test_a_parked_workload_that_changes_is_tried_again(change: dict[str, Any]) -> None:
    queue = parked()

    queue.put(workload("a", **change), NOW)

    assert queue.counts == Counts(active=1)


@pytest.mark.rule("kueue 4.4")
def test_a_change_that_decides_nothing_leaves_it_parked() -> None:
    queue = parked()

    queue.put(workload("a", is_ready=True), NOW)

    assert queue.counts == Counts(parked=1)
    found = queue.get(Key("team", "a"))
    assert found is not None
    assert found.is_ready


@pytest.mark.rule("kueue 4.5")
def test_equals_of_one_that_does_not_fit_are_parked_with_it() -> None:
    queue = queue_of(
        workload("a", hash="same"), workload("b", hash="same"), workload("c", hash="other")
    )
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.NO_FIT, NOW, reason="WaitingForQuota")
    queue.put(workload("d", hash="same"), NOW)

    assert queue.counts == Counts(active=1, parked=3)
    assert queue.why_bypassed(Key("team", "b")) == "WaitingForQuota"
    assert queue.why_bypassed(Key("team", "c")) is None
    assert queue.hash_counts() == Counts(active=1, parked=1)

    queue.unpark(NOW, everywhere)
    assert queue.counts == Counts(active=4)
    assert queue.why_bypassed(Key("team", "b")) is None


@pytest.mark.rule("kueue 4.5")
@pytest.mark.parametrize("options", [{"is_strict": True}, {"hashes_equivalents": False}])
def test_a_strict_queue_and_a_closed_gate_know_no_equals(options: dict[str, Any]) -> None:
    queue = queue_of(workload("a", hash="same"), workload("b", hash="same"), **options)
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.NO_FIT, NOW)

    assert not queue.hopeless


@pytest.mark.rule("kueue 4.2")
def test_a_preemptor_stays_first_until_it_is_found_unschedulable() -> None:
    queue = queue_of(workload("a"), workload("b", priority=9))
    first = queue.pop()
    assert first is not None
    queue.remove(first.key)
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.PENDING_PREEMPTION, NOW)
    queue.put(workload("c", priority=50), NOW)
    assert order_of(queue) == "a c"

    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.GENERIC, NOW)
    assert order_of(queue) == "c a"


@pytest.mark.rule("kueue 4.2")
@pytest.mark.parametrize(
    "why",
    [Requeue.FAILED_AFTER_NOMINATION, Requeue.PREEMPTION_FAILED, Requeue.PENDING_MIGRATION],
    ids=lambda why: why.value,
)
def test_a_preemptor_that_is_only_passed_over_stays_first(why: Requeue) -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.PENDING_PREEMPTION, NOW)
    assert queue.pop() is not None
    queue.requeue(head, why, NOW)
    queue.put(workload("b", priority=50), NOW)

    assert order_of(queue) == "a b"


@pytest.mark.rule("kueue 4.2")
def test_a_strict_queue_keeps_nobody_first_for_its_preemptions() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.PENDING_PREEMPTION, NOW)
    queue.is_strict = True
    assert queue.pop() is not None
    queue.requeue(head, Requeue.PENDING_PREEMPTION, NOW)
    queue.put(workload("b", priority=50), NOW)

    assert order_of(queue) == "b a"


@pytest.mark.rule("kueue 4.2")
def test_a_preemptor_that_is_deleted_gives_way() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None
    queue.requeue(head, Requeue.PENDING_PREEMPTION, NOW)
    queue.remove(head.key)
    queue.put(workload("a"), NOW)
    queue.put(workload("b", priority=1), NOW)

    assert order_of(queue) == "b a"


@pytest.mark.rule("kueue 4.4")
def test_an_update_of_the_one_being_tried_waits_until_it_is_back() -> None:
    queue = queue_of(workload("a"))
    head = queue.pop()
    assert head is not None

    queue.put(replace(head, priority=7), NOW)

    assert queue.pop() is None
    assert [each.priority for each in queue.ordered()] == [7]
