"""At most one worker preempts for a workload at a time."""

from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.api.times import format_time
from fleetqueue.multikueue.preemption_gates import NOTHING, Opening, decide, with_open_gate
from support.offered import NOW, condition, copy

Json = dict[str, Any]
OURS = "kueue.x-k8s.io/multikueue"
OTHER = {
    "name": "example.com/other",
    "position": "Closed",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def waiting(seconds: float = 0, *, blocked: bool = True, gated: bool = True, **gates: Json) -> Json:
    """A copy that would have to preempt since so many seconds."""
    since = NOW - timedelta(seconds=seconds)
    told = condition("BlockedOnPreemptionGates", blocked, "PreemptionGated", at=since)
    made = copy(told, preemptionGates=list(gates.values())) if gates else copy(told)
    if gated:
        made["spec"] = {**made["spec"], "preemptionGates": [{"name": OURS}]}
    return made


def gate(position: str, seconds: float) -> Json:
    at = format_time(NOW - timedelta(seconds=seconds))
    return {"name": OURS, "position": position, "lastTransitionTime": at}


@pytest.mark.rule("OP-5")
@pytest.mark.rule("OP-8")
def test_the_gate_of_the_worker_that_waited_longest_is_opened() -> None:
    copies = {"a": waiting(1), "b": waiting(9, gate=gate("Closed", 20)), "c": waiting(3)}

    made = decide(copies, NOW)

    assert (made.site, made.after) == ("b", 300)
    assert made.opened is not None
    assert made.opened["status"]["preemptionGates"] == [gate("Open", 0)]
    assert made.opened["status"]["conditions"] == copies["b"]["status"]["conditions"]
    assert copies["b"]["status"]["preemptionGates"] == [gate("Closed", 20)]


@pytest.mark.rule("OP-1")
def test_a_gate_of_which_the_status_says_nothing_is_closed() -> None:
    made = decide({"a": waiting(1)}, NOW)

    assert made.site == "a"
    assert made.opened is not None
    assert made.opened["status"]["preemptionGates"] == [gate("Open", 0)]


@pytest.mark.rule("OP-5")
@pytest.mark.parametrize(
    ("elapsed", "site", "after"),
    [(0, "", 300), (299, "", 1), (300, "b", 300), (900, "b", 300)],
)
def test_another_worker_has_its_turn_after_five_minutes(
    elapsed: float, site: str, after: float
) -> None:
    copies = {"a": waiting(1000, gate=gate("Open", elapsed)), "b": waiting(1)}

    made = decide(copies, NOW)

    assert (made.site, made.after) == (site, after)
    assert (made.opened is not None) == bool(site)


@pytest.mark.rule("OP-5")
def test_the_newest_of_several_open_gates_counts() -> None:
    copies = {
        "a": waiting(1000, gate=gate("Open", 700)),
        "b": waiting(1000, gate=gate("Open", 100)),
        "c": waiting(1),
    }
    assert decide(copies, NOW) == Opening(after=200)


@pytest.mark.rule("OP-5")
@pytest.mark.parametrize(
    "copies",
    [
        {},
        {"a": copy()},
        {"a": waiting(blocked=False)},
        {"a": waiting(gated=False)},
        {"a": waiting(5, gate=gate("Open", 1))},
    ],
    ids=["no copies", "nobody looked", "no preemption needed", "no gate of ours", "all are open"],
)
def test_without_a_candidate_nothing_is_done(copies: dict[str, Json]) -> None:
    assert decide(copies, NOW) == NOTHING


@pytest.mark.rule("OP-5")
def test_equal_times_are_told_apart_by_the_order_of_the_configuration() -> None:
    copies = {"z": waiting(5), "a": waiting(5)}

    assert decide(copies, NOW).site == "z"


@pytest.mark.rule("OP-7")
def test_other_gates_of_the_copy_stay_as_they_are() -> None:
    made = with_open_gate(waiting(1, other=OTHER, gate=gate("Closed", 3)), NOW)

    assert made["status"]["preemptionGates"] == [OTHER, gate("Open", 0)]


@pytest.mark.rule("LIM-14")
def test_how_long_a_turn_takes_can_be_said() -> None:
    copies = {"a": waiting(10, gate=gate("Open", 4)), "b": waiting(1)}

    assert decide(copies, NOW, turn_seconds=10).after == 6
    assert decide(copies, NOW, turn_seconds=3).site == "b"
