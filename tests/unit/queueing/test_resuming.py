"""The search for a flavor goes on where the last attempt stopped, as long as that makes sense."""

from dataclasses import replace

import pytest

from fleetqueue.queueing.assignment import Record
from fleetqueue.queueing.plan import Preempt, Wait
from fleetqueue.queueing.settings import Settings
from support.cycles import Scene, message, scene

pytestmark = pytest.mark.rule("kueue 5.5")

THREE = """
    lab
      team   a:cpu=2 b:cpu=2 c:cpu=2  reclaim=LowerPriority within=LowerPriority
      other  a:cpu=2 b:cpu=2 c:cpu=2
"""
FULL = "x@team a:cpu=2 b:cpu=2 c:cpu=2 priority=9; y@other a:cpu=2 b:cpu=2 c:cpu=2 priority=9"


def wait(found: Scene, line: str = "w@team cpu=2 hash=h") -> Wait:
    decision = found.plan(line).decisions[0]
    assert isinstance(decision, Wait)
    return decision


def stopped(found: Scene, flavor: int = 0, **changes: object) -> Scene:
    """As if the last attempt had stopped at a flavor."""
    found.cycles = 4
    generation = found.state.generation("team")
    record = Record({"main": {"cpu": flavor}}, "h", generation, cycle=4)
    waits = found.plan("w@team cpu=2 hash=h").decisions[0]
    found.cycles = 4
    found.records[waits.workload.key] = replace(record, **changes)  # type: ignore[arg-type]
    return found


def looked_at(waits: Wait) -> str:
    return "".join(flavor for flavor in "abc" if f"in flavor {flavor}," in waits.message)


def test_an_attempt_that_looked_at_everything_begins_anew() -> None:
    found = scene(THREE, FULL)
    first = wait(found)
    assert looked_at(first) == "abc"
    assert not first.has_more_flavors
    assert looked_at(wait(found)) == "abc"


def test_the_next_attempt_goes_on_after_the_last_flavor() -> None:
    assert looked_at(wait(stopped(scene(THREE, FULL), 0))) == "bc"
    assert looked_at(wait(stopped(scene(THREE, FULL), 1))) == "c"


def test_flavors_that_were_skipped_are_not_named() -> None:
    assert "in flavor a" not in message(wait(stopped(scene(THREE, FULL), 0)))


DISCARDED = {
    "the same workload": ({}, 1, False, "bc"),
    "another shape": ({"hash": "other"}, 1, False, "abc"),
    "changed queues, the cycle before": ({}, 1, True, "bc"),
    "changed queues, two cycles ago": ({}, 2, True, "abc"),
    "the same queues, long ago": ({}, 9, False, "bc"),
}


@pytest.mark.parametrize(
    ("record", "later", "changed", "begins"), DISCARDED.values(), ids=DISCARDED.keys()
)
def test_discarding(record: dict[str, str], later: int, changed: bool, begins: str) -> None:
    found = stopped(scene(THREE, FULL), 0, **record)
    found.cycles += later - 1
    if changed:
        found.state.put_queue(found.state.queues["other"])
    assert looked_at(wait(found)) == begins


def test_without_keeping_progress_every_change_discards_it() -> None:
    found = stopped(scene(THREE, FULL, Settings(keeps_scan_progress=False)), 0)
    found.state.put_queue(found.state.queues["other"])
    assert looked_at(wait(found)) == "abc"


def test_a_stop_in_the_middle_leaves_flavors_to_try() -> None:
    found = scene("lab\n  team a:cpu=2 b:cpu=2\n  other a:cpu=2 b:cpu=0", "x@other a:cpu=0")
    plan = found.plan("v@other cpu=2 priority=1", "w@team cpu=3")
    assert [each.workload.key.name for each in plan.decisions] == ["v", "w"]
    skipped = plan.decisions[1]
    assert isinstance(skipped, Wait)
    assert skipped.message == "Workload no longer fits after processing another workload"
    assert skipped.record is not None
    assert skipped.record.tried == {"main": {"cpu": 0}}
    assert skipped.has_more_flavors


def test_preempting_clears_the_record() -> None:
    found = scene(THREE, FULL.replace("priority=9", "priority=-1"))
    found.fungibility("team", stops_at_preemption=True)
    decision = found.plan("w@team cpu=2 hash=h").decisions[0]
    assert isinstance(decision, Preempt)
    assert decision.wait.record is None
    assert decision.wait_if_failed.record is None


def test_a_record_for_more_flavors_than_there_are_begins_anew() -> None:
    assert looked_at(wait(stopped(scene(THREE, FULL), 7))) == "abc"


def test_a_set_without_any_flavor_leaves_no_record_of_itself() -> None:
    found = scene("team a:cpu=2 b:cpu=2")
    waits = wait(found, "w@team x cpu=1 + y cpu=5")
    assert waits.record is not None
    assert waits.record.tried == {"x": {"cpu": 0}, "y": {}}
