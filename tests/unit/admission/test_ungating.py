"""Which pods may go where: by rank, or in any order, and never onto a node that failed."""

from typing import Any

import pytest

from fleetqueue.admission import ungating
from fleetqueue.api.kueue import topology_encoding

pytestmark = pytest.mark.rule("kueue 8.10")

Json = dict[str, Any]
HOST, INDEX = "kubernetes.io/hostname", "batch.kubernetes.io/job-completion-index"


def workload(places: dict[str, int], request: Json | None = None, **status: Any) -> Json:
    domains = [{"values": [name], "count": count} for name, count in places.items()]
    packed = topology_encoding.pack({"levels": [HOST], "domains": domains})
    assignment = {"name": "main", "count": sum(places.values()), "topologyAssignment": packed}
    pod_set: Json = {"name": "main", "count": sum(places.values()), "template": {}}
    if request:
        pod_set["topologyRequest"] = request
    return {
        "metadata": {"name": "w", "namespace": "team"},
        "spec": {"podSets": [pod_set]},
        "status": {
            "conditions": [{"type": "Admitted", "status": "True"}],
            "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
            **status,
        },
    }


def pod(name: str, index: int | None = None, at: str = "", **labels: str) -> Json:
    """One that waits, or one that went to a node already."""
    known = {"kueue.x-k8s.io/podset": "main", **labels}
    if index is not None:
        known[INDEX] = str(index)
    spec: Json = {"nodeSelector": {HOST: at}} if at else {}
    if not at:
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    return {"metadata": {"name": name, "labels": known}, "spec": spec}


def going(obj: Json, *pods: Json) -> dict[str, str]:
    found = ungating.decide(obj, list(pods))
    return {each.pod["metadata"]["name"]: each.node_selector[HOST] for each in found}


RANKED = {"podIndexLabel": INDEX}


def test_pods_with_numbers_go_by_rank_whenever_they_come() -> None:
    obj = workload({"a": 2, "b": 1}, RANKED)

    assert going(obj, pod("x", 2), pod("y", 0)) == {"x": "b", "y": "a"}


def test_a_number_out_of_bounds_or_twice_means_no_ranks() -> None:
    obj = workload({"a": 1, "b": 1}, RANKED)

    assert going(obj, pod("x", 7), pod("y", 1)) == {"x": "a", "y": "b"}
    assert going(obj, pod("x", 1), pod("y", 1)) == {"x": "a", "y": "b"}


def test_pods_that_sit_elsewhere_than_their_rank_says_mean_no_ranks() -> None:
    obj = workload({"a": 1, "b": 1}, RANKED)

    assert going(obj, pod("there", 0, at="b"), pod("x", 1)) == {"x": "a"}


def test_groups_of_pods_are_numbered_one_after_the_other() -> None:
    job = "jobset.sigs.k8s.io/job-index"
    request = {**RANKED, "subGroupIndexLabel": job, "subGroupCount": 2}
    obj = workload({"a": 2, "b": 2}, request)
    second = {job: "1"}

    assert going(obj, pod("x", 1, **{job: "0"}), pod("y", 0, **second)) == {"x": "a", "y": "b"}


@pytest.mark.rule("kueue 8.6")
def test_workers_of_a_group_are_numbered_after_their_leader() -> None:
    obj = workload({"a": 1, "b": 1, "c": 1}, {**RANKED, "podSetGroupName": "g"})
    leader = {"name": "leader", "count": 1, "topologyRequest": {"podSetGroupName": "g"}}
    obj["spec"]["podSets"].append(leader)

    assert going(obj, pod("x", 1), pod("y", 2)) == {"x": "a", "y": "b"}
    assert going(obj, pod("x", 1, at="a"), pod("y", 2, at="b"), pod("z", 3)) == {"z": "c"}


def test_pods_of_a_slice_that_was_replaced_are_left_to_the_next() -> None:
    finished = workload({"a": 1})
    finished["status"]["conditions"].append({"type": "Finished", "status": "True"})

    assert going(finished, pod("x")) == {}


STRAYS = {
    "where it belongs": (workload({"a": 1, "b": 1}), pod("x", at="b"), False),
    "its place is gone": (workload({"a": 1}), pod("x", at="b"), True),
    "it waits still": (workload({"a": 1}), pod("x"), False),
    "of another set": (
        workload({"a": 1}), pod("x", at="b", **{"kueue.x-k8s.io/podset": "o"}), False),
    "a set without places": (
        {**workload({"a": 1}), "status": {"conditions": [], "admission": None}},
        pod("x", at="b"), False),
}  # fmt: skip


@pytest.mark.rule("kueue 8.8")
@pytest.mark.parametrize(("obj", "found", "is_astray"), STRAYS.values(), ids=STRAYS)
def test_pods_are_astray_that_went_where_no_place_is_any_more(
    obj: Json, found: Json, is_astray: bool
) -> None:
    assert ungating.is_astray(obj, found) == is_astray


def test_without_numbers_places_are_filled_in_order() -> None:
    obj = workload({"a": 2, "b": 2})

    assert going(obj, pod("there", at="a"), pod("x"), pod("y")) == {"x": "a", "y": "b"}


def test_nobody_goes_to_a_node_that_failed_or_before_admission() -> None:
    failed = workload({"a": 1, "b": 1}, unhealthyNodes=[{"name": "a"}])
    assert going(failed, pod("x"), pod("y")) == {"y": "b"}

    waiting = workload({"a": 1})
    waiting["status"]["conditions"] = []
    assert going(waiting, pod("x")) == {}
