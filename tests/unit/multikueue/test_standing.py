"""Why a workload that was offered to workers waits."""

import pytest

from fleetqueue.multikueue.standing import reasons, standings, told
from support.offered import condition, copy

pytestmark = pytest.mark.rule("IMP-11")


def test_every_worker_says_why_it_has_not_admitted_a_workload() -> None:
    no = condition("QuotaReserved", False, "WaitingForQuota", "2 more needed")
    copies = {"w1": copy(no), "w2": copy(), "w3": None, "w4": None}

    found = standings(copies, {"w3": ["No LocalQueue.", "No kind."], "w4": []})

    assert told(found) == (
        "w1: WaitingForQuota (2 more needed); w2: PendingEvaluation;"
        " w3: CannotRun (No LocalQueue. No kind.)"
    )


def test_a_message_that_changes_is_no_news() -> None:
    first = copy(condition("QuotaReserved", False, "WaitingForQuota", "2 more needed"))
    second = copy(condition("QuotaReserved", False, "WaitingForQuota", "1 more needed"))
    other = copy(condition("QuotaReserved", False, "ExceedsMaxQuota", "1 more needed"))

    before, after, changed = (standings({"w1": each}, {}) for each in (first, second, other))

    assert reasons(before) == reasons(after)
    assert reasons(before) != reasons(changed)


def test_the_text_fits_an_event() -> None:
    assert len(told(standings({}, {"w1": ["x" * 5000]})).encode()) == 1024
