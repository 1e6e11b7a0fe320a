"""One scheduling cycle of each kind of policy: bindings, decisions, and what the policy says."""

from typing import Any

import pytest
from tests.support.choosing import (
    agent,
    ago,
    binding,
    clusters_of,
    member,
    picked,
    policy,
    reasons,
    required,
    run,
    scheduled,
    taint,
    with_labels,
)

from fleetqueue.api.fleet import defaults
from fleetqueue.fleet.decide import rollout_changes
from fleetqueue.fleet.decide.scheduling import binding_changes, decisions

Json = dict[str, Any]
FLEET = [member(f"cluster-{number}") for number in (1, 2, 3)]
GONE = "kind-non-existent-cluster"


def fulfilled(count: int) -> tuple[str, str, str]:
    text = "found all cluster needed as specified by the scheduling policy, "
    return "True", "SchedulingPolicyFulfilled", f"{text}found {count} cluster(s)"


def unfulfilled(count: int) -> tuple[str, str, str]:
    text = "could not find all clusters needed as specified by the scheduling policy, "
    return "False", "SchedulingPolicyUnfulfilled", f"{text}found {count} cluster(s) instead"


# PickAll


@pytest.mark.rule("SCH-20")
@pytest.mark.rule("SCH-41")
def test_pick_all_takes_everyone_who_passes() -> None:
    outcome = run(policy(), [*FLEET, member("ill", agents=())])
    assert picked(outcome) == ["cluster-1", "cluster-2", "cluster-3"]
    assert scheduled(outcome) == fulfilled(3)
    assert list(reasons(outcome)) == ["cluster-1", "cluster-2", "cluster-3", "ill"]
    assert reasons(outcome)["cluster-1"] == (
        'Successfully scheduled resources for placement in "cluster-1" (affinity score: 0,'
        " topology spread score: 0): picked by scheduling policy"
    )


@pytest.mark.rule("SCH-20")
def test_pick_all_is_content_with_nobody() -> None:
    outcome = run(policy(affinity=required(with_labels(region="nowhere"))), FLEET)
    assert not picked(outcome)
    assert scheduled(outcome) == fulfilled(0)
    told = "ClusterUnschedulable, cluster does not match with any of the required cluster affinity"
    assert reasons(outcome) == dict.fromkeys([f"cluster-{n}" for n in (1, 2, 3)], f"{told} terms")


@pytest.mark.rule("SCH-20")
@pytest.mark.rule("SCH-4")
def test_pick_all_keeps_what_it_has_whatever_becomes_of_it() -> None:
    fleet = [member("a", taints=[taint("k")]), member("b", agents=())]
    outcome = run(policy(), fleet, [binding("a"), binding("b", "Scheduled")])
    assert (picked(outcome), outcome.unscheduled) == ([], [])
    assert scheduled(outcome) == fulfilled(2)


@pytest.mark.rule("BIND-2")
def test_pick_all_moves_bindings_of_an_earlier_policy() -> None:
    fleet = [member("a", {"env": "prod"}), member("b"), member("c", {"env": "prod"})]
    old = [
        binding("a", policy_name="p-0"),
        binding("b", policy_name="p-0"),
        binding("c", "Unscheduled", policy_name="p-0"),
    ]
    outcome = run(policy(affinity=required(with_labels(env="prod")), name="p-1"), fleet, old)
    assert clusters_of(each for each, _ in outcome.patched) == ["a", "c"]
    assert clusters_of(outcome.unscheduled) == ["b"]
    assert not picked(outcome)
    assert scheduled(outcome) == fulfilled(2)


# Classes of bindings


def test_bindings_of_clusters_that_are_gone_or_going_are_given_up() -> None:
    fleet = [member("here"), member("going", is_leaving=True)]
    known = [binding("here"), binding("going"), binding("gone", "Scheduled")]
    outcome = run(policy(), fleet, known)
    assert clusters_of(outcome.unscheduled) == ["going", "gone"]
    assert scheduled(outcome) == fulfilled(1)


def test_a_binding_that_is_given_up_already_is_left_alone() -> None:
    outcome = run(policy(), [], [binding("gone", "Unscheduled")])
    assert not outcome.unscheduled


@pytest.mark.rule("BIND-3")
def test_a_binding_on_its_way_out_is_released_and_replaced() -> None:
    outcome = run(policy(), [member("a")], [binding("a", is_deleting=True)])
    assert clusters_of(outcome.released) == ["a"]
    assert picked(outcome) == ["a"]


