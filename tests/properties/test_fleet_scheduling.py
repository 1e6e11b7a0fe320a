"""Who is picked, in any fleet: what the rules give word by word, as even as was asked for, and once
picked for good."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import naive_placement
from tests.support.choosing import binding, member, policy, preferred, run, with_labels
from tests.support.naive_placement import Zoned

from fleetqueue.fleet.decide.scheduling import binding_changes
from fleetqueue.fleet.decide.scheduling.cycle import Outcome

Json = dict[str, Any]
MANY = settings(max_examples=300, deadline=None)
NAMES = [f"c{number}" for number in range(8)]
PLACEMENT = {"metadata": {"name": "p", "uid": "u"}}


@st.composite
def fleets(draw: st.DrawFn) -> list[Zoned]:
    return [
        Zoned(
            name,
            draw(st.sampled_from(("", "x", "y", "z"))),
            10 * draw(st.integers(0, 1)),
            draw(st.booleans()),
        )
        for name in NAMES[: draw(st.integers(0, len(NAMES)))]
    ]


def as_member(each: Zoned) -> Json:
    labels = {"zone": each.zone} if each.zone else {}
    return member(each.name, labels | ({"liked": "yes"} if each.affinity else {}))


def asked(number: int, skew: int | None, is_strict: bool) -> Json:
    more: Json = {"affinity": preferred((10, with_labels(liked="yes")))}
    if skew is not None:
        action = "DoNotSchedule" if is_strict else "ScheduleAnyway"
        constraint = {"topologyKey": "zone", "maxSkew": skew, "whenUnsatisfiable": action}
        more["topologySpreadConstraints"] = [constraint]
    return policy("PickN", number, **more)


def applied(outcome: Outcome, known: list[Json]) -> list[Json]:
    """The bindings after the outcome is written."""
    changed = {each["metadata"]["name"]: each for each in known}
    for each in outcome.unscheduled:
        changed[each["metadata"]["name"]] = _merged(each, binding_changes.unscheduling(each))
    for each, decision in outcome.patched:
        patch = binding_changes.picking_again(each, "p-0", decision)
        changed[each["metadata"]["name"]] = _merged(each, patch)
    for decision in outcome.created:
        made = binding_changes.new_binding("v", "k", PLACEMENT, "p-0", decision, "x")
        changed[made["metadata"]["name"]] = made
    return list(changed.values())


def _merged(each: Json, patch: Json) -> Json:
    return {**each, "spec": {**each["spec"], **patch["spec"]}}


def to_the_end(snapshot: Json, fleet: list[Json], known: list[Json]) -> tuple[Outcome, list[str]]:
    """Cycle after cycle until there is none to follow, and in which order clusters were picked."""
    order: list[str] = []
    for _ in range(len(fleet) + 2):
        outcome = run(snapshot, fleet, known)
        order += [each["clusterName"] for each in outcome.created]
        order += [each["spec"]["targetCluster"] for each, _ in outcome.patched]
        known[:] = applied(outcome, known)
        if not outcome.again:
            return outcome, order
    raise AssertionError("it never ends")


@pytest.mark.rule("SCH-11")
@pytest.mark.rule("SCH-14")
@pytest.mark.rule("SNAP-2")
@MANY
@given(fleets(), st.integers(0, 9), st.one_of(st.none(), st.integers(1, 3)), st.booleans())
def test_the_picked_are_those_of_the_rules(
    fleet: list[Zoned], number: int, skew: int | None, is_strict: bool
) -> None:
    """Obsolete bindings are left out here: what is unpicked would be given up between the cycles
    of the real one only at the end."""
    plain = [replace(each, is_held=False) for each in fleet]
    expected = naive_placement.pick(plain, number, skew, is_strict)
    known: list[Json] = []
    _, order = to_the_end(asked(number, skew, is_strict), [as_member(e) for e in plain], known)
    assert order == [name for name, _ in expected]
    stored = {
        each["spec"]["targetCluster"]: each["spec"]["clusterDecision"]["clusterScore"]
        for each in known
    }
    assert {name: score["priorityScore"] for name, score in stored.items()} == dict(expected)


@pytest.mark.rule("SCH-13")
@pytest.mark.rule("SCH-24")
@MANY
@given(fleets(), st.integers(0, 9), st.one_of(st.none(), st.integers(1, 3)))
def test_an_earlier_choice_breaks_ties(fleet: list[Zoned], number: int, skew: int | None) -> None:
    expected = {name for name, _ in naive_placement.pick(fleet, number, skew, is_strict=True)}
    known = [binding(each.name, policy_name="older") for each in fleet if each.is_held]
    members = [as_member(each) for each in fleet]
    to_the_end(asked(number, skew, is_strict=True), members, known)
    live = {e["spec"]["targetCluster"] for e in known if e["spec"]["state"] != "Unscheduled"}
    assert live == expected
    held = {each.name for each in fleet if each.is_held}
    assert {each["spec"]["targetCluster"] for each in known} == held | expected


@pytest.mark.rule("SCH-11")
@MANY
@given(fleets(), st.integers(0, 9), st.integers(1, 3))
def test_a_strict_spread_is_never_broken(fleet: list[Zoned], number: int, skew: int) -> None:
    known: list[Json] = []
    members = [as_member(each) for each in fleet]
    _, order = to_the_end(asked(number, skew, is_strict=True), members, known)
    by_name = {each.name: each for each in fleet}
    zones = {each.zone for each in fleet if each.zone}
    for count in range(1, len(order) + 1):
        counts = [
            sum(by_name[name].zone == zone for name in order[:count]) for zone in sorted(zones)
        ]
        assert max(counts, default=0) - min(counts, default=0) <= skew


@pytest.mark.rule("SCH-4")
@pytest.mark.rule("SCH-23")
@MANY
@given(fleets(), fleets(), st.integers(0, 9), st.booleans())
def test_what_is_picked_stays(
    fleet: list[Zoned], later: list[Zoned], number: int, picks_all: bool
) -> None:
    """Clusters become others, fall silent, are tainted: nobody who is there loses a placement."""
    snapshot = policy() if picks_all else asked(number, None, is_strict=True)
    known: list[Json] = []
    first, _ = to_the_end(snapshot, [as_member(each) for each in fleet], known)
    again = run(snapshot | {"status": first.status}, [as_member(each) for each in fleet], known)
    assert [*again.created, *again.patched, *again.unscheduled] == []
    zones = {each.name: each.zone for each in later}
    changed = [
        member(each.name, {"zone": zones.get(each.name, "new")}, agents=()) for each in fleet
    ]
    after = run(snapshot, changed, known)
    assert [*after.created, *after.patched, *after.unscheduled] == []
