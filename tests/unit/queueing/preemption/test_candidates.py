"""The order in which candidates are tried, and who is spared."""

from dataclasses import replace

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.queueing.preemption.candidates import (
    HIERARCHY,
    OWN,
    PRIORITY,
    Candidate,
    in_order,
)
from fleetqueue.queueing.preemption.search import find_targets
from fleetqueue.queueing.settings import Settings, UsageSharing
from fleetqueue.testing.quota_pictures import quota_tree, workload

pytestmark = pytest.mark.rule("kueue 7.3")

BY_USAGE = Settings(usage_sharing=UsageSharing())
QUEUES = "team\n  a gpu=1 usage-based\n  b gpu=1 usage-based\n  c gpu=1"


def candidate(line: str, turn: int = OWN, number: int = 0) -> Candidate:
    return Candidate(workload(line, number), turn, "")


def names(found: list[Candidate]) -> list[str]:
    return [each.workload.key.name for each in found]


def test_evicted_ones_first_then_class_by_class() -> None:
    state = quota_tree(QUEUES).state
    every = [
        candidate(
            f"{'gone' if is_evicted else 'runs'}-{turn}@a {'evicted' if is_evicted else ''}", turn
        )
        for turn in (OWN, PRIORITY, HIERARCHY)
        for is_evicted in (False, True)
    ]
    assert names(in_order(state, every)) == [
        "gone-0",
        "gone-1",
        "gone-2",
        "runs-0",
        "runs-1",
        "runs-2",
    ]


def test_queues_mix_by_priority_time_and_uid() -> None:
    state = quota_tree(QUEUES).state
    lines = (
        "e@a priority=1",
        "d@b reserved=1 uid=2",
        "c@c reserved=1 uid=1",
        "b@a reserved=2",
        "a@b priority=-1",
    )
    assert names(in_order(state, map(candidate, lines))) == ["a", "b", "c", "d", "e"]


@pytest.mark.rule("kueue 4.10")
def test_in_a_queue_that_goes_by_usage_those_of_the_greedier_local_queue_go_first() -> None:
    state = quota_tree(QUEUES, BY_USAGE).state
    state.share_of = {Key("default", "greedy"): 9.0, Key("default", "modest"): 1.0}
    lines = (
        "m-low@a local=modest priority=-5",
        "m-high@a local=modest priority=5",
        "g-high@a local=greedy priority=9",
        "g-low@a local=greedy priority=2",
        "new@a local=never-seen priority=-9",
    )
    assert names(in_order(state, map(candidate, lines))) == [
        "g-low",
        "g-high",
        "m-low",
        "m-high",
        "new",
    ]


@pytest.mark.rule("kueue 4.10")
def test_usage_decides_only_among_those_of_one_queue_that_goes_by_it() -> None:
    state = quota_tree(QUEUES, BY_USAGE).state
    state.share_of = {Key("default", "greedy"): 9.0, Key("default", "modest"): 1.0}
    lines = (
        "a-greedy@a local=greedy priority=3",
        "a-modest@a local=modest priority=1",
        "b-modest@b local=modest priority=2",
        "c-greedy@c local=greedy priority=5",
        "c-modest@c local=modest priority=4",
    )
    # a offers its greedy one first, which has its turn after b's; c does not go by usage.
    expected = ["b-modest", "a-greedy", "a-modest", "c-modest", "c-greedy"]
    assert names(in_order(state, map(candidate, lines))) == expected
    assert names(in_order(state, map(candidate, reversed(lines)))) == expected


def test_usage_is_of_no_matter_without_the_configuration() -> None:
    state = quota_tree(QUEUES).state
    state.share_of = {Key("default", "greedy"): 9.0}
    lines = ("one@a local=greedy priority=1", "two@a local=other")
    assert names(in_order(state, map(candidate, lines))) == ["two", "one"]


@pytest.mark.rule("kueue 9.9")
def test_the_slice_that_is_replaced_is_no_candidate() -> None:
    state = (
        quota_tree("cq gpu=4 within=LowerPriority").running("old@cq gpu=3; other@cq gpu=1").state
    )
    asks = replace(workload("new@cq gpu=1 priority=1"), replaces=Key("default", "old"))
    new = replace(asks, slice_name="old")
    found = find_targets(state, new, new.usage(), frozenset(new.usage()))
    assert [each.workload.key.name for each in found] == ["other"]


def test_one_of_another_job_is_a_candidate_whatever_the_preemptor_says() -> None:
    state = quota_tree("cq gpu=3 within=LowerPriority").running("old@cq gpu=3").state
    asks = replace(workload("new@cq gpu=1 priority=1"), replaces=Key("default", "old"))
    new = replace(asks, slice_name="new")
    found = find_targets(state, new, new.usage(), frozenset(new.usage()))
    assert [each.workload.key.name for each in found] == ["old"]


@pytest.mark.rule("kueue 5.7")
def test_what_was_taken_out_before_is_no_candidate_any_more() -> None:
    found = quota_tree("cq gpu=4 within=LowerPriority").running("a@cq gpu=2; b@cq gpu=2")
    state = found.state
    state.take(state.holders["cq"][Key("default", "b")])
    assert found.preempt("w@cq gpu=4 priority=1") == "a InClusterQueue"
    assert found.preempt("w@cq gpu=5 priority=1") == "nobody"


@pytest.mark.rule("kueue 7.1")
def test_what_uses_nothing_that_is_short_is_no_candidate() -> None:
    found = quota_tree("cq gpu=2 cpu=1 within=LowerPriority").running(
        "none@cq; zero@cq gpu=0 cpu=1; some@cq gpu=2"
    )
    assert found.preempt("w@cq gpu=1 priority=1") == "some InClusterQueue"
