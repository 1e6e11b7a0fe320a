"""Who lists the checks of a new workload, while little happens and while much does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.admission.check_lists import RESERVED_WITHIN, CheckLists
from fleetqueue.admission.facts import Facts, Place
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time
from fleetqueue.base.leisure import AT_ONCE
from fleetqueue.queueing.device_claims import Refusal

pytestmark = pytest.mark.rule("FLOW-3")

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPEN = Place("q", exists=True, is_active=True)
CLOSED = replace(OPEN, is_active=False)
FACTS = Facts(local=OPEN, queue=OPEN, checks=("mk",))
LISTED = {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": format_time(NOW)}


def workload(number: int = 0, since: datetime = NOW, **more: Any) -> Json:
    metadata = {"name": "w", "uid": f"u-{number}", "creationTimestamp": format_time(since)}
    return {"metadata": metadata, "spec": more.pop("spec", {}), **more}


def busy() -> CheckLists:
    """When many have come at once."""
    made = CheckLists(lambda: NOW)
    for number in range(AT_ONCE):
        assert made.are_apart(workload(-1 - number))
    return made


def test_a_few_get_their_list_in_a_write_of_its_own() -> None:
    lists = CheckLists(lambda: NOW)

    found = [lists.are_left(workload(number), FACTS) for number in range(AT_ONCE + 3)]
    assert found == [*[False] * AT_ONCE, True, True, True]


def test_what_was_said_of_a_workload_stays_said() -> None:
    lists = busy()

    assert lists.are_left(workload(-1), FACTS) is False
    assert [lists.are_apart(workload(7)), lists.are_left(workload(7), FACTS)] == [False, True]


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        pytest.param(workload(), replace(FACTS, checks=()), id="there are none"),
        pytest.param(workload(), replace(FACTS, checks=None), id="no queue"),
        pytest.param(workload(), replace(FACTS, queue=CLOSED), id="a closed queue"),
        pytest.param(workload(), replace(FACTS, local=CLOSED), id="a closed local queue"),
        pytest.param(workload(), replace(FACTS, problem="no"), id="it may not be tried"),
        pytest.param(workload(), replace(FACTS, refusal=Refusal("r", "m")), id="it is refused"),
        pytest.param(workload(spec={"active": False}), FACTS, id="it is not active"),
        pytest.param(workload(status={"admissionChecks": [LISTED]}), FACTS, id="some are listed"),
        pytest.param(workload(since=NOW - RESERVED_WITHIN), FACTS, id="nobody reserved anything"),
        pytest.param(
            status.with_condition(workload(), "QuotaReserved", False, "Waits", "m", NOW), FACTS,
            id="it was tried",
        ),
    ],
)  # fmt: skip
def test_a_list_is_left_to_a_reservation_only_where_one_is_about_to_come(
    made: Json, facts: Facts
) -> None:
    assert not busy().are_left(made, facts)
    young = workload(since=NOW - RESERVED_WITHIN + timedelta(seconds=1))
    assert busy().are_left(young, FACTS)
