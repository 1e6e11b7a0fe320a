"""Which bindings change now, which go, and which have to wait."""

from typing import Any

import pytest
from tests.support.choosing import NOW, ago, binding, clusters_of, condition

from fleetqueue.api.fleet import defaults
from fleetqueue.fleet.decide import bindings, rollout, rollout_changes, shares
from fleetqueue.fleet.decide.rollout import Limits, Rollout

Json = dict[str, Any]
OLD, NEW = "p-0-snapshot", "p-1-snapshot"
READY = condition("Available", reason="AllWorkAreAvailable")
FAILED = condition("Available", "False", "NotAllWorkAreAvailable")
WAITS = condition(
    "Available", reason="NotAllWorkAreAvailabilityTrackable", lastTransitionTime=ago(seconds=20)
)


def is_new(found: Json) -> bool:
    return bool(found["spec"]["resourceSnapshotName"] == NEW)


def old(cluster: str, *conditions: Json, **more: Any) -> Json:
    return binding(cluster, "Bound", *(conditions or (READY,)), snapshot=OLD, **more)


def new(cluster: str, *conditions: Json, **more: Any) -> Json:
    return binding(cluster, "Bound", *(conditions or (READY,)), snapshot=NEW, **more)


def plan(*found: Json, target: int = 0, unavailable: int = 1, surge: int = 1) -> Rollout:
    limits = Limits(target or len(found), unavailable, surge, 60.0)
    return rollout.plan(found, limits, is_new, NOW)


def told(found: Rollout) -> tuple[list[str], list[str], list[str]]:
    return clusters_of(found.changed), clusters_of(found.removed), clusters_of(found.blocked)


# fmt: off
SHARES = {
    "a number": (2, 10, 2), "a number as text": ("2", 10, 2), "a percentage": ("25%", 8, 2),
    "rounded up": ("25%", 3, 1), "of nothing": ("25%", 0, 0), "all": ("100%", 7, 7),
    "none": ("0%", 7, 0), "more than there is": (9, 3, 9),
}
# fmt: on


@pytest.mark.rule("ROLL-3")
@pytest.mark.parametrize(("share", "whole", "number"), SHARES.values(), ids=SHARES.keys())
def test_shares_are_rounded_up(share: int | str, whole: int, number: int) -> None:
    assert shares.rounded_up(share, whole) == number


# fmt: off
TARGETS = {
    "pick all": ({"placementType": "PickAll"}, 3),
    "pick n": ({"placementType": "PickN", "numberOfClusters": 7}, 7),
    "pick fixed": ({"placementType": "PickFixed", "clusterNames": ["a", "b"]}, 2),
}
# fmt: on


