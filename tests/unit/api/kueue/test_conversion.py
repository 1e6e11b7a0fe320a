"""Conversion between v1beta1 and v1beta2: renamed fields, older words, what is lost on the way."""

from typing import Any

import pytest

from fleetqueue.api.kueue.conversion import V1BETA1, V1BETA2, ConversionError, convert

Json = dict[str, Any]

COUNTS = {"pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0}
TEMPLATE = {
    "metadata": {},
    "spec": {"containers": [{"name": "c", "resources": {}}]},
}


def obj(api_version: str, kind: str, spec: Json, status: Json | None = None) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": spec,
        "status": status or {},
    }


def pod_sets(**more: Any) -> Json:
    return {"podSets": [{"name": "main", "count": 1, "template": TEMPLATE, **more}]}


def admitted(topology: Json) -> Json:
    return {
        "admission": {
            "clusterQueue": "q",
            "podSetAssignments": [{"name": "main", "topologyAssignment": topology}],
        }
    }


# fmt: off
BOTH_WAYS: dict[str, tuple[str, Json, Json, Json, Json]] = {
    #                         kind, spec in v1beta1 and v1beta2, status in v1beta1 and v1beta2
    "the cohort of a queue": ("ClusterQueue", {"cohort": "c"}, {"cohortName": "c"}, COUNTS, COUNTS),
    "a strategy for checks": ("ClusterQueue",
                              {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}},
                              {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}},
                              COUNTS, COUNTS),
    "the admission mode":    ("ClusterQueue", {"admissionScope": {"admissionMode": "x"}},
                              {"admissionScope": {"admissionMode": "x"}}, COUNTS, COUNTS),
    "usage of a LocalQueue": ("LocalQueue", {"clusterQueue": "q"}, {"clusterQueue": "q"},
                              COUNTS | {"flavorUsage": [{"name": "f"}]},
                              COUNTS | {"flavorsUsage": [{"name": "f"}]}),
    "a cohort's parent":     ("Cohort", {"parentName": "p"}, {"parentName": "p"}, {}, {}),
    "a workload's class":    ("Workload",
                              {"priorityClassName": "n",
                               "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
                              {"priorityClassRef": {"group": "kueue.x-k8s.io", "name": "n",
                                                    "kind": "WorkloadPriorityClass"}}, {}, {}),
    "a pod's class":         ("Workload",
                              {"priorityClassName": "n",
                               "priorityClassSource": "scheduling.k8s.io/priorityclass"},
                              {"priorityClassRef": {"group": "scheduling.k8s.io", "name": "n",
                                                    "kind": "PriorityClass"}}, {}, {}),
    "no class":              ("Workload", {"priority": 3}, {"priority": 3}, {}, {}),
    "time already run":      ("Workload", {}, {},
                              {"accumulatedPastExexcutionTimeSeconds": 7},
                              {"accumulatedPastExecutionTimeSeconds": 7}),
    "topology domains":      ("Workload", pod_sets(), pod_sets(),
                              admitted({"levels": ["rack"],
                                        "domains": [{"values": ["r1"], "count": 2}]}),
                              admitted({"levels": ["rack"],
                                        "slices": [{"domainCount": 1, "podCounts": {"universal": 2},
                                                    "valuesPerLevel": [{"universal": "r1"}]}]})),
    "a kubeconfig":          ("MultiKueueCluster",
                              {"kubeConfig": {"location": "l", "locationType": "Secret"}},
                              {"clusterSource": {"kubeConfig": {"location": "l",
                                                                "locationType": "Secret"}}},
                              {}, {}),
    "a cluster profile":     ("MultiKueueCluster",
                              {"kubeConfig": {"location": "", "locationType": ""},
                               "clusterProfileRef": {"name": "p"}},
                              {"clusterSource": {"clusterProfileRef": {"name": "p"}}}, {}, {}),
    "a kind without rules":  ("Topology", {"levels": [{"nodeLabel": "x"}]},
                              {"levels": [{"nodeLabel": "x"}]}, {}, {}),
    "fields nobody knows":   ("Workload", {"unheard": 1}, {"unheard": 1}, {"of": 2}, {"of": 2}),
}

