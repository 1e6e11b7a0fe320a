"""Rolling out, whatever the bindings are like: as the rules say word by word, never more clusters
without the resources than allowed, never more with them, and it ends.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import naive_placement
from tests.support.choosing import NOW, binding, clusters_of, condition
from tests.support.naive_placement import Bound

from fleetqueue.fleet.decide import bindings, rollout
from fleetqueue.fleet.decide.rollout import Counts, Limits, Rollout

Json = dict[str, Any]
MANY = settings(max_examples=400, deadline=None)
OLD, NEW = "p-0-snapshot", "p-1-snapshot"
READY = condition("Available", reason="AllWorkAreAvailable")
FAILED = condition("Available", "False", "NotAllWorkAreAvailable")
STATES = ("Scheduled", "Bound", "Bound", "Bound", "Unscheduled")


@st.composite
def bounds(draw: st.DrawFn) -> Bound:
    state = draw(st.sampled_from(STATES))
    if state == "Scheduled":
        return Bound(state)
    health = draw(st.sampled_from(("ready", "ready", "failed", "unknown")))
    is_deleting = draw(st.integers(0, 5)) == 0
    is_new = draw(st.booleans())
    return Bound(state, is_deleting, health == "ready", health == "failed", is_new)


CLUSTERS = st.lists(bounds(), max_size=8).map(
    lambda found: {f"c{number}": each for number, each in enumerate(found)}
)
LIMITS = st.builds(Limits, st.integers(0, 8), st.integers(0, 3), st.integers(0, 3), st.just(60.0))


def as_binding(name: str, each: Bound) -> Json:
    told = [READY] if each.is_ready else [FAILED] if each.has_failed else []
    snapshot = NEW if each.is_new else OLD
    return binding(name, each.state, *told, snapshot=snapshot, is_deleting=each.is_deleting)


def is_new(found: Json) -> bool:
    return bool(found["spec"]["resourceSnapshotName"] == NEW)


def planned(found: list[Json], limits: Limits) -> Rollout:
    return rollout.plan(found, limits, is_new, NOW)


@pytest.mark.rule("ROLL-5")
@pytest.mark.rule("ROLL-7")
@pytest.mark.rule("ROLL-8")
@MANY
@given(CLUSTERS, LIMITS)
def test_a_plan_is_that_of_the_rules(found: dict[str, Bound], limits: Limits) -> None:
    plan = planned([as_binding(name, each) for name, each in found.items()], limits)
    expected = naive_placement.roll_out(
        found, limits.target, limits.unavailable_max, limits.surge_max
    )
    given_ = (set(clusters_of(plan.changed)), set(clusters_of(plan.removed)))
    assert (*given_, set(clusters_of(plan.blocked))) == expected


@pytest.mark.rule("ROLL-7")
@pytest.mark.rule("ROLL-8")
@MANY
@given(CLUSTERS, LIMITS)
def test_a_plan_keeps_within_its_limits(found: dict[str, Bound], limits: Limits) -> None:
    known = [as_binding(name, each) for name, each in found.items()]
    plan = planned(known, limits)
    ready = {name for name, each in found.items() if each.is_ready and not each.is_deleting}
    touched = ready & {*clusters_of(plan.changed), *clusters_of(plan.removed)}
    least = limits.target - limits.unavailable_max
    if touched and limits.target:
        assert len(ready - touched) >= least
    bound = [each for each in plan.changed if bindings.state(each) == "Scheduled"]
    possible = sum(bindings.can_be_ready(each) for each in known)
    if bound:
        assert possible + len(bound) <= limits.target + limits.surge_max
    told = [*plan.changed, *plan.removed, *plan.blocked, *plan.current]
    names = [each["metadata"]["name"] for each in told]
    assert len(names) == len(set(names))


@pytest.mark.rule("ROLL-3")
@MANY
@given(LIMITS, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_allowances_are_never_negative(limits: Limits, ready: int, going: int, can: int) -> None:
    counts = Counts(ready, min(going, ready), can)
    removals = rollout.removals_allowed(limits, counts)
    assert removals >= 0
    assert rollout.additions_allowed(limits, counts) >= 0
    if removals:
        left = counts.ready - counts.going - removals
        assert left >= limits.target - limits.unavailable_max


@pytest.mark.rule("ROLL-11")
@MANY
@given(st.integers(1, 6), st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.randoms())
def test_an_update_ends_and_is_never_too_hasty(
    wanted: int, unwanted: int, unavailable: int, surge: int, random: Any
) -> None:
    """Clusters get ready in any order; until all is done, enough of them are ready all the time."""
    limits = Limits(wanted, unavailable, surge, 60.0)
    found = {f"c{n}": Bound("Bound", is_ready=True) for n in range(wanted)}
    found |= {f"x{n}": Bound("Unscheduled", is_ready=True) for n in range(unwanted)}
    for _ in range(100):
        plan = planned([as_binding(name, each) for name, each in found.items()], limits)
        for name in clusters_of(plan.changed):
            found[name] = Bound("Bound", is_new=True)
        for name in clusters_of(plan.removed):
            del found[name]
        assert sum(each.is_ready for each in found.values()) >= wanted - unavailable
        waiting = [name for name, each in found.items() if not each.is_ready]
        if not waiting and not plan.changed and not plan.removed:
            break
        for name in waiting[: random.randint(1, len(waiting))] if waiting else ():
            found[name] = Bound(found[name].state, is_ready=True, is_new=found[name].is_new)
    assert set(found) == {f"c{n}" for n in range(wanted)}
    assert all(each.is_new for each in found.values())
