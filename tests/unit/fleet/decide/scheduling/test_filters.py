"""Which clusters a placement cannot go to, and in which words it is told."""

from typing import Any

import pytest
from tests.support.choosing import (
    NOW,
    agent,
    ago,
    binding,
    condition,
    member,
    picked,
    policy,
    reasons,
    required,
    run,
    taint,
    with_labels,
    with_property,
)

from fleetqueue.fleet.decide.scheduling import affinity, eligibility
from fleetqueue.fleet.decide.scheduling.cluster_properties import UnusablePolicy

Json = dict[str, Any]
CONNECTION = "cluster is not connected to the fleet: "
JOINED = condition("Joined")
# fmt: off
ELIGIBILITY = {
    "well": (member("c"), ""),
    "leaving": (member("c", is_leaving=True), "cluster has left the fleet"),
    "never heard of": (member("c", agents=()), f"{CONNECTION}member agent not online yet"),
    "silent for long": (member("c", agents=[agent(heartbeat=ago(minutes=20))]),
        f"{CONNECTION}no recent heartbeat signals (last received 20.00 minutes ago)"),
    "silent for five minutes": (member("c", agents=[agent(heartbeat=ago(minutes=5))]), ""),
    "not joined": (member("c", agents=[agent(condition("Joined", "False"), condition("Healthy"))]),
        f"{CONNECTION}member agent not joined yet"),
    "health unknown": (member("c", agents=[agent(JOINED)]),
        f"{CONNECTION}health condition from member agent is not available"),
    "ill for long": (member("c", agents=[agent(JOINED, condition("Healthy", "False"))]),
        f"{CONNECTION}unhealthy for a prolonged period of time"
        " (last transitioned 30.00 minutes ago)"),
    "ill since a minute": (member("c", agents=[agent(JOINED,
        condition("Healthy", "Unknown", lastTransitionTime=ago(minutes=1)))]), ""),
}
# fmt: on


@pytest.mark.rule("SCH-5")
@pytest.mark.parametrize(("cluster", "reason"), ELIGIBILITY.values(), ids=ELIGIBILITY.keys())
def test_whether_a_member_is_there(cluster: Json, reason: str) -> None:
    assert eligibility.problem(cluster, NOW) == reason


CPU, GPU = "resources.kubernetes-fleet.io/available-cpu", "available-nvidia.com/gpu"
NODES = "kubernetes-fleet.io/node-count"
MEMBER = member(
    "c",
    {"region": "east", "env": "prod"},
    properties={NODES: "3", "odd": "v1.34"},
    available={"cpu": "1500m", "nvidia.com/gpu": "2"},
)
# fmt: off
TERMS = {
    "no terms": ((), True),
    "labels that match": ((with_labels(region="east"),), True),
    "labels that do not": ((with_labels(region="west"),), False),
    "one of two terms": ((with_labels(region="west"), with_labels(env="prod")), True),
    "labels and a property": ((with_labels(env="prod") | with_property(NODES, "Ge", "3"),), True),
    "labels, but not the property":
        ((with_labels(env="prod") | with_property(NODES, "Gt", "3"),), False),
    "an empty label selector": (({"labelSelector": {}},), True),
    "equal": ((with_property(NODES, "Eq", "3"),), True),
    "equal as quantities": ((with_property(CPU, "Eq", "1.5"),), True),
    "not equal": ((with_property(NODES, "Ne", "3"),), False),
    "less": ((with_property(CPU, "Lt", "2"),), True),
    "at most": ((with_property(NODES, "Le", "2"),), False),
    "an extended resource":
        ((with_property(f"resources.kubernetes-fleet.io/{GPU}", "Ge", "2"),), True),
    "a property that nobody reports": ((with_property("unheard/of", "Ne", "1"),), False),
    "a resource that nobody reports":
        ((with_property("resources.kubernetes-fleet.io/total-cpu", "Ge", "0"),), False),
    "a property that is no number": ((with_property("odd", "Ge", "1"),), False),
}
# fmt: on


@pytest.mark.rule("SCH-7")
@pytest.mark.rule("SCH-8")
@pytest.mark.parametrize(("terms", "matches"), TERMS.values(), ids=TERMS.keys())
def test_what_a_policy_requires(terms: tuple[Json, ...], matches: bool) -> None:
    told = affinity.Required({"affinity": required(*terms)}).problem(MEMBER)
    assert told == ("" if matches else affinity.UNMATCHED)


