"""Conditions of plain objects."""

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import conditions


def condition(type: str, status: str, reason: str, moment: str, message: str = "") -> Object:
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": moment,
    }


OLD = [condition("A", "True", "Fine", "1"), condition("B", "False", "Bad", "1")]


def test_the_same_status_and_reason_stay_as_they_are() -> None:
    assert conditions.renewed(OLD, condition("A", "True", "Fine", "2", "new words")) == OLD


def test_another_reason_goes_to_the_end_with_the_old_time() -> None:
    new = conditions.renewed(OLD, condition("A", "True", "Better", "2"))
    assert new == [OLD[1], condition("A", "True", "Better", "1")]


def test_another_status_goes_to_the_end_with_its_own_time() -> None:
    new = conditions.renewed(OLD, condition("A", "False", "Fine", "2"))
    assert new == [OLD[1], condition("A", "False", "Fine", "2")]


def test_a_settled_condition_keeps_its_place() -> None:
    new = conditions.settled(OLD, condition("A", "True", "Better", "2", "new words"))
    assert new == [condition("A", "True", "Better", "1", "new words"), OLD[1]]
    assert conditions.settled(OLD, condition("C", "True", "New", "2"))[2]["type"] == "C"
    assert (
        conditions.settled(OLD, condition("B", "True", "Good", "2"))[1]["lastTransitionTime"] == "2"
    )
