"""Which flavor a workload gets, and what is said about those it does not get."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.queueing import flavors
from fleetqueue.queueing.assignment import Cause, Mode
from fleetqueue.queueing.model import PreemptionRules
from fleetqueue.queueing.plan import Admit, Wait
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import TopologyRequest
from support.cycles import Scene, message, scene, waiting, with_spec

pytestmark = [pytest.mark.rule("kueue 5.3"), pytest.mark.rule("kueue 5.4")]

TWO = "team  spot:cpu=4  on-demand:cpu=4"
COULD_NOT = "couldn't assign flavors to pod set main: "


def said(found: Scene, line: str, **spec: Any) -> str:
    """What a waiting workload is told, as reason and message without the usual beginning."""
    (decision,) = found.plan(with_spec(waiting(line), **spec)).decisions
    assert isinstance(decision, Wait)
    return f"{decision.reason}: {message(decision).removeprefix(COULD_NOT)}"


QUOTA = {
    "the first flavor has room": ("", "w@team cpu=4", "admit spot"),
    "the first is full": ("a@team spot:cpu=1", "w@team cpu=4", "admit on-demand"),
    "both are full": ("a@team spot:cpu=1 on-demand:cpu=1", "w@team cpu=4", "wait WaitingForQuota"),
    "more than there is": ("", "w@team cpu=5", "wait ExceedsMaxQuota"),
    "pods of one set stay together": ("", "w@team cpu=3 x2", "wait ExceedsMaxQuota"),
    "sets may differ": ("", "w@team a cpu=3 + b cpu=3", "admit spot + on-demand"),
    "later sets see what earlier ones take": (
        "",
        "w@team a cpu=3 + b cpu=3 + c cpu=3",
        "wait ExceedsMaxQuota",
    ),
    "nothing is asked for": ("", "w@team", "admit"),
    "a set that asks for nothing": ("", "w@team a cpu=1 + b", "admit spot +"),
    "zero of what is covered": ("", "w@team cpu=0", "admit spot"),
    "zero of what others use up": ("a@team spot:cpu=9", "w@team cpu=0", "admit spot"),
    "zero of what is not covered": ("", "w@team cpu=1 gpu=0", "admit spot"),
    "some of what is not covered": ("", "w@team cpu=1 gpu=1", "wait NoMatchingFlavor"),
}


@pytest.mark.parametrize(("in_use", "asks", "happens"), QUOTA.values(), ids=QUOTA.keys())
def test_quota(in_use: str, asks: str, happens: str) -> None:
    assert scene(TWO, in_use).cycle(asks) == [f"w: {happens}"]


TEXTS = {
    "unused": (
        "a@team spot:cpu=2 on-demand:cpu=1",
        "w@team cpu=4",
        "WaitingForQuota: insufficient unused quota for cpu in flavor on-demand, 1 more needed, "
        "insufficient unused quota for cpu in flavor spot, 2 more needed",
    ),
    "thousandths": (
        "a@team spot:cpu=4 on-demand:cpu=3500m",
        "w@team cpu=1",
        "WaitingForQuota: insufficient unused quota for cpu in flavor on-demand, 500m more needed, "
        "insufficient unused quota for cpu in flavor spot, 1 more needed",
    ),
    "at most": (
        "",
        "w@team cpu=10",
        "ExceedsMaxQuota: insufficient quota for cpu in flavor on-demand, previously considered "
        "podsets requests (0) + current podset request (10) > maximum capacity (4), "
        "insufficient quota for cpu in flavor spot, previously considered "
        "podsets requests (0) + current podset request (10) > maximum capacity (4)",
    ),
    "not covered": (
        "",
        "w@team gpu=1",
        "NoMatchingFlavor: resource gpu unavailable in ClusterQueue",
    ),
}


@pytest.mark.rule("kueue 5.9")
@pytest.mark.parametrize(("in_use", "asks", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_what_is_said(in_use: str, asks: str, text: str) -> None:
    assert said(scene(TWO, in_use), asks) == text


@pytest.mark.rule("kueue 5.9")
def test_earlier_sets_are_named_in_what_is_too_much() -> None:
    found = scene("team cpu=4").plan("w@team a cpu=3 + b cpu=2 + c cpu=1").decisions[0]
    assert message(found) == (
        "couldn't assign flavors to pod set b: insufficient quota for cpu in flavor default, "
        "previously considered podsets requests (3) + current podset request (2) > maximum "
        "capacity (4)"
    )


def test_sets_after_one_without_any_flavor_are_not_looked_at() -> None:
    found = scene("team cpu=4").plan("w@team a cpu=5 + b cpu=6").decisions[0]
    assert isinstance(found, Wait)
    assert found.assignment is not None
    assert [each.name for each in found.assignment.pod_sets] == ["a"]


def test_memory_is_said_in_binary_and_other_things_in_decimal() -> None:
    found = scene("team memory=1Gi gpu=2k", "a@team memory=512Mi gpu=1")
    assert said(found, "w@team memory=1Gi gpu=2k") == (
        "WaitingForQuota: insufficient unused quota for gpu in flavor default, 1 more needed, "
        "insufficient unused quota for memory in flavor default, 512Mi more needed"
    )


def test_a_quota_without_end_is_never_short() -> None:
    assert scene("team cpu=unlimited").cycle("w@team cpu=9000000") == ["w: admit default"]


@pytest.mark.rule("kueue 6.7")
def test_what_is_not_declared_can_be_left_out() -> None:
    found = scene(TWO, settings=Settings(ignores_undeclared=True))
    (decision,) = found.plan("w@team cpu=1 gpu=1").admitted()
    assert decision.admission["podSetAssignments"][0]["resourceUsage"] == {"cpu": "1"}


# Several resources, several groups


def test_the_resources_of_a_group_get_one_flavor() -> None:
    found = scene("team spot:cpu=4 spot:memory=1 on-demand:cpu=4 on-demand:memory=4")
    assert found.cycle("w@team cpu=1 memory=2") == ["w: admit on-demand"]


def test_groups_choose_for_themselves() -> None:
    found = scene("team spot:cpu=1 on-demand:cpu=4 a100:gpu=1 h100:gpu=4")
    found.groups("team", "cpu: spot on-demand", "gpu: a100 h100")
    (decision,) = found.plan("w@team cpu=2 gpu=1").admitted()
    assert decision.admission["podSetAssignments"][0]["flavors"] == {
        "cpu": "on-demand",
        "gpu": "a100",
    }


def test_all_resources_are_looked_at_after_one_that_does_not_fit() -> None:
    found = scene("team cpu=1 memory=1")
    assert said(found, "w@team cpu=2 memory=2").count("maximum capacity (1)") == 2


@pytest.mark.rule("kueue 6.7")
def test_the_number_of_pods_counts_where_the_queue_covers_pods() -> None:
    found = scene("team cpu=9 pods=3")
    assert found.cycle("w@team cpu=1 x3") == ["w: admit default"]
    assert said(found, "w@team cpu=1 x4") == (
        "ExceedsMaxQuota: insufficient quota for pods in flavor default, previously considered "
        "podsets requests (0) + current podset request (4) > maximum capacity (3)"
    )
    (decision,) = found.plan("w@team cpu=1 x2").admitted()
    assert decision.admission["podSetAssignments"][0]["resourceUsage"] == {"cpu": "2", "pods": "2"}


@pytest.mark.rule("kueue 5.3")
def test_sets_of_one_group_are_given_flavors_together() -> None:
    found = scene("team spot:cpu=4 on-demand:cpu=8")
    together = TopologyRequest(group="g")
    pending = waiting("w@team leader cpu=1 + other cpu=1 + workers cpu=2 x2")
    leader, other, workers = pending.pod_sets
    sets = (replace(leader, topology=together), other, replace(workers, topology=together))
    (decision,) = found.plan(replace(pending, pod_sets=sets)).admitted()
    chosen = {each.name: each.flavors["cpu"] for each in decision.held.assignments}
    assert chosen == {"leader": "on-demand", "other": "spot", "workers": "on-demand"}
    assert [each.name for each in decision.held.assignments] == ["leader", "other", "workers"]


# Taints, labels


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(
    ("tolerations", "flavor"),
    [
        ([], "on-demand"),
        ([{"key": "gpu", "operator": "Exists"}], "spot"),
        ([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}], "spot"),
        ([{"key": "gpu", "value": "no"}], "on-demand"),
    ],
)
def test_taints_keep_out_whom_they_should(tolerations: list[Any], flavor: str) -> None:
    found = scene(TWO).flavor("spot", node_taints=(TAINT,))
    pending = with_spec(waiting("w@team cpu=1"), tolerations=tolerations)
    assert found.cycle(pending) == [f"w: admit {flavor}"]


def test_a_flavor_may_tolerate_its_own_taints() -> None:
    found = scene(TWO).flavor("spot", node_taints=(TAINT,), tolerations=({"operator": "Exists"},))
    assert found.cycle("w@team cpu=1") == ["w: admit spot"]


def test_a_taint_that_only_prefers_keeps_nobody_out() -> None:
    found = scene(TWO).flavor("spot", node_taints=({**TAINT, "effect": "PreferNoSchedule"},))
    assert found.cycle("w@team cpu=1") == ["w: admit spot"]


@pytest.mark.rule("kueue 5.9")
@pytest.mark.parametrize(
    ("taint", "printed"),
    [
        ({"key": "key", "value": "val", "effect": "NoSchedule"}, "{key val NoSchedule <nil>}"),
        ({"key": "key", "effect": "NoExecute"}, "{key  NoExecute <nil>}"),
        (
            {"key": "key", "effect": "NoExecute", "timeAdded": "2025-01-02T03:04:05Z"},
            "{key  NoExecute 2025-01-02 03:04:05 +0000 UTC}",
        ),
    ],
)
def test_the_taint_is_printed(taint: dict[str, str], printed: str) -> None:
    found = scene("team on-demand:cpu=5 spot-tainted:cpu=9")
    found.flavor("spot-tainted", node_taints=(taint,))
    assert said(found, "w@team cpu=10") == (
        "ExceedsMaxQuota: insufficient quota for cpu in flavor on-demand, previously considered "
        "podsets requests (0) + current podset request (10) > maximum capacity (5), "
        f"untolerated taint {printed} in flavor spot-tainted"
    )


def wants(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    read = [{"matchExpressions": each} for each in terms]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": read}}
    return {"affinity": {"nodeAffinity": required}}


LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing is asked": ({}, "spot"),
    "a selector of the flavor's label": ({"nodeSelector": {"tier": "on-demand"}}, "on-demand"),
    "a selector of another label": ({"nodeSelector": {"zone": "x"}}, "spot"),
    "a selector of both": ({"nodeSelector": {"zone": "x", "tier": "on-demand"}}, "on-demand"),
    "an expression": (affinity([wants("tier", "on-demand")]), "on-demand"),
    "an expression that says not": (
        affinity([wants("tier", "spot", operator="NotIn")]),
        "on-demand",
    ),
    "one of two terms": (
        affinity([wants("tier", "none")], [wants("tier", "on-demand")]),
        "on-demand",
    ),
    "other keys do not count": (
        affinity([wants("tier", "on-demand"), wants("zone", "x")]),
        "on-demand",
    ),
    "a term about other keys only": (
        affinity([wants("tier", "on-demand")], [wants("zone", "x")]),
        "spot",
    ),
    "a term about fields only": (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchFields": [wants("metadata.name", "n1")]}]
                    }
                }
            }
        },
        "spot",
    ),
    "no terms": (affinity(), "spot"),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(("spec", "flavor"), LABELS.values(), ids=LABELS.keys())
def test_labels(spec: dict[str, Any], flavor: str) -> None:
    found = scene(TWO)
    found.flavor("spot", node_labels={"tier": "spot"})
    found.flavor("on-demand", node_labels={"tier": "on-demand"})
    assert found.cycle(with_spec(waiting("w@team cpu=1"), **spec)) == [f"w: admit {flavor}"]


def test_what_does_not_match_is_said() -> None:
    found = scene(TWO).flavor("spot", node_labels={"tier": "spot"})
    found.state.remove_flavor("on-demand")
    assert said(found, "w@team cpu=1", nodeSelector={"tier": "x"}) == (
        "NoMatchingFlavor: flavor on-demand not found, flavor spot doesn't match node affinity"
    )


def bad(operator: str, *values: str, key: str = "tier") -> dict[str, Any]:
    return affinity([wants(key, *values, operator=operator)])


NO_ONE = "for 'Gt', 'Lt' operators, exactly one value is required"
MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "no number": (bad("Gt"), f"values: Invalid value: []: {NO_ONE}"),
    "two numbers": (bad("Lt", "1", "2"), f'values: Invalid value: ["1","2"]: {NO_ONE}'),
    "a word": (
        bad("Gt", "x"),
        "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ),
    "none of which": (
        bad("In"),
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ),
    "values of what is there": (
        bad("Exists", "x"),
        'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ),
    "an unknown operator": (
        bad("Near", "x"),
        'operator: Invalid value: "Near": not a valid selector operator',
    ),
}


@pytest.mark.rule("kueue 5.9", "kueue 8.5")
@pytest.mark.parametrize(("spec", "error"), MALFORMED.values(), ids=MALFORMED.keys())
def test_an_affinity_that_cannot_be_understood_is_an_error(
    spec: dict[str, Any], error: str
) -> None:
    found = scene(TWO).flavor("spot", node_labels={"tier": "spot"})
    told = said(found, "w@team cpu=1", **spec)
    assert told == f"NoMatchingFlavor: failed to assign flavors to pod set main: {error}"
    assert found.cycle("v@team cpu=1") == ["v: admit spot"]


@pytest.mark.rule("kueue 5.3")
@pytest.mark.parametrize(
    "spec",
    [bad("Gt", key="zone"), affinity([wants("tier", operator="Gt")], [wants("tier", "spot")])],
    ids=["about another label", "beside a term that matches"],
)
def test_what_cannot_be_understood_may_not_matter(spec: dict[str, Any]) -> None:
    found = scene(TWO).flavor("spot", node_labels={"tier": "spot"})
    assert found.cycle(with_spec(waiting("w@team cpu=1"), **spec)) == ["w: admit spot"]


def test_every_set_of_a_group_must_match() -> None:
    found = scene(TWO).flavor("spot", node_taints=(TAINT,))
    together = TopologyRequest(group="g")
    pending = waiting("w@team a cpu=1 + b cpu=1")
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    sets = [replace(each, topology=together) for each in pending.pod_sets]
    sets[0] = replace(sets[0], spec=tolerant)
    assert found.cycle(replace(pending, pod_sets=tuple(sets))) == ["w: admit on-demand + on-demand"]


# Causes


CAUSES = {
    "taint, and quota in use": ("taint", "used", "WaitingForQuota"),
    "taint, and more than there is": ("taint", "small", "ExceedsMaxQuota"),
    "in use, and more than there is": ("used", "small", "WaitingForQuota"),
    "taint, and not there": ("taint", "missing", "NoMatchingFlavor"),
}


@pytest.mark.rule("kueue 5.9")
@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(("spot", "on_demand", "reason"), CAUSES.values(), ids=CAUSES.keys())
def test_the_least_severe_cause_of_a_group_counts(spot: str, on_demand: str, reason: str) -> None:
    found = scene("team spot:cpu=4 on-demand:cpu=4", "a@team spot:cpu=3 on-demand:cpu=3")
    for flavor, how in (("spot", spot), ("on-demand", on_demand)):
        if how == "taint":
            found.flavor(flavor, node_taints=(TAINT,))
        if how == "missing":
            found.state.remove_flavor(flavor)
        if how == "small":
            queue = found.state.queues["team"]
            at = (flavor, "cpu")
            quotas = {**queue.quotas, at: replace(queue.quotas[at], nominal=1000)}
            found.state.put_queue(replace(queue, quotas=quotas))
    (decision,) = found.plan("w@team cpu=2").decisions
    assert isinstance(decision, Wait)
    assert decision.reason == reason


@pytest.mark.rule("kueue 5.9")
def test_the_most_severe_cause_of_several_groups_counts() -> None:
    found = scene("team spot:cpu=4 a100:gpu=4", "a@team spot:cpu=4")
    found.groups("team", "cpu: spot", "gpu: a100")
    assert said(found, "w@team cpu=1 gpu=5").startswith("ExceedsMaxQuota: ")
    assert said(found, "w@team cpu=1 gpu=1").startswith("WaitingForQuota: ")


@pytest.mark.rule("kueue 3.2")
def test_one_reason_for_everything_where_reasons_are_not_told_apart() -> None:
    found = scene("team cpu=1", settings=Settings(explains_waiting=False))
    assert found.cycle("w@team cpu=2") == ["w: wait Pending"]


# Which flavor is good enough

LAB = """
    lab
      team   spot:cpu=2  on-demand:cpu=4  within=LowerPriority
      other  spot:cpu=4  on-demand:cpu=0
