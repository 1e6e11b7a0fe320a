"""When a round began, as the Workload tells after a restart."""

from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.multikueue.rounds import round_started_of
from support.offered import NOW, workload

pytestmark = pytest.mark.rule("IMP-4")
NAMES = {"f:status": {"f:nominatedClusterNames": {}}}
OTHER = {"f:status": {"f:admission": {}}}


def entry(manager: str, seconds: float | None, fields: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    if seconds is not None:
        made["time"] = format_time(NOW + timedelta(seconds=seconds))
    return made


def nominated(*entries: dict[str, Any], names: tuple[str, ...] = ("a",)) -> dict[str, Any]:
    made = workload()
    made["metadata"]["managedFields"] = list(entries)
    made["status"]["nominatedClusterNames"] = list(names)
    return made


def test_the_newest_time_of_an_owner_of_the_names_counts() -> None:
    entries = [entry("kueue-admission", 5, NAMES), entry("x", 9, NAMES), entry("y", 60, OTHER)]

    assert round_started_of(nominated(*entries)) == NOW + timedelta(seconds=10)


def test_a_time_that_was_cut_to_the_second_never_makes_a_round_shorter() -> None:
    written = NOW + timedelta(seconds=4.9)

    started = round_started_of(nominated(entry("x", 4.9, NAMES)))

    assert started is not None
    assert started >= written


@pytest.mark.parametrize(
    "known",
    [
        workload(),
        nominated(entry("x", 1, NAMES), names=()),
        nominated(entry("x", 1, OTHER)),
        nominated(entry("x", None, NAMES)),
        nominated(),
    ],
    ids=["never written", "no names", "owns something else", "no time", "no managers"],
)
def test_otherwise_nobody_knows(known: dict[str, Any]) -> None:
    assert round_started_of(known) is None