@pytest.mark.rule("BIND-4")
def test_of_two_bindings_for_a_cluster_one_goes() -> None:
    two = [binding("a", "Scheduled", name="p-a-1"), binding("a", "Bound", name="p-a-2")]
    outcome = run(policy(), [member("a")], two)
    assert [each["metadata"]["name"] for each in outcome.unscheduled] == ["p-a-1"]
    assert scheduled(outcome) == fulfilled(1)


# PickN


@pytest.mark.rule("SCH-21")
@pytest.mark.rule("SCH-24")
def test_pick_n_takes_the_best_and_tells_the_others() -> None:
    outcome = run(policy("PickN", 1), [*FLEET, member("ill", agents=())])
    assert picked(outcome) == ["cluster-3"]
    assert scheduled(outcome) == fulfilled(1)
    told = reasons(outcome)
    assert list(told) == ["cluster-3", "cluster-2", "cluster-1", "ill"]
    assert told["cluster-2"] == (
        'Cluster "cluster-2" does not score high enough (affinity score: 0,'
        " topology spread score: 0)"
    )
    assert told["ill"].startswith("ClusterUnschedulable, ")


@pytest.mark.rule("SCH-41")
def test_pick_n_tells_what_is_missing() -> None:
    outcome = run(policy("PickN", 5), FLEET, [binding("cluster-2")])
    assert picked(outcome) == ["cluster-3", "cluster-1"]
    assert scheduled(outcome) == unfulfilled(3)
    assert list(reasons(outcome)) == ["cluster-3", "cluster-2", "cluster-1"]


@pytest.mark.rule("SCH-24")
def test_pick_n_revives_what_it_gave_up() -> None:
    given_up = binding("cluster-3", "Unscheduled")
    outcome = run(policy("PickN", 1), FLEET, [given_up])
    assert [each for each, _ in outcome.patched] == [given_up]


@pytest.mark.rule("SCH-24")
def test_pick_n_gives_up_what_the_new_policy_does_not_pick() -> None:
    fleet = [member("a", {"env": "prod"}), member("b")]
    prod = policy("PickN", 1, affinity=required(with_labels(env="prod")), name="p-1")
    outcome = run(prod, fleet, [binding("b", policy_name="p-0")])
    assert (picked(outcome), clusters_of(outcome.unscheduled)) == (["a"], ["b"])


@pytest.mark.rule("SCH-23")
def test_pick_n_that_has_enough_refreshes_what_it_says() -> None:
    outcome = run(policy("PickN", 1), FLEET, [binding("cluster-1")])
    assert [*outcome.created, *outcome.patched, *outcome.unscheduled, *outcome.released] == []
    assert reasons(outcome) == {"cluster-1": "picked cluster-1"}
    assert scheduled(outcome) == fulfilled(1)


@pytest.mark.rule("SCH-22")
def test_pick_n_shrinks_from_the_least_on() -> None:
    known = [
        binding("a", "Bound", score=(0, 10)),
        binding("b", "Bound", score=(0, 5)),
        binding("c", "Scheduled", score=(1, 100)),
        binding("d", "Bound"),
        binding("e", "Bound", score=(0, 5)),
        binding("f", "Bound", score=(-1, 90)),
    ]
    fleet = [member(name) for name in "abcdef"]
    order = [
        each["spec"]["targetCluster"] for each in run(policy("PickN", 0), fleet, known).unscheduled
    ]
    assert order == ["c", "d", "f", "b", "e", "a"]
    two = run(policy("PickN", 2), fleet, known)
    assert clusters_of(two.unscheduled) == ["b", "c", "d", "f"]
    assert list(reasons(two)) == ["a", "e"]


@pytest.mark.rule("SCH-22")
def test_pick_n_that_has_enough_gives_up_what_is_obsolete() -> None:
    known = [binding("cluster-1"), binding("cluster-2", policy_name="old")]
    outcome = run(policy("PickN", 1), FLEET, known)
    assert clusters_of(outcome.unscheduled) == ["cluster-2"]


@pytest.mark.rule("SCH-25")
def test_pick_none_is_legal() -> None:
    outcome = run(policy("PickN", 0), FLEET, [binding("cluster-1")])
    assert clusters_of(outcome.unscheduled) == ["cluster-1"]
    assert scheduled(outcome) == fulfilled(0)
    assert outcome.status is not None
    assert "targetClusters" not in outcome.status


# PickFixed