"""

FUNGIBILITY: dict[str, tuple[dict[str, bool], str, str, str]] = {
    "borrows in the first by default": ({}, "", "w@team cpu=3", "admit spot"),
    "tries the next before borrowing": (
        {"stops_at_borrowing": False},
        "",
        "w@team cpu=3",
        "admit on-demand",
    ),
    "borrows if the next has no room": (
        {"stops_at_borrowing": False},
        "a@team on-demand:cpu=4",
        "w@team cpu=3",
        "admit spot",
    ),
    "tries the next before preempting": (
        {},
        "low@team spot:cpu=2 priority=-1; x@other spot:cpu=4",
        "w@team cpu=2",
        "admit on-demand",
    ),
    "preempts at once if told to": (
        {"stops_at_preemption": True},
        "low@team spot:cpu=2 priority=-1; x@other spot:cpu=4",
        "w@team cpu=2",
        "preempt low",
    ),
    "preempts if the next has no room": (
        {},
        "low@team spot:cpu=2 priority=-1; x@other spot:cpu=4; y@team on-demand:cpu=4",
        "w@team cpu=2",
        "preempt low",
    ),
    "borrowing rather than preempting": (
        {"stops_at_borrowing": False, "stops_at_preemption": False},
        "low@team on-demand:cpu=4 priority=-1",
        "w@team cpu=3",
        "admit spot",
    ),
    "preempting rather than borrowing": (
        {"stops_at_borrowing": False, "stops_at_preemption": False, "prefers_preemption": True},
        "low@team on-demand:cpu=4 priority=-1",
        "w@team cpu=3",
        "preempt low",
    ),
    "nobody to preempt is no choice": (
        {"stops_at_preemption": True},
        "high@team spot:cpu=2 priority=9; x@other spot:cpu=4",
        "w@team cpu=2",
        "admit on-demand",
    ),
}


@pytest.mark.rule("kueue 13.2")
@pytest.mark.parametrize(
    ("rules", "in_use", "asks", "answer"), FUNGIBILITY.values(), ids=FUNGIBILITY.keys()
)
def test_fungibility(rules: dict[str, bool], in_use: str, asks: str, answer: str) -> None:
    assert scene(LAB, in_use).fungibility("team", **rules).cycle(asks) == [f"w: {answer}"]


def test_equal_flavors_leave_the_earlier_one() -> None:
    found = scene(
        "team a:cpu=2 b:cpu=2 within=LowerPriority",
        "x@team a:cpu=2 priority=-1; y@team b:cpu=2 priority=-2",
    )
    assert found.cycle("w@team cpu=1") == ["w: preempt x"]


def test_reclaiming_is_better_than_preempting_in_the_own_queue() -> None:
    found = scene(
        """
        lab
          team   a:cpu=2 b:cpu=2  within=LowerPriority reclaim=Any
          other  a:cpu=0 b:cpu=0
        """,
        "own@team a:cpu=2 priority=-1; far@other b:cpu=2",
    )
    assert found.cycle("w@team cpu=1") == ["w: preempt far"]


def test_without_fungibility_the_first_flavor_with_a_better_mode_wins() -> None:
    settings = Settings(tries_flavors=False)
    found = scene(LAB, "", settings).fungibility("team", stops_at_borrowing=False)
    assert found.cycle("w@team cpu=3") == ["w: admit spot"]
    busy = scene(LAB, "low@team spot:cpu=2 priority=-1; x@other spot:cpu=4", settings)
    assert busy.cycle("w@team cpu=2") == ["w: admit on-demand"]
    plan = scene(LAB, "x@other spot:cpu=4; y@team on-demand:cpu=4; l@team spot:cpu=2", settings)
    waits = plan.plan("w@team cpu=2").decisions[0]
    assert isinstance(waits, Wait)
    assert not waits.has_more_flavors


# When preemption is considered


PREEMPTION = {
    "within nominal": (PreemptionRules(reclaim="Any"), "w@team cpu=4", "preempt far"),
    "beyond nominal": (
        PreemptionRules(reclaim="Any"),
        "w@team cpu=5",
        "wait WaitingForQuota NoFit",
    ),
    "beyond nominal, may borrow": (
        PreemptionRules(reclaim="Any", borrow="LowerPriority"),
        "w@team cpu=5",
        "preempt far",
    ),
    "nobody may go": (
        PreemptionRules(),
        "w@team cpu=4",
        "wait WaitingForQuota PreemptionNoCandidates",
    ),
}


@pytest.mark.rule("kueue 13.3")
@pytest.mark.parametrize(("rules", "asks", "answer"), PREEMPTION.values(), ids=PREEMPTION.keys())
def test_preemption_is_considered(rules: PreemptionRules, asks: str, answer: str) -> None:
    found = scene("lab\n  team cpu=4\n  other cpu=4", "far@other cpu=8 priority=-1")
    found.state.put_queue(replace(found.state.queues["team"], preemption=rules))
    (decision,) = found.plan(asks).decisions
    why = f" {decision.requeue.value}" if isinstance(decision, Wait) else ""
    assert f"{found.cycle(asks)[0]}{why}" == f"w: {answer}"


def test_a_subtree_below_the_root_that_would_fit_it_may_reclaim() -> None:
    found = scene(
        """
        root
          left/   cpu=4
            team  cpu=0  reclaim=Any
          right/
            other cpu=0
        """,
        "far@other cpu=4",
    )
    assert found.cycle("w@team cpu=3") == ["w: preempt far"]


# Borrowing


@pytest.mark.rule("kueue 6.8")
@pytest.mark.parametrize(("asks", "level"), [("1", 0), ("2", 0), ("3", 1), ("5", 1), ("6", 2)])
def test_the_borrowing_level_is_the_height_of_the_subtree_with_enough(
    asks: str, level: int
) -> None:
    found = scene("root cpu=4\n  mid cpu=3\n    team cpu=2")
    (decision,) = found.plan(f"w@team cpu={asks}").admitted()
    assert decision.assignment.borrowing == level


@pytest.mark.rule("kueue 6.8")
def test_the_lending_limit_of_the_worked_example() -> None:
    found = scene("c\n  a cpu=10 lend=4 reclaim=Any\n  b cpu=5 borrow=3", "x@b cpu=7")
    (decision,) = found.plan("w@a cpu=9").decisions
    assert message(decision) == (
        f"{COULD_NOT}insufficient unused quota for cpu in flavor default, 1 more needed. "
        "Pending the preemption of 1 workload(s)"
    )
    assert said(found, "w@b cpu=9") == (
        "ExceedsMaxQuota: insufficient quota for cpu in flavor default, previously considered "
        "podsets requests (0) + current podset request (9) > maximum capacity (8)"
    )


@pytest.mark.rule("kueue 6.8")
def test_quota_only_at_the_root_is_shared_until_it_is_gone() -> None:
    found = scene("root cpu=1\n  child/\n    team cpu=0")
    for name in ("a", "b"):
        found.carry_out(found.plan(f"{name}@team cpu=500m"))
    assert said(found, "c@team cpu=500m").endswith("500m more needed")


def test_a_hard_look_at_everything_is_left_for_those_who_ask_why() -> None:
    found = scene("lab\n  team cpu=4\n  other cpu=4", "a@team cpu=3; b@other cpu=2")
    (decision,) = found.plan("w@team cpu=4").decisions
    assert isinstance(decision, Wait)
    assert decision.assignment is not None
    ((attempt,),) = decision.assignment.pod_sets[0].attempts
    (trial,) = attempt.trials
    assert (trial.needed, trial.free, trial.borrowable) == (4000, 1000, 2000)


def test_admitting_says_what_the_object_will_hold() -> None:
    (decision,) = scene(TWO).plan("w@team cpu=500m x3").decisions
    assert isinstance(decision, Admit)
    assert decision.admission == {
        "clusterQueue": "team",
        "podSetAssignments": [
            {
                "name": "main",
                "flavors": {"cpu": "spot"},
                "resourceUsage": {"cpu": "1500m"},
                "count": 3,
            }
        ],
    }


@pytest.mark.rule("kueue 5.9")
def test_the_most_severe_cause_of_all_sets_counts() -> None:
    """Also of one that could preempt, beside one that has no place to be."""
    found = scene("team cpu=4", "a@team cpu=3 priority=-1")
    queue = found.state.queues["team"]
    found.state.put_queue(replace(queue, preemption=PreemptionRules(within="LowerPriority")))
    assignment = flavors.assign(found.state, waiting("w@team a cpu=2 + b cpu=1"))
    first, second = assignment.pod_sets
    assert (first.mode, first.worst_cause()) == (Mode.PREEMPT, Cause.QUOTA)
    nowhere = replace(second, cause=Cause.PLACES, has_failed=True)
    assert assignment.with_results([nowhere]).cause is Cause.QUOTA