# fmt: off
UNUSABLE = {
    "two dashes": (with_property("resources.kubernetes-fleet.io/available-ephemeral-storage",
                                 "Ge", "1"),
        "invalid resource property name resources.kubernetes-fleet.io/available-ephemeral-storage"),
    "an unheard-of capacity": (with_property("resources.kubernetes-fleet.io/spare-cpu", "Ge", "1"),
        "invalid capacity type in resource property name resources.kubernetes-fleet.io/spare-cpu"),
    "an operator": (with_property(NODES, "Near", "1"), "unsupported operator Near"),
    "two values": (with_property(NODES, "Ge", "1", "2"),
        "operator Ge requires exactly one value, got 2"),
    "a value that is none": (with_property(NODES, "Ge", "many"),
        'value "many" is not a valid resource.Quantity: '),
    "a label selector": ({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        "invalid label selector: "),
}
# fmt: on


@pytest.mark.rule("SCH-8")
@pytest.mark.parametrize(("term", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_policy_that_nothing_can_be_decided_by(term: Json, message: str) -> None:
    with pytest.raises(UnusablePolicy) as caught:
        run(policy(affinity=required(term)), [MEMBER])
    assert str(caught.value).startswith(message)


K = taint("k", "v")
# fmt: off
TOLERATIONS = {
    "none": ([], False),
    "equal": ([{"key": "k", "operator": "Equal", "value": "v"}], True),
    "equal, which is the default": ([{"key": "k", "value": "v", "effect": "NoSchedule"}], True),
    "another value": ([{"key": "k", "value": "w"}], False),
    "another effect": ([{"key": "k", "value": "v", "effect": "NoExecute"}], False),
    "the key exists": ([{"key": "k", "operator": "Exists"}], True),
    "another key exists": ([{"key": "j", "operator": "Exists"}], False),
    "whatever there is": ([{"operator": "Exists"}], True),
}
# fmt: on


@pytest.mark.rule("SCH-9")
@pytest.mark.parametrize(("tolerations", "fits"), TOLERATIONS.values(), ids=TOLERATIONS.keys())
def test_taints_and_tolerations(tolerations: list[Json], fits: bool) -> None:
    outcome = run(policy(tolerations=tolerations), [member("c", taints=[K])])
    assert picked(outcome) == (["c"] if fits else [])
    if not fits:
        text = "taint &{Key:k Value:v Effect:NoSchedule} cannot be tolerated"
        assert reasons(outcome) == {"c": f"ClusterUnschedulable, {text}"}


def test_the_first_taint_that_is_not_tolerated_is_named() -> None:
    tolerant = policy(tolerations=[{"key": "k", "operator": "Exists"}])
    told = reasons(run(tolerant, [member("c", taints=[K, taint("q"), taint("z")])]))
    assert told["c"].endswith("taint &{Key:q Value: Effect:NoSchedule} cannot be tolerated")


TELLS = [condition("NamespaceCollectionSucceeded")]
# fmt: off
SPACES = {
    "cluster-wide": ("", member("c", conditions=TELLS), ""),
    "nobody tells": ("web", member("c"), ""),
    "it is there": ("web", member("c", conditions=TELLS, namespaces={"web": ""}), ""),
    "nothing is told": ("web", member("c", conditions=TELLS),
        "cluster has no namespace information available"),
    "it is not there": ("web", member("c", conditions=TELLS, namespaces={"ops": "work"}),
        "target namespace does not exist on cluster"),
}
# fmt: on


@pytest.mark.rule("SCH-6")
@pytest.mark.parametrize(("namespace", "cluster", "reason"), SPACES.values(), ids=SPACES.keys())
def test_the_namespace_of_a_placement(namespace: str, cluster: Json, reason: str) -> None:
    outcome = run(policy(), [cluster], namespace=namespace)
    assert picked(outcome) == ([] if reason else ["c"])
    assert not reason or reasons(outcome) == {"c": f"ClusterUnschedulable, {reason}"}


@pytest.mark.rule("SCH-40")
def test_the_first_filter_that_objects_says_why() -> None:
    ill = member("c", {"region": "west"}, taints=[K], agents=())
    east = policy(affinity=required(with_labels(region="east")))
    assert reasons(run(east, [ill]))["c"].endswith(affinity.UNMATCHED)
    assert reasons(run(policy(), [ill]))["c"].endswith("member agent not online yet")


@pytest.mark.rule("SCH-4")
def test_a_cluster_that_is_placed_is_never_told_that_it_is_refused() -> None:
    outcome = run(policy(), [member("c", taints=[K], agents=())], [binding("c")])
    assert reasons(outcome) == {"c": "picked c"}
    assert not outcome.unscheduled
