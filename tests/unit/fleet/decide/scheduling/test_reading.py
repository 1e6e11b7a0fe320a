"""What of a member concerns which policy."""

from typing import Any

import pytest
from tests.support.choosing import (
    NOW,
    agent,
    ago,
    condition,
    member,
    policy,
    required,
    run,
    taint,
    with_labels,
    with_property,
)

from fleetqueue.fleet.decide.scheduling import reading
from fleetqueue.fleet.decide.scheduling.reading import (
    ELIGIBILITY,
    EVERYTHING,
    LABELS,
    NAMESPACES,
    TAINTS,
)

pytestmark = pytest.mark.rule("SCH-3")
Json = dict[str, Any]
CPU = "resources.kubernetes-fleet.io/available-cpu"
NODES = "kubernetes-fleet.io/node-count"
HERE = member("c", {"a": "1"}, taints=[taint("k")], properties={NODES: "2"}, available={"cpu": "1"})


def now(**changes: Any) -> Json:
    told: Json = {
        "taints": [taint("k")],
        "properties": {NODES: "2"},
        "available": {"cpu": "1"},
        "cluster_labels": {"a": "1"},
    }
    return member("c", **(told | changes))


SILENT = now(agents=[agent(heartbeat=ago(minutes=9))])
# fmt: off
CHANGES = {
    "it came": (None, HERE, set()),
    "it is gone": (HERE, None, {EVERYTHING}),
    "it begins to leave": (HERE, now(is_leaving=True, cluster_labels={}), set()),
    "nothing": (HERE, now(), set()),
    "a heartbeat": (HERE, now(agents=[agent(heartbeat=ago(seconds=1))]), set()),
    "a label": (HERE, now(cluster_labels={"a": "2"}), {LABELS}),
    "a taint more": (HERE, now(taints=[taint("k"), taint("j")]), set()),
    "a taint less": (HERE, now(taints=[]), {TAINTS}),
    "another value of a taint": (HERE, now(taints=[taint("k", "v")]), {TAINTS}),
    "a property": (HERE, now(properties={NODES: "3"}), {NODES}),
    "a property more": (HERE, now(properties={NODES: "2", "x/y": "1"}), {"x/y"}),
    "what is available": (HERE, now(available={"cpu": "2"}), {CPU}),
    "namespaces": (HERE, now(namespaces={"web": ""}), {NAMESPACES}),
    "it is heard of again": (SILENT, HERE, {ELIGIBILITY}),
    "it falls silent": (HERE, SILENT, set()),
    "it joins": (now(agents=[]), HERE, {ELIGIBILITY}),
    "it falls ill": (HERE, now(agents=[agent(condition("Joined"), condition("Healthy", "False"))]),
                     set()),
}
# fmt: on


@pytest.mark.parametrize(("old", "new", "aspects"), CHANGES.values(), ids=CHANGES.keys())
def test_what_changed_of_a_member(old: Json | None, new: Json | None, aspects: set[str]) -> None:
    assert reading.changes(old, new, NOW) == aspects


def test_the_time_of_an_observation_is_no_change() -> None:
    later = now()
    later["status"]["properties"][NODES]["observationTime"] = ago(seconds=0)
    later["status"]["resourceUsage"]["observationTime"] = ago(seconds=0)
    assert reading.changes(HERE, later, NOW) == set()


def fulfilled(snapshot: Json) -> Json:
    return snapshot | {"status": run(snapshot, [member("a"), member("b")]).status}


ANY = {EVERYTHING, ELIGIBILITY, LABELS, TAINTS}
EAST = required(with_labels(region="east"), with_property(CPU, "Ge", "1"))
# fmt: off
POLICIES = {
    "pick all": (policy(), ANY),
    "pick all, fulfilled as ever": (fulfilled(policy()), ANY),
    "pick all with affinity": (policy(affinity=EAST), ANY | {CPU}),
    "pick n that waits": (policy("PickN", 5), ANY),
    "pick n that lacks some": (fulfilled(policy("PickN", 5)), ANY),
    "pick n that has all": (fulfilled(policy("PickN", 2)), {EVERYTHING}),
    "pick n that spreads": (policy("PickN", 5, topologySpreadConstraints=[{"topologyKey": "z"}]),
                            ANY),
    "pick fixed that waits": (policy("PickFixed", clusterNames=["a"]), ANY),
    "pick fixed that has all": (fulfilled(policy("PickFixed", clusterNames=["a"])), {EVERYTHING}),
}
# fmt: on


@pytest.mark.parametrize(("snapshot", "aspects"), POLICIES.values(), ids=POLICIES.keys())
def test_what_a_policy_reads(snapshot: Json, aspects: set[str]) -> None:
    assert set(reading.read_by(snapshot)) == aspects


def test_a_namespaced_placement_reads_namespaces() -> None:
    snapshot = policy()
    snapshot["metadata"]["namespace"] = "web"
    assert NAMESPACES in set(reading.read_by(snapshot))


def test_an_earlier_policy_reads_nothing() -> None:
    snapshot = policy()
    snapshot["metadata"]["labels"]["kubernetes-fleet.io/is-latest-snapshot"] = "false"
    assert set(reading.read_by(snapshot)) == set()
