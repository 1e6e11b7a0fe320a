"""How well clusters suit, how evenly they spread, and who comes first."""

from typing import Any

import pytest
from tests.support.choosing import (
    binding,
    member,
    picked,
    policy,
    preferred,
    reasons,
    required,
    run,
    sorted_by,
    with_labels,
)

from fleetqueue.fleet.decide.scheduling.affinity import Preferred
from fleetqueue.fleet.decide.scheduling.spread import Spread

Json = dict[str, Any]
CPU = "resources.kubernetes-fleet.io/available-cpu"
MEMORY = "resources.kubernetes-fleet.io/available-memory"
NODES = "kubernetes-fleet.io/node-count"


def sized(name: str, cpu: str, **cluster_labels: str) -> Json:
    return member(name, cluster_labels, available={"cpu": cpu, "memory": f"{cpu}Gi"})


SMALL, MIDDLE, LARGE = sized("a", "10"), sized("b", "20", env="prod"), sized("c", "50")
BARE = member("d", {"env": "prod"})
# fmt: off
PREFERENCES = {  # of SMALL, MIDDLE, LARGE and BARE
    "none": ((), (0, 0, 0, 0)),
    "labels": (((30, with_labels(env="prod")),), (0, 30, 0, 30)),
    "dislike": (((-30, with_labels(env="prod")),), (0, -30, 0, -30)),
    "much is good": (((40, sorted_by(CPU)),), (0, 10, 40, 0)),
    "little is good": (((40, sorted_by(CPU, "Ascending")),), (40, 30, 0, 0)),
    "halves go away from zero": (((50, sorted_by(CPU)),), (0, 13, 50, 0)),
    "halves go away from zero, below it": (((-50, sorted_by(CPU)),), (0, -13, -50, 0)),
    "labels and order": (((40, with_labels(env="prod") | sorted_by(CPU)),), (0, 10, 0, 0)),
    "two terms": (((40, sorted_by(CPU)), (30, sorted_by(MEMORY))), (0, 18, 70, 0)),
    "no weight": (((0, with_labels(env="prod")),), (0, 0, 0, 0)),
    "a property that nobody has": (((40, sorted_by("unheard/of")),), (0, 0, 0, 0)),
}
# fmt: on


@pytest.mark.rule("SCH-10")
@pytest.mark.parametrize(("terms", "scores"), PREFERENCES.values(), ids=PREFERENCES.keys())
def test_what_a_policy_prefers(terms: Any, scores: tuple[int, ...]) -> None:
    fleet = [SMALL, MIDDLE, LARGE, BARE]
    found = Preferred({"affinity": preferred(*terms)}, fleet)
    assert tuple(found.score(each) for each in fleet) == scores


@pytest.mark.rule("SCH-10")
def test_where_all_are_equal_nobody_is_better() -> None:
    found = Preferred({"affinity": preferred((40, sorted_by(CPU)))}, [SMALL, BARE])
    assert found.score(SMALL) == 0


@pytest.mark.rule("SCH-10")
def test_clusters_that_are_out_set_the_scale_too() -> None:
    fleet = [SMALL, MIDDLE, member("z", agents=(), available={"cpu": "110"})]
    two = policy("PickN", 1, affinity=preferred((100, sorted_by(CPU))))
    told = reasons(run(two, fleet))["b"]
    assert "(affinity score: 10, topology spread score: 0)" in told


def spread(counts: dict[str, tuple[int, int]], *constraints: Json) -> tuple[Spread, list[Json]]:
    """A fleet by zone: how many clusters are there, and how many of them are picked."""
    fleet = [
        member(f"{zone}{number}", {"zone": zone})
        for zone, (size, _) in counts.items()
        for number in range(size)
    ]
    taken = [f"{zone}{n}" for zone, (_, used) in counts.items() for n in range(used)]
    return Spread(constraints, fleet, taken), fleet


def by_zone(skew: int = 1, action: str = "DoNotSchedule") -> Json:
    return {"topologyKey": "zone", "maxSkew": skew, "whenUnsatisfiable": action}


# fmt: off
SPREADS = {  # clusters and picked ones by zone         the score of one more in each zone
    "all are equal": ({"a": (3, 0), "b": (3, 0)},                   {"a": -1, "b": -1}),
    "one is behind": ({"a": (3, 1), "b": (3, 0)},                   {"a": None, "b": 1}),
    "two are behind": ({"a": (3, 1), "b": (3, 0), "c": (3, 0)},     {"a": None, "b": 0, "c": 0}),
    "two are ahead": ({"a": (3, 1), "b": (3, 1), "c": (3, 0)},      {"a": None, "b": None, "c": 1}),
    "one zone alone": ({"a": (3, 2)},                               {"a": -1}),
    "far ahead": ({"a": (4, 3), "b": (3, 1), "c": (3, 0)},          {"a": None, "b": None,
                                                                     "c": None}),
}
# fmt: on