@pytest.mark.rule("SCH-31")
def test_pick_fixed_takes_who_is_named_and_there() -> None:
    silent = member("silent", agents=[agent(heartbeat=ago(minutes=20))])
    tainted = member("tainted", taints=[taint("k")])
    names = ["silent", GONE, "tainted"]
    outcome = run(policy("PickFixed", clusterNames=names), [*FLEET, silent, tainted])
    assert picked(outcome) == ["tainted"]
    assert scheduled(outcome) == unfulfilled(1)
    assert reasons(outcome) == {
        "tainted": 'Successfully scheduled resources for placement in "tainted": picked by'
        " scheduling policy",
        "silent": 'Cluster "silent" is not eligible for resource placement yet: cluster is not'
        " connected to the fleet: no recent heartbeat signals (last received 20.00 minutes ago)",
        GONE: f'Specified cluster "{GONE}" is not found',
    }
    [first, *_] = outcome.status["targetClusters"] if outcome.status else [{}]
    assert "clusterScore" not in first


@pytest.mark.rule("SCH-32")
def test_pick_fixed_follows_its_names() -> None:
    known = [binding("cluster-1", policy_name="p-0"), binding("cluster-2", policy_name="p-0")]
    named = policy("PickFixed", clusterNames=["cluster-2", "cluster-3"], name="p-1")
    outcome = run(named, FLEET, known)
    assert picked(outcome) == ["cluster-3"]
    assert clusters_of(each for each, _ in outcome.patched) == ["cluster-2"]
    assert clusters_of(outcome.unscheduled) == ["cluster-1"]
    assert scheduled(outcome) == fulfilled(2)


@pytest.mark.rule("SCH-32")
def test_pick_fixed_keeps_a_cluster_that_fell_ill() -> None:
    named = policy("PickFixed", clusterNames=["a"])
    outcome = run(named, [member("a", agents=())], [binding("a")])
    assert not outcome.unscheduled
    assert scheduled(outcome) == unfulfilled(0)


@pytest.mark.rule("SCH-33")
def test_pick_fixed_without_names_says_nothing() -> None:
    outcome = run(policy("PickFixed", clusterNames=[]), FLEET)
    assert (picked(outcome), outcome.status) == ([], None)


@pytest.mark.rule("SCH-32")
def test_pick_fixed_that_lost_all_its_names_has_no_cluster() -> None:
    emptied = policy("PickFixed", clusterNames=[], name="p-1")
    outcome = run(emptied, FLEET, [binding("cluster-1", policy_name="p-0")])
    assert clusters_of(outcome.unscheduled) == ["cluster-1"]
    assert scheduled(outcome) == fulfilled(0)
    assert scheduled(run({**emptied, "status": outcome.status}, FLEET)) == fulfilled(0)


def test_pick_fixed_takes_a_name_that_stands_twice_once() -> None:
    outcome = run(policy("PickFixed", clusterNames=["cluster-1", "cluster-1"]), FLEET)
    assert picked(outcome) == ["cluster-1"]
    assert scheduled(outcome) == fulfilled(1)


# What is said


@pytest.mark.rule("SCH-40")
def test_of_those_that_are_not_selected_twenty_are_told_of() -> None:
    many = [member(f"c{number:03}") for number in range(50)]
    ill = [member(f"ill{number:03}", agents=()) for number in range(30)]
    outcome = run(policy("PickN", 35), [*many, *ill])
    told = list(reasons(outcome))
    assert len(told) == 35 + 20
    assert told[35:50] == [f"c{number:03}" for number in reversed(range(15))]
    assert told[50:] == [f"ill{number:03}" for number in range(5)]


@pytest.mark.rule("SCH-40")
def test_no_more_than_a_thousand_decisions_are_told() -> None:
    outcome = run(policy(), [member(f"c{number:04}") for number in range(1010)])
    assert len(reasons(outcome)) == 1000
    assert scheduled(outcome) == fulfilled(1010)


@pytest.mark.rule("SCH-41")
def test_a_policy_snapshot_tells_for_which_generation_it_speaks() -> None:
    snapshot = policy("PickN", 1)
    snapshot["metadata"] |= {"generation": 4}
    snapshot["metadata"]["annotations"]["kubernetes-fleet.io/CRP-generation"] = "9"
    outcome = run(snapshot, FLEET)
    assert outcome.status is not None
    assert outcome.status["observedCRPGeneration"] == 9
    assert outcome.status["conditions"][0]["observedGeneration"] == 4
    assert not decisions.is_fulfilled(snapshot)
    assert decisions.is_fulfilled(snapshot | {"status": outcome.status})


def test_saying_the_same_again_changes_nothing() -> None:
    snapshot = policy("PickN", 2)
    first = run(snapshot, FLEET)
    known = [
        binding_changes.new_binding("v", "k", {"metadata": {"name": "p"}}, "p-0", each, "x")
        for each in first.created
    ]
    second = run(snapshot | {"status": first.status}, FLEET, known)
    assert second.status is not None
    assert first.status is not None
    told = [each for each in first.status["targetClusters"] if each["selected"]]
    assert second.status == first.status | {"targetClusters": told}


