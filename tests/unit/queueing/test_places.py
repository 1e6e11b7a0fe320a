"""Places for pods: which flavors do, when places are looked for, and what if there are none."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.queueing.plan import Admit, Evict, FailPlace, Place, Wait
from fleetqueue.queueing.queues import Requeue
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import PodSetAssignment, TopologyRequest, Workload
from support.cycles import Scene, message, scene, told, waiting
from support.racks import LEVELS, Racks, on

pytestmark = pytest.mark.rule("kueue 8.3")

REQUIRED = TopologyRequest(required=LEVELS[0])
COULD_NOT = "couldn't assign flavors to pod set main: "


def placing(picture: str, settings: Settings | None = None, **rooms: dict[str, int]) -> Scene:
    """A drawn state whose flavors with rooms have a topology."""
    found = scene(picture, settings=settings or Settings())
    found.state.topologies = Racks(**rooms)
    for name in found.state.topologies.rooms:
        found.flavor(name, topology="racks")
    return found


def asking(line: str, topology: TopologyRequest | None = REQUIRED, **said: Any) -> Workload:
    pending = waiting(line)
    sets = tuple(replace(each, topology=topology) for each in pending.pod_sets)
    return replace(pending, pod_sets=sets, **said)


def running(line: str, **places: int) -> Workload:
    """A workload that holds quota and places."""
    found = asking(line)
    (pods,) = found.pod_sets
    held = PodSetAssignment("main", pods.count, {"cpu": "tas"}, pods.total(), on(**places))
    return replace(found, assignments=(held,), reserved_at=found.created_at, is_admitted=True)


# Which flavors do


MATCHES: dict[str, tuple[TopologyRequest | None, str]] = {
    "no topology, none asked for": (None, "plain"),
    "a required level": (REQUIRED, "tas"),
    "a preferred level": (TopologyRequest(preferred=LEVELS[0]), "tas"),
    "anywhere": (TopologyRequest(is_unconstrained=True), "tas"),
    "only how pods are numbered": (TopologyRequest(), "plain"),
}


@pytest.mark.parametrize(("topology", "flavor"), MATCHES.values(), ids=MATCHES.keys())
def test_flavors_match(topology: TopologyRequest | None, flavor: str) -> None:
    picture = "team plain:cpu=4 tas:cpu=4" if flavor == "tas" else "team tas:cpu=4 plain:cpu=4"
    found = placing(picture, tas={"n1": 9})
    assert found.cycle(asking("w@team cpu=1", topology)) == [f"w: admit {flavor}"]


REFUSED = {
    "not for places": (
        REQUIRED,
        "plain",
        'Flavor "plain" does not support TopologyAwareScheduling',
    ),
    "not known": (REQUIRED, "lost", 'Flavor "lost" information missing in TAS cache'),
    "no such level": (
        TopologyRequest(required="block"),
        "tas",
        'Flavor "tas" does not contain the requested level',
    ),
    "no such slice level": (
        TopologyRequest(is_unconstrained=True, slice_level="block", slice_size=1),
        "tas",
        'Flavor "tas" does not contain the requested level',
    ),
    "no such layer": (
        TopologyRequest(layers=(("block", 2), (LEVELS[0], 1))),
        "tas",
        'Flavor "tas" does not contain the requested level',
    ),
    "only for places": (None, "tas", 'Flavor "tas" supports only TopologyAwareScheduling'),
}


@pytest.mark.rule("kueue 5.3")
@pytest.mark.parametrize(("topology", "flavor", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_flavors_that_do_not_match(topology: TopologyRequest, flavor: str, why: str) -> None:
    found = placing("team tas:cpu=4 plain:cpu=4 lost:cpu=4", tas={"n1": 9})
    found.groups("team", f"cpu: {flavor}", "gpu: plain")
    found.flavor("lost", topology="racks")
    (decision,) = found.plan(asking("w@team cpu=1", topology)).decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.message) == ("NoMatchingFlavor", f"{COULD_NOT}{why}")


def test_a_queue_with_places_only_places_everybody() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 9})
    (decision,) = found.plan(waiting("w@team cpu=1 x2")).admitted()
    assert decision.held.assignments[0].placement == on(n1=2)


def test_what_pods_do_not_ask_nodes_for_may_have_any_flavor() -> None:
    found = placing("team tas:cpu=4 plain:credits=4", tas={"n1": 9})
    found.groups("team", "cpu: tas", "credits: plain")
    pending = asking("w@team cpu=1 credits=1")
    (pods,) = pending.pod_sets
    sets = (replace(pods, pod_requests={"cpu": 1000}),)
    assert found.cycle(replace(pending, pod_sets=sets)) == ["w: admit tas/plain"]
    assert found.cycle(pending) == ["w: wait NoMatchingFlavor"]


def test_without_places_topologies_do_not_matter() -> None:
    found = placing("team tas:cpu=4", Settings(places_pods=False), tas={"n1": 0})
    assert found.cycle(asking("w@team cpu=1")) == ["w: admit tas"]


def test_two_flavors_with_places_for_one_set_are_an_error() -> None:
    found = placing("team a:cpu=4 b:gpu=4", a={"n1": 9}, b={"n2": 9})
    found.groups("team", "cpu: a", "gpu: b")
    (decision,) = found.plan(asking("w@team cpu=1 gpu=1")).decisions
    assert isinstance(decision, Wait)
    assert decision.message == (
        "failed to assign flavors to pod set main: more than one TAS flavor assigned: a, b"
    )
    assert decision.reason == "TopologyPlacementFailed"


def test_a_set_that_asks_for_places_but_nothing_else_is_an_error() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 9})
    (decision,) = found.plan(asking("w@team")).decisions
    assert message(decision) == ("failed to assign flavors to pod set main: no TAS flavor assigned")


def test_a_topology_that_is_not_known_is_an_error() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 9})
    found.state.topologies = Racks()
    (decision,) = found.plan(waiting("w@team cpu=1")).decisions
    assert message(decision) == (
        "failed to assign flavors to pod set main: "
        "workload requires Topology, but there is no TAS cache information"
    )


def test_a_set_that_asks_for_nothing_goes_where_its_group_goes() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 9})
    together = replace(REQUIRED, group="g")
    (decision,) = found.plan(asking("w@team leader + workers cpu=1 x2", together)).admitted()
    leader, workers = decision.held.assignments
    assert leader.flavors == {}
    assert leader.placement == on(n1=1)
    assert workers.placement == on(n1=2)


def test_sets_without_pods_are_left_out() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 2})
    (decision,) = found.plan(asking("w@team a cpu=1 x0 + b cpu=1 x2")).admitted()
    assert [each.placement for each in decision.held.assignments] == [None, on(n1=2)]


# When they are looked for


def test_places_are_part_of_what_is_admitted() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 1, "n2": 9})
    (decision,) = found.plan(asking("w@team cpu=1 x3")).admitted()
    (assigned,) = decision.admission["podSetAssignments"]
    assert assigned["topologyAssignment"] == {
        "levels": list(LEVELS),
        "slices": [
            {
                "domainCount": 2,
                "podCounts": {"individual": [1, 2]},
                "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
            }
        ],
    }
    assert "delayedTopologyRequest" not in assigned


@pytest.mark.parametrize(("later", "is_delayed"), [(None, True), ({"tas"}, True), ({"x"}, False)])
def test_places_are_looked_for_later_where_a_check_comes_first(
    later: set[str] | None, is_delayed: bool
) -> None:
    found = placing("team tas:cpu=4", tas={"n1": 4})
    found.state.delayed_flavors["team"] = None if later is None else frozenset(later)
    (decision,) = found.plan(asking("w@team cpu=1 x2")).admitted()
    (assigned,) = decision.admission["podSetAssignments"]
    assert (assigned.get("delayedTopologyRequest") == "Pending") is is_delayed
    assert ("topologyAssignment" in assigned) is not is_delayed


def test_what_checks_add_is_handed_on() -> None:
    found = placing("team tas:cpu=4", tas={"n1": 4})
    added = {"main": [{"key": "x"}]}
    labels = {"main": {"zone": "a"}}
    pending = asking("w@team cpu=1", tolerations=added, node_selectors=labels)
    found.plan(pending)
    racks = found.state.topologies
    assert isinstance(racks, Racks)
    ((wanted,), *_) = racks.asked
    assert (wanted.tolerations, wanted.node_selector) == (added["main"], labels["main"])


def test_places_are_not_looked_for_where_quota_is_short() -> None:
    found = placing("team tas:cpu=1", tas={"n1": 4})
    assert found.cycle(asking("w@team cpu=2")) == ["w: wait ExceedsMaxQuota"]
    racks = found.state.topologies
    assert isinstance(racks, Racks)
    assert racks.asked == []


# When there are none


def test_pods_that_never_fit_do_not_wait_for_others_to_go() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 2})
    (decision,) = found.plan(asking("w@team cpu=1 x3")).decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.requeue) == ("TopologyPlacementFailed", Requeue.NO_FIT)
    assert decision.message == (f'{COULD_NOT}topology "tas" allows to fit only 2 out of 3 pod(s)')


def test_what_is_said_about_places_is_what_is_free_now() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 2})
    found.state.hold(running("low@team cpu=1 priority=-1", n1=1))
    (decision,) = found.plan(asking("w@team cpu=1 x3")).decisions
    assert message(decision) == (f'{COULD_NOT}topology "tas" allows to fit only 1 out of 3 pod(s)')


def test_where_quota_is_short_too_both_are_said() -> None:
    found = placing("team tas:cpu=3 within=LowerPriority", tas={"n1": 2})
    found.state.hold(running("low@team cpu=1 priority=-1", n1=1))
    (decision,) = found.plan(asking("w@team cpu=1 x3")).decisions
    assert message(decision) == (
        f"{COULD_NOT}insufficient unused quota for cpu in flavor tas, 1 more needed, "
        'topology "tas" allows to fit only 2 out of 3 pod(s)'
    )
    assert isinstance(decision, Wait)
    assert decision.reason == "TopologyPlacementFailed"


def test_somebody_goes_for_a_place_where_quota_is_enough() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 3})
    found.state.hold(running("low@team cpu=1 x2 priority=-1", n1=2))
    (decision,) = found.plan(asking("w@team cpu=1 x2")).decisions
    assert told(decision) == "w: preempt low"
    assert message(decision) == (
        f'{COULD_NOT}topology "tas" allows to fit only 1 out of 2 pod(s). '
        "Pending the preemption of 1 workload(s)"
    )


def test_nobody_to_go_for_a_place() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 3})
    found.state.hold(running("high@team cpu=1 x2 priority=9", n1=2))
    (decision,) = found.plan(asking("w@team cpu=1 x2")).decisions
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.requeue) == ("WaitingForQuota", Requeue.NO_CANDIDATES)


def test_victims_for_quota_must_leave_a_place_too() -> None:
    found = placing("team tas:cpu=4 within=LowerPriority", tas={"n1": 2, "n2": 2})
    found.state.hold(running("elsewhere@team cpu=1 x2 priority=-2", n2=2))
    found.state.hold(running("there@team cpu=1 x2 priority=-1", n1=2))
    found.state.topologies.rooms["tas"]["n2"] = 0  # type: ignore[attr-defined]
    assert found.cycle(asking("w@team cpu=1 x2")) == ["w: preempt there"]


# Others in the same cycle

TWO_QUEUES = "a tas:cpu=4\nb tas:cpu=4"


@pytest.mark.rule("kueue 5.7")
def test_places_are_looked_for_again_after_others_took_some() -> None:
    found = placing(TWO_QUEUES, tas={"n1": 2, "n2": 2})
    plan = found.plan(asking("v@a cpu=1 x2 created=1"), asking("w@b cpu=1 x2 created=2"))
    first, second = plan.admitted()
    assert first.held.assignments[0].placement == on(n1=2)
    assert second.held.assignments[0].placement == on(n2=2)


@pytest.mark.rule("kueue 5.7")
def test_without_looking_again_the_second_waits() -> None:
    settings = Settings(recomputes_placement=False)
    found = placing(TWO_QUEUES, settings, tas={"n1": 2, "n2": 2})
    plan = found.plan(asking("v@a cpu=1 x2 created=1"), asking("w@b cpu=1 x2 created=2"))
    assert [told(each) for each in plan.decisions] == [
        "v: admit tas",
        "w: wait WaitingForQuota",
    ]
    assert message(plan.decisions[1]) == (
        "Workload no longer fits after processing another workload"
    )


@pytest.mark.rule("kueue 5.7")
def test_the_last_place_goes_to_the_first() -> None:
    found = placing(TWO_QUEUES, tas={"n1": 3})
    plan = found.plan(asking("v@a cpu=1 x2 created=1"), asking("w@b cpu=1 x2 created=2"))
    assert [told(each) for each in plan.decisions] == [
        "v: admit tas",
        "w: wait WaitingForQuota",
    ]
    assert found.state.topologies.mark() == 0


@pytest.mark.rule("kueue 5.7")
def test_a_place_that_a_preemptor_will_take_is_not_given_away() -> None:
    found = placing("a tas:cpu=2 within=LowerPriority\nb tas:cpu=4", tas={"n1": 2, "n2": 1})
    found.state.hold(running("low@a cpu=1 x2 priority=-1", n1=2))
    plan = found.plan(asking("v@a cpu=1 x2 created=1"), asking("w@b cpu=1 created=2"))
    assert [told(each) for each in plan.decisions] == ["v: preempt low", "w: admit tas"]
    assert plan.admitted()[0].held.assignments[0].placement == on(n2=1)


# The second pass


def delayed(line: str = "w@team cpu=1 x2", **said: Any) -> Workload:
    pending = running(line)
    held = replace(pending.assignments[0], placement=None, is_delayed=True)
    return replace(pending, assignments=(held,), is_admitted=False, needs_second_pass=True, **said)


@pytest.mark.rule("kueue 5.8")
def test_a_second_pass_finds_the_places_and_keeps_the_rest() -> None:
    found = placing("team tas:cpu=2", tas={"n1": 4})
    holder = delayed()
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Place)
    (assigned,) = decision.admission["podSetAssignments"]
    assert assigned["delayedTopologyRequest"] == "Ready"
    assert assigned["flavors"] == {"cpu": "tas"}
    assert decision.held.assignments[0].placement == on(n1=2)
    assert decision.held.reserved_at == holder.reserved_at


@pytest.mark.rule("kueue 5.8")
def test_a_second_pass_of_one_that_lost_its_quota_is_dropped() -> None:
    assert placing("team tas:cpu=2", tas={"n1": 4}).cycle(delayed()) == []


@pytest.mark.rule("kueue 5.8")
def test_a_second_pass_that_fails_leaves_the_status_alone() -> None:
    found = placing("team tas:cpu=2", tas={"n1": 1})
    holder = delayed()
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, FailPlace)
    assert decision.targets == ()
    assert decision.message == (f'{COULD_NOT}topology "tas" allows to fit only 1 out of 2 pod(s)')


@pytest.mark.rule("kueue 5.8")
def test_a_second_pass_may_preempt() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 2})
    found.state.hold(running("low@team cpu=1 x2 priority=-1", n1=2))
    holder = delayed()
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, FailPlace)
    assert [each.workload.key.name for each in decision.targets] == ["low"]
    assert decision.message.endswith("out of 2 pod(s). Pending the preemption of 1 workload(s)")


@pytest.mark.rule("kueue 5.7")
def test_a_second_pass_goes_first() -> None:
    found = placing("a tas:cpu=4\nteam tas:cpu=4", tas={"n1": 2})
    holder = delayed()
    found.state.hold(holder)
    plan = found.plan(asking("early@a cpu=1 x2 created=-9 priority=9"), holder)
    assert [told(each) for each in plan.decisions] == ["w: place", "early: wait WaitingForQuota"]


# A node that failed


def lost(*nodes: str, line: str = "w@team cpu=1 x3", **said: Any) -> Workload:
    found = running(line, n1=1, n2=2)
    return replace(found, unhealthy_nodes=nodes, needs_second_pass=True, **said)


@pytest.mark.rule("kueue 8.8")
def test_pods_of_a_failed_node_get_another_place() -> None:
    found = placing("team tas:cpu=9", tas={"n1": 4, "n2": 2, "n3": 9})
    holder = lost("n2")
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Place)
    assert decision.held.assignments[0].placement == on(n1=3)


@pytest.mark.rule("kueue 8.8")
def test_without_another_place_the_workload_is_evicted_and_nobody_preempted() -> None:
    found = placing("team tas:cpu=9 within=LowerPriority", tas={"n1": 1, "n2": 2, "n3": 2})
    found.state.hold(running("low@team cpu=1 x2 priority=-1", n3=2))
    holder = lost("n2")
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Evict)
    assert decision.reason == "NodeFailures"
    assert decision.message == (
        "Workload was evicted as there was no replacement for unhealthy node(s): n2"
    )


@pytest.mark.rule("kueue 8.8")
def test_without_failing_fast_it_is_tried_again() -> None:
    found = placing("team tas:cpu=9", Settings(fails_fast=False), tas={"n1": 1, "n2": 2})
    holder = lost("n2")
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, FailPlace)
    assert "allows to fit only" in decision.message


@pytest.mark.rule("kueue 8.8")
def test_two_failed_nodes_are_too_many() -> None:
    found = placing("team tas:cpu=9", tas={"n1": 4, "n2": 2, "n3": 9})
    holder = lost("n1", "n2")
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Evict)
    assert decision.message.endswith("unhealthy node(s): n1,n2")


@pytest.mark.rule("kueue 8.8")
def test_a_single_pod_keeps_its_place() -> None:
    found = placing("team tas:cpu=9", tas={"n1": 4, "n2": 2, "n3": 9})
    holder = lost("n2", is_single_pod=True)
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Place)
    assert decision.held.assignments == holder.assignments


@pytest.mark.rule("kueue 8.8", "kueue 10.3")
@pytest.mark.parametrize("nodes", [("n2",), ("n1", "n2")], ids=["one", "two"])
def test_a_single_pod_moves_like_others_where_it_is_not_left_alone(nodes: tuple[str, ...]) -> None:
    settings = Settings(leaves_single_pods=False)
    found = placing("team tas:cpu=9", settings, tas={"n1": 4, "n2": 2, "n3": 9})
    holder = lost(*nodes, is_single_pod=True)
    found.state.hold(holder)
    (decision,) = found.plan(holder).decisions
    assert isinstance(decision, Place if len(nodes) == 1 else Evict)
    assert not isinstance(decision, Place) or decision.held.assignments[0].placement == on(n1=3)


PREFERRED = TopologyRequest(preferred=LEVELS[0])
ANYWHERE = TopologyRequest(is_unconstrained=True)
UNSUPPORTED = "topology is not supported with ElasticJobsViaWorkloadSlices"


@pytest.mark.rule("kueue 8.11")
@pytest.mark.parametrize(
    ("topology", "is_slice", "is_on", "refusal"),
    [
        (REQUIRED, True, True, f"required {UNSUPPORTED}"),
        (PREFERRED, True, True, f"preferred {UNSUPPORTED}"),
        (ANYWHERE, True, True, ""),
        (REQUIRED, False, True, ""),
        (REQUIRED, True, False, ""),
    ],
    ids=["required", "preferred", "anywhere", "no slice", "switched off"],
)
def test_slices_may_not_ask_to_be_close(
    topology: TopologyRequest, is_slice: bool, is_on: bool, refusal: str
) -> None:
    found = placing("team tas:cpu=9", Settings(places_elastic=is_on), tas={"n1": 4})
    name = "w" if is_slice else ""
    (decision,) = found.plan(asking("w@team cpu=1", topology, slice_name=name)).decisions
    assert isinstance(decision, Wait if refusal else Admit)
    assert not isinstance(decision, Wait) or decision.message == (
        f"failed to assign flavors to pod set main: {refusal}"
    )


@pytest.mark.rule("kueue 8.9")
@pytest.mark.parametrize("by_prefix", [True, False])
def test_places_are_told_by_prefix_where_that_is_wanted(by_prefix: bool) -> None:
    rooms = {f"{pool}-{number}": 1 for pool in ("a-long-name", "b-another") for number in range(9)}
    found = placing("team tas:cpu=18", Settings(packs_by_prefix=by_prefix), tas=rooms)
    (decision,) = found.plan(asking("w@team cpu=1 x18", ANYWHERE)).decisions
    assert isinstance(decision, Admit)
    (told_,) = decision.admission["podSetAssignments"]
    assert len(told_["topologyAssignment"]["slices"]) == (2 if by_prefix else 1)


@pytest.mark.rule("kueue 8.11")
def test_a_slice_keeps_the_pods_of_the_one_before_where_they_are() -> None:
    found = placing("team tas:cpu=9", Settings(places_elastic=True), tas={"n1": 4, "n2": 4})
    found.state.hold(running("old@team cpu=1 x2", n2=2))
    grown = asking("new@team cpu=1 x3", ANYWHERE, slice_name="old")
    bigger = replace(grown, replaces=running("old@team").key)
    (decision,) = found.plan(bigger).decisions
    assert isinstance(decision, Admit)
    assert decision.held.assignments[0].placement == on(n1=1, n2=2)
