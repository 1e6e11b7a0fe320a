"""The order in which pods are tried, and who is spared a try."""

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.scheduling.pending import PendingPods
from fleetqueue.runtime.scheduling.pods import PodInfo, waits
from support.scheduling import pod

pytestmark = pytest.mark.rule("jobs C.10")


def info(name: str, priority: int = 0, created: str = "00:00", **more: object) -> PodInfo:
    made = pod(name, priority=priority, **more)  # type: ignore[arg-type]
    made["metadata"]["creationTimestamp"] = f"2026-01-01T{created}:00Z"
    return PodInfo(made)


def taken(pending: PendingPods) -> list[str]:
    names = []
    while (found := pending.next()) is not None:
        names.append(found.name)
        pending.remove(found.uid)
    return names


def test_priority_goes_first_then_age() -> None:
    pending = PendingPods()
    for each in (
        info("young", created="02:00"),
        info("old", created="01:00"),
        info("urgent", priority=10, created="03:00"),
        info("other", created="01:30", requests={"cpu": "1"}),
    ):
        pending.put(each)
    assert taken(pending) == ["urgent", "old", "other", "young"]


def test_what_holds_for_one_holds_for_its_likes() -> None:
    pending = PendingPods()
    alike = [info(f"p{number}") for number in range(3)]
    for each in (*alike, info("q", requests={"cpu": "1"})):
        pending.put(each)
    first = pending.next()
    assert first is not None
    assert [each.name for each in pending.failed(first)] == ["p0", "p1", "p2"]
    second = pending.next()
    assert second is not None
    assert second.name == "q"
    pending.failed(second)
    assert pending.next() is None
    pending.wake()
    assert pending.next() is first


def test_only_those_who_do_not_know_yet_are_told() -> None:
    pending = PendingPods()
    for name in ("p", "q"):
        pending.put(info(name))

    def told(message: str) -> list[str]:
        pending.wake()
        first = pending.next()
        assert first is not None
        return [each.name for each in pending.failed(first, message)]

    assert told("full") == ["p", "q"]
    pending.put(info("q"), is_news=False)
    assert told("full") == []
    pending.put(info("r"))
    assert told("full") == ["r"]
    pending.wake_pod("uid-p")
    assert told("full") == ["p"]
    assert told("fuller") == ["p", "q", "r"]


def test_labels_that_somebody_minds_make_a_difference() -> None:
    pending = PendingPods()
    for number in range(3):
        pending.put(info(f"p{number}", labels={"app": "ab"[number % 2]}))
    minded = frozenset({"app"})
    first = pending.next(minded)
    assert first is not None
    assert [each.name for each in pending.failed(first, "no", minded)] == ["p0", "p2"]
    second = pending.next(minded)
    assert second is not None
    assert second.name == "p1"


def test_a_change_of_the_status_alone_wakes_nobody() -> None:
    pending = PendingPods()
    one = info("p")
    pending.put(one)
    pending.failed(one)
    assert pending.next() is None
    pending.put(info("p"), is_news=False)
    assert pending.next() is None
    pending.put(info("p"))
    assert pending.next() is not None


OURS: dict[str, tuple[Object, bool]] = {
    "a plain pod": (pod("p"), True),
    "a gated one": (pod("p", schedulingGates=[{"name": "g"}]), False),
    "one that has a node": (pod("p", nodeName="n"), False),
    "one of another scheduler": (pod("p", schedulerName="mine"), False),
    "one of ours by name": (pod("p", schedulerName="default-scheduler"), True),
    "one that ended": (pod("p", status={"phase": "Failed"}), False),
}


@pytest.mark.parametrize(("given", "expected"), OURS.values(), ids=OURS)
def test_only_pods_that_are_ready_to_be_placed_wait(given: Object, expected: bool) -> None:
    assert waits(given) == expected