UP_ONLY: dict[str, tuple[str, Json, Json, Json, Json]] = {
    "a list of checks replaces the strategy": (
        "ClusterQueue",
        {"admissionChecks": ["a", "b"],
         "admissionChecksStrategy": {"admissionChecks": [{"name": "z"}]}},
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        {}, COUNTS),
    "an empty list of checks does not": (
        "ClusterQueue",
        {"admissionChecks": [], "admissionChecksStrategy": {"admissionChecks": [{"name": "z"}]}},
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "z"}]}},
        {}, COUNTS),
    "older words of fungibility": (
        "ClusterQueue",
        {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
        {"flavorFungibility": {"whenCanBorrow": "MayStopSearch",
                               "whenCanPreempt": "MayStopSearch"}},
        {}, COUNTS),
    "the pending workloads of a queue": (
        "ClusterQueue", {}, {}, {"pendingWorkloadsStatus": {"lastChangeTime": "t"}}, COUNTS),
    "past usage of a cohort": (
        "Cohort", {}, {},
        {"fairSharing": {"weightedShare": 1, "admissionFairSharingStatus": {}}},
        {"fairSharing": {"weightedShare": 1}}),
    "the flavors of a LocalQueue": ("LocalQueue", {}, {}, {"flavors": [{"name": "f"}]}, COUNTS),
    "a class without a source": (
        "Workload", {"priorityClassName": "n", "priorityClassSource": ""}, {}, {}, {}),
    "a template without metadata": (
        "Workload",
        {"podSets": [{"name": "main", "template": {"spec": {"containers": [{"name": "c"}]}}}]},
        {"podSets": [{"name": "main", "template": TEMPLATE}]}, {}, {}),
}

DOWN_ONLY: dict[str, tuple[str, Json, Json, Json, Json]] = {
    "a policy for concurrent admission": (
        "ClusterQueue", {"concurrentAdmissionPolicy": {"migration": {}}}, {}, {}, COUNTS),
    "preemption gates": (
        "Workload", {"preemptionGates": [{"name": "g"}]}, {},
        {"preemptionGates": [{"name": "g"}]}, {}),
    "constraints on slices": (
        "Workload",
        pod_sets(topologyRequest={"podsetSliceRequiredTopologyConstraints": [], "required": "r"}),
        pod_sets(topologyRequest={"required": "r"}), {}, {}),
}
# fmt: on


@pytest.mark.rule("kueue 1.7")
@pytest.mark.parametrize("case", BOTH_WAYS.values(), ids=BOTH_WAYS.keys())
def test_what_converts_both_ways(case: tuple[str, Json, Json, Json, Json]) -> None:
    kind, old_spec, new_spec, old_status, new_status = case
    old, new = obj(V1BETA1, kind, old_spec, old_status), obj(V1BETA2, kind, new_spec, new_status)
    assert convert(old, V1BETA2) == new
    assert convert(new, V1BETA1) == old


@pytest.mark.rule("kueue 1.7")
@pytest.mark.parametrize("case", UP_ONLY.values(), ids=UP_ONLY.keys())
def test_what_is_different_after_the_way_up(case: tuple[str, Json, Json, Json, Json]) -> None:
    kind, spec, new_spec, status, new_status = case
    assert convert(obj(V1BETA1, kind, spec, status), V1BETA2) == obj(
        V1BETA2, kind, new_spec, new_status
    )


@pytest.mark.rule("kueue 1.7")
@pytest.mark.parametrize("case", DOWN_ONLY.values(), ids=DOWN_ONLY.keys())
def test_what_is_lost_on_the_way_down(case: tuple[str, Json, Json, Json, Json]) -> None:
    kind, spec, old_spec, status, old_status = case
    assert convert(obj(V1BETA2, kind, spec, status), V1BETA1) == obj(
        V1BETA1, kind, old_spec, old_status
    )


def test_conversion_adds_the_status_that_go_writes() -> None:
    cohort = {"apiVersion": V1BETA1, "kind": "Cohort", "metadata": {}, "spec": {}}
    assert convert(cohort, V1BETA2)["status"] == {}


def test_the_original_stays_as_it_is() -> None:
    queue = obj(V1BETA1, "ClusterQueue", {"cohort": "c"})
    convert(queue, V1BETA2)
    assert queue == obj(V1BETA1, "ClusterQueue", {"cohort": "c"})


def test_the_same_version_changes_nothing() -> None:
    queue = obj(V1BETA1, "ClusterQueue", {"cohort": "c"})
    assert convert(queue, V1BETA1) == queue


@pytest.mark.parametrize(
    ("broken", "wanted"),
    [
        (obj(V1BETA1, "Workload", {}), "kueue.x-k8s.io/v1"),
        (obj("batch/v1", "Job", {}), V1BETA2),
        (obj(V1BETA1, "Workload", {"podSets": "none"}), V1BETA2),
        (obj(V1BETA1, "Workload", {}, admitted({"domains": [{"values": ["a"]}]})), V1BETA2),
        (obj(V1BETA1, "ClusterQueue", {"flavorFungibility": [1]}), V1BETA2),
    ],
)
def test_what_cannot_be_converted_is_refused(broken: Json, wanted: str) -> None:
    with pytest.raises(ConversionError):
        convert(broken, wanted)
