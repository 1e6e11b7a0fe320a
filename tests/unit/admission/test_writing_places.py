"""What is written when places are found: they, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from fleetqueue.admission.writing import with_places
from fleetqueue.api.kueue import topology_encoding
from fleetqueue.queueing.assignment import Assignment
from fleetqueue.queueing.plan import Place
from fleetqueue.queueing.workload import Placement, PodSetAssignment
from support.cycles import waiting
from support.racks import on

pytestmark = pytest.mark.rule("kueue 8.8", "kueue 5.8")

Json = dict[str, Any]


def packed(placement: Placement) -> Json:
    domains = [{"values": list(each.values), "count": each.count} for each in placement.domains]
    return topology_encoding.pack({"levels": list(placement.levels), "domains": domains})


def written(name: str, placement: Placement | None, **more: Any) -> Json:
    told = {"name": name, "count": 4, "flavors": {"cpu": "tas"}, "resourceUsage": {"cpu": "4"}}
    place = {"topologyAssignment": packed(placement)} if placement is not None else {}
    return {**told, **place, **more}


def held(name: str, placement: Placement | None, *, is_delayed: bool = False) -> PodSetAssignment:
    """One of its pods needs nothing more."""
    return PodSetAssignment(name, 4, {"cpu": "tas"}, {"cpu": 3000}, placement, is_delayed)


def decision(before: list[PodSetAssignment], after: list[PodSetAssignment]) -> Place:
    asking = waiting("w@team a cpu=1 x4 + b cpu=1 x4")
    holder = replace(asking, assignments=tuple(before))
    return Place(holder, Assignment(()), replace(asking, assignments=tuple(after)))


def test_a_set_that_moved_has_another_place_and_the_rest_stays() -> None:
    stays = written("b", on(n9=4), odd="kept")
    admission = {"clusterQueue": "team", "podSetAssignments": [written("a", on(n1=4)), stays]}
    before = [held("a", on(n1=4)), held("b", on(n9=4))]
    made = with_places(admission, decision(before, [held("a", on(n2=4)), before[1]]))
    assert made == {"clusterQueue": "team", "podSetAssignments": [written("a", on(n2=4)), stays]}


@pytest.mark.parametrize("state", ["Pending", "Ready"])
def test_places_that_came_later_are_there(state: str) -> None:
    place = None if state == "Pending" else on(n1=4)
    told = written("a", place, delayedTopologyRequest=state)
    before, after = held("a", place, is_delayed=not place), held("a", on(n2=4))
    made = with_places({"podSetAssignments": [told]}, decision([before], [after]))
    ready = written("a", on(n2=4), delayedTopologyRequest="Ready")
    assert made == {"podSetAssignments": [ready]}


def test_a_single_pod_that_keeps_its_place_changes_nothing() -> None:
    admission = {"clusterQueue": "team", "podSetAssignments": [written("a", on(n1=4))]}
    assert with_places(admission, decision([held("a", on(n1=4))], [held("a", on(n1=4))])) == (
        admission
    )