@pytest.mark.rule("ROLL-3")
@pytest.mark.parametrize(("policy", "target"), TARGETS.values(), ids=TARGETS.keys())
def test_how_many_clusters_shall_have_it(policy: Json, target: int) -> None:
    found = [old("a"), old("b"), binding("c", "Scheduled"), binding("d", "Unscheduled")]
    placement = defaults.defaulted({"spec": {"policy": policy}})
    limits = rollout.limits_of(placement, found)
    assert limits.target == target
    assert limits == Limits(target, -(-target // 4), -(-target // 4), 60.0)


def test_a_period_that_no_calendar_has_room_for() -> None:
    rolling = {"unavailablePeriodSeconds": 10**12}
    strategy = {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    limits = rollout.limits_of(defaults.defaulted({"spec": strategy}), [])
    assert limits.unavailable_seconds == 100 * 365 * 86400


@pytest.mark.rule("ROLL-5")
@pytest.mark.rule("ROLL-8")
def test_a_first_roll_out_reaches_everybody() -> None:
    found = plan(*(binding(name, "Scheduled") for name in "abc"))
    assert told(found) == (["a", "b", "c"], [], [])


@pytest.mark.rule("ROLL-7")
@pytest.mark.rule("ROLL-9")
@pytest.mark.rule("ROLL-11")
def test_an_update_reaches_as_many_as_may_be_unavailable() -> None:
    assert told(plan(old("a"), old("b"), old("c"))) == (["a"], [], ["b", "c"])
    assert told(plan(old("a"), old("b"), old("c"), unavailable=2)) == (["a", "b"], [], ["c"])


@pytest.mark.rule("ROLL-7")
@pytest.mark.rule("ROLL-11")
def test_an_update_that_fails_goes_no_further() -> None:
    assert told(plan(new("a", FAILED), old("b"), old("c"))) == ([], [], ["b", "c"])


@pytest.mark.rule("ROLL-6")
@pytest.mark.rule("ROLL-11")
def test_whatever_failed_is_updated_at_once() -> None:
    assert told(plan(old("a", FAILED), old("b"), old("c"))) == (["a"], [], ["b", "c"])
    assert told(plan(old("a", FAILED), old("b", FAILED), unavailable=0)) == (["a", "b"], [], [])


@pytest.mark.rule("ROLL-7")
def test_removals_come_before_updates() -> None:
    leaving = binding("z", "Unscheduled", READY)
    assert told(plan(old("a"), old("b"), leaving, target=2)) == (["a"], ["z"], ["b"])
    assert told(plan(old("a"), old("b"), leaving, target=2, unavailable=0)) == (
        [],
        ["z"],
        ["a", "b"],
    )


@pytest.mark.rule("ROLL-7")
def test_what_is_about_to_go_does_not_count_as_there() -> None:
    going = binding("c", "Bound", READY, is_deleting=True)
    assert told(plan(old("a"), old("b"), going, target=3)) == ([], [], ["a", "b"])
    # One that is not ready was not counted in the first place.
    unready = binding("c", "Bound", FAILED, is_deleting=True)
    assert told(plan(old("a"), old("b"), unready, target=2)) == (["a"], [], ["b"])


@pytest.mark.rule("ROLL-8")
def test_a_surge_is_limited() -> None:
    leaving = [binding(name, "Unscheduled", READY) for name in "xyz"]
    coming = [binding(name, "Scheduled") for name in "abc"]
    found = plan(*leaving, *coming, target=3, unavailable=0)
    assert told(found) == (["a"], [], ["b", "c"])
    assert told(plan(*leaving, *coming, target=3)) == (["a"], ["x"], ["b", "c"])


@pytest.mark.rule("ROLL-8")
def test_what_failed_leaves_room_for_others() -> None:
    leaving = [binding(name, "Unscheduled", FAILED) for name in "xyz"]
    coming = [binding(name, "Scheduled") for name in "abc"]
    assert told(plan(*leaving, *coming, target=3, surge=0)) == (["a", "b", "c"], [], [])


@pytest.mark.rule("ROLL-9")
def test_what_cannot_be_tracked_counts_after_a_while() -> None:
    found = plan(new("a", WAITS), old("b"), old("c"))
    assert told(found) == ([], [], ["b", "c"])
    assert found.seconds == 40.0
    assert plan(old("a"), old("b"), old("c")).seconds == 60.0
    assert plan(new("a", WAITS), new("b")).seconds is None


@pytest.mark.rule("ROLL-13")
def test_with_nothing_wanted_everything_may_go() -> None:
    leaving = [binding(name, "Unscheduled", FAILED) for name in "ab"]
    limits = Limits(0, 0, 0, 60.0)
    assert clusters_of(rollout.plan(leaving, limits, is_new, NOW).removed) == ["a", "b"]


@pytest.mark.rule("ROLL-7", "ROLL-8", "ROLL-13")
def test_clusters_that_were_given_up_before_they_got_anything_block_nobody() -> None:
    unused = [binding(name, "Unscheduled", snapshot="") for name in "bc"]
    found = plan(binding("d", "Scheduled", snapshot=""), *unused, target=1)
    assert told(found) == (["d"], ["b", "c"], [])
    assert found.seconds is None
    # They are no reason to touch more of those that have something.
    assert told(plan(old("a"), *unused, target=1, unavailable=0)) == ([], ["b", "c"], ["a"])


@pytest.mark.rule("BIND-4")
def test_a_cluster_that_is_not_cleaned_up_has_to_wait() -> None:
    going = binding("a", "Bound", READY, is_deleting=True, name="p-a-old")
    found = plan(going, binding("a", "Scheduled"), binding("b", "Scheduled"), target=2)
    assert told(found) == (["b"], [], [])
    assert found.seconds == 5.0


@pytest.mark.rule("ROLL-4")
def test_a_placement_that_only_reports_diffs_is_ready_with_its_report() -> None:
    reported = condition("DiffReported")
    found = plan(old("a", reported), old("b", reported), old("c", reported))
    assert told(found) == (["a"], [], ["b", "c"])


@pytest.mark.rule("ROLL-2")
def test_what_a_binding_says_of_its_rollout() -> None:
    found = new("a")
    conditions = rollout.conditions_with(found, rollout.STARTED, NOW)
    assert conditions is not None
    assert conditions[-1] == {
        "type": "RolloutStarted",
        "status": "True",
        "reason": "RolloutStarted",
        "message": "Detected the new changes on the resources and started the rollout process",
        "observedGeneration": 3,
        "lastTransitionTime": ago(seconds=0),
    }
    assert rollout.conditions_with(found | {"status": {"conditions": conditions}},
                                   rollout.STARTED, NOW) is None  # fmt: skip
    blocked = rollout.conditions_with(found, rollout.BLOCKED, NOW)
    assert blocked is not None
    assert blocked[-1]["message"] == (
        "The resources cannot be updated to the latest because of the rollout strategy"
    )


WANTED = rollout_changes.delivery(
    NEW, {"clusterResourceOverrideSnapshots": ["cro-0"], "resourceOverrideSnapshots": []}
)


@pytest.mark.rule("ROLL-2")
def test_a_binding_is_brought_to_the_latest() -> None:
    found = old("a")
    assert not rollout_changes.is_delivered(found, WANTED)
    patch = rollout_changes.delivery_patch(found, WANTED)
    assert patch["spec"] == {
        "state": "Bound",
        "resourceSnapshotName": NEW,
        "clusterResourceOverrideSnapshots": ["cro-0"],
    }
    found["spec"] |= patch["spec"]
    assert rollout_changes.is_delivered(found, WANTED)


@pytest.mark.rule("ROLL-2")
def test_a_binding_says_itself_that_its_roll_out_has_started() -> None:
    found = old("a")
    assert not bindings.is_rolled_out(found)
    patch = rollout_changes.delivery_patch(found, WANTED, in_steps=False)
    found["metadata"] |= {**patch["metadata"], "generation": found["metadata"]["generation"] + 1}
    assert bindings.is_rolled_out(found)
    said = rollout.conditions_with(found, rollout.STARTED, NOW)
    assert not bindings.is_rolled_out({**found, "status": {"conditions": said}}), "it is said"
    found["metadata"]["generation"] += 1
    assert not bindings.is_rolled_out(found), "it is of an earlier generation"


@pytest.mark.rule("ROLL-5")
def test_an_override_that_is_gone_is_taken_out() -> None:
    found = new("a")
    found["spec"]["resourceOverrideSnapshots"] = [{"name": "ro-0", "namespace": "web"}]
    assert not rollout_changes.is_delivered(found, WANTED)
    patch = rollout_changes.delivery_patch(found, WANTED)
    assert patch["spec"]["resourceOverrideSnapshots"] is None


SERVER_SIDE = {"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}
# fmt: off
STRATEGIES = {
    "none yet": (None, {"type": "ClientSideApply"}, {"type": "ClientSideApply"}),
    "the same, by default": ({}, {"type": "ClientSideApply", "whenToApply": "Always"}, None),
    "the same": (SERVER_SIDE, SERVER_SIDE, None),
    "another": (SERVER_SIDE, {"type": "ReportDiff"},
                {"type": "ReportDiff", "serverSideApplyConfig": None}),
}
# fmt: on


@pytest.mark.rule("ROLL-1")
@pytest.mark.parametrize(("known", "wanted", "change"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_how_things_are_applied_is_passed_on(
    known: Json | None, wanted: Json, change: Json | None
) -> None:
    found = old("a")
    if known is not None:
        found["spec"]["applyStrategy"] = known
    patch = rollout_changes.apply_strategy_patch(found, wanted)
    assert (None if patch is None else patch["spec"]["applyStrategy"]) == change