# Bindings as they are written


PLACEMENT = {"metadata": {"name": "p", "uid": "u"}}
SUFFIX = "12345678"
DECISION = {"clusterName": "a", "selected": True, "reason": "why"}


@pytest.mark.rule("BIND-1")
def test_a_new_binding() -> None:
    made = binding_changes.new_binding(
        "v1", "ResourceBinding", PLACEMENT, "p-0", DECISION, "12345678"
    )
    assert made["metadata"] == {
        "name": "p-a-12345678",
        "labels": {"kubernetes-fleet.io/parent-CRP": "p"},
        "finalizers": ["kubernetes-fleet.io/scheduler-crb-cleanup"],
    }
    assert made["spec"] == {
        "state": "Scheduled",
        "resourceSnapshotName": "",
        "schedulingPolicySnapshotName": "p-0",
        "targetCluster": "a",
        "clusterDecision": DECISION,
    }


EXTERNAL = {"type": "External"}
REPORT = {"type": "RollingUpdate", "applyStrategy": {"type": "ReportDiff"}}
# fmt: off
STRATEGIES = {
    "none": (None, "ClientSideApply"),
    "one that says how to apply": (REPORT, "ReportDiff"),
    "one of update runs, which say it themselves": (EXTERNAL, None),
}
# fmt: on


@pytest.mark.rule("BIND-1")
@pytest.mark.parametrize(("strategy", "type"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_a_binding_can_be_made_with_all_that_others_would_add(
    strategy: dict[str, Any] | None, type: str | None
) -> None:
    placement = {**PLACEMENT, "spec": {"strategy": strategy}}
    made = binding_changes.new_binding(
        "v1", "ResourceBinding", placement, "p-0", DECISION, SUFFIX, in_steps=False
    )
    assert made["metadata"]["finalizers"] == [
        "kubernetes-fleet.io/scheduler-crb-cleanup",
        "kubernetes-fleet.io/work-cleanup",
    ]
    assert made["spec"].get("applyStrategy", {}).get("type") == type
    wanted = defaults.defaulted(placement)["spec"]["strategy"]["applyStrategy"]
    is_left = rollout_changes.apply_strategy_patch(made, wanted) is not None
    assert is_left == (type is None)


@pytest.mark.rule("BIND-1")
def test_a_new_binding_of_a_namespaced_placement_is_beside_it() -> None:
    placement = {"metadata": {"name": "p" * 40, "namespace": "web"}}
    long = {**DECISION, "clusterName": "c" * 40}
    made = binding_changes.new_binding("v1", "ResourceBinding", placement, "p-0", long, SUFFIX)
    assert made["metadata"]["namespace"] == "web"
    assert made["metadata"]["name"] == f"{'p' * 26}-{'c' * 27}-12345678"


def test_the_name_of_a_new_binding_follows_from_what_is_there() -> None:
    alone = binding_changes.suffix_for(PLACEMENT, "a", [])
    assert alone == binding_changes.suffix_for(PLACEMENT, "a", [binding("b")])
    assert alone != binding_changes.suffix_for(PLACEMENT, "a", [binding("a", is_deleting=True)])
    assert alone != binding_changes.suffix_for({"metadata": {"name": "p", "uid": "v"}}, "a", [])
    assert len(alone) == 8


@pytest.mark.rule("BIND-2")
def test_giving_up_replaces_all_annotations() -> None:
    patch = binding_changes.unscheduling(binding("a", "Bound", annotations={"other": "x"}))
    assert patch["spec"] == {"state": "Unscheduled"}
    assert patch["metadata"]["annotations"] == {
        "other": None,
        "kubernetes-fleet.io/previous-binding-state": "Bound",
    }


@pytest.mark.rule("BIND-2")
@pytest.mark.parametrize("former", ["Bound", "Scheduled"])
def test_picking_again_restores_the_former_state(former: str) -> None:
    key = "kubernetes-fleet.io/previous-binding-state"
    given_up = binding("a", "Unscheduled", annotations={key: former})
    patch = binding_changes.picking_again(given_up, "p-1", DECISION)
    assert patch["spec"]["state"] == former
    assert patch["spec"]["schedulingPolicySnapshotName"] == "p-1"
    assert patch["metadata"]["annotations"] == {key: None}


@pytest.mark.rule("BIND-2")
def test_picking_an_obsolete_binding_leaves_its_state() -> None:
    patch = binding_changes.picking_again(binding("a"), "p-1", DECISION)
    assert "state" not in patch["spec"]
    assert "annotations" not in patch["metadata"]