@pytest.mark.rule("SCH-11")
@pytest.mark.parametrize(("counts", "scores"), SPREADS.values(), ids=SPREADS.keys())
def test_how_evenly_one_more_would_spread(
    counts: dict[str, tuple[int, int]], scores: dict[str, int | None]
) -> None:
    strict, _ = spread(counts, by_zone())
    wish, _ = spread(counts, by_zone(action="ScheduleAnyway"))
    for zone, score in scores.items():
        one = member("new", {"zone": zone})
        text = 'violated doNotSchedule topology spread constraint "zone" (max skew 1)'
        assert strict.problem(one) == (text if score is None else "")
        assert wish.problem(one) == ""
        assert wish.score(one) == (-1000 if score is None else score)


@pytest.mark.rule("SCH-11")
def test_a_cluster_outside_all_zones_is_free_of_them() -> None:
    found, _ = spread({"a": (2, 2), "b": (2, 0)}, by_zone())
    assert (found.problem(member("new")), found.score(member("new"))) == ("", 0)


@pytest.mark.rule("SCH-11")
def test_the_scores_of_all_constraints_are_added_up() -> None:
    found, _ = spread({"a": (2, 1), "b": (2, 0)}, by_zone(2), by_zone(1, "ScheduleAnyway"))
    assert found.score(member("new", {"zone": "a"})) == -1 - 1000
    assert found.score(member("new", {"zone": "b"})) == 2


@pytest.mark.rule("SCH-14")
def test_of_equals_the_largest_name_is_first() -> None:
    fleet = [member(f"cluster-{number}") for number in (1, 3, 2)]
    outcome = run(policy("PickN", 2), fleet)
    assert picked(outcome) == ["cluster-3", "cluster-2"]


@pytest.mark.rule("SCH-13")
@pytest.mark.rule("SCH-14")
def test_of_equals_the_one_of_the_earlier_policy_stays() -> None:
    fleet = [member(f"cluster-{number}") for number in (1, 2, 3)]
    outcome = run(policy("PickN", 1), fleet, [binding("cluster-1", policy_name="old")])
    assert [each["spec"]["targetCluster"] for each, _ in outcome.patched] == ["cluster-1"]
    assert not picked(outcome)
    told = reasons(outcome)
    assert "(affinity score: 0, topology spread score: 0)" in told["cluster-1"]


@pytest.mark.rule("SCH-14")
def test_spread_counts_more_than_preference() -> None:
    fleet = [
        member("a", {"zone": "x"}),
        member("b", {"zone": "x", "env": "prod"}),
        member("c", {"zone": "y"}),
    ]
    two = policy(
        "PickN",
        2,
        affinity=preferred((100, with_labels(env="prod"))),
        topologySpreadConstraints=[by_zone(action="ScheduleAnyway")],
    )
    first = run(two, fleet)
    assert picked(first) == ["b"]
    assert first.again
    assert first.status is None
    second = run(two, fleet, [binding("b", "Scheduled", score=(-1, 100))])
    assert picked(second) == ["c"]


@pytest.mark.rule("SCH-12")
@pytest.mark.rule("SCH-11")
def test_a_spread_placement_gets_one_cluster_at_a_time() -> None:
    fleet = [
        member("cluster-1", {"region": "east", "env": "prod"}),
        member("cluster-2", {"region": "east", "env": "canary"}),
        member("cluster-3", {"region": "west", "env": "prod"}),
    ]
    constraint = {"topologyKey": "env", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    two = policy(
        "PickN",
        2,
        affinity=required(with_labels(region="east")),
        topologySpreadConstraints=[constraint],
    )
    first = run(two, fleet)
    assert (picked(first), first.again, first.status) == (["cluster-2"], True, None)
    second = run(two, fleet, [binding("cluster-2", "Scheduled", score=(-1, 0))])
    assert (picked(second), second.again) == (["cluster-1"], False)
    assert list(reasons(second)) == ["cluster-1", "cluster-2", "cluster-3"]


@pytest.mark.rule("SCH-12")
def test_a_spread_placement_that_finds_nobody_more_says_so() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    three = policy("PickN", 3, topologySpreadConstraints=[constraint])
    fleet = [member("a", {"zone": "x"}), member("b", {"zone": "x"}), member("c", {"zone": "y"})]
    known = [binding("a", score=(-1, 0)), binding("c", score=(1, 0))]
    fourth = run(three, [*fleet[:1], fleet[2]], known)
    assert (picked(fourth), fourth.again) == ([], False)
    assert fourth.status is not None


@pytest.mark.rule("SCH-12")
@pytest.mark.rule("SCH-24")
def test_what_the_next_cycle_may_pick_is_not_given_up_before() -> None:
    wish = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    two = policy("PickN", 2, topologySpreadConstraints=[wish])
    fleet = [member(name, {"zone": name}) for name in ("a", "b", "c")]
    known = [binding(name, policy_name="older") for name in ("a", "b", "c")]
    first = run(two, fleet, known)
    assert [each["spec"]["targetCluster"] for each, _ in first.patched] == ["c"]
    assert first.unscheduled == []
    moved = binding("c", score=(-1, 0))
    last = run(two, fleet, [moved, *known[:2]])
    assert [each["spec"]["targetCluster"] for each, _ in last.patched] == ["b"]
    assert [each["spec"]["targetCluster"] for each in last.unscheduled] == ["a"]
