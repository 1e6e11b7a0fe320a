"""What the webhooks fill in on creation."""

from typing import Any

import pytest

from fleetqueue.api.kueue.defaults import defaulted

IN_USE = "kueue.x-k8s.io/resource-in-use"


@pytest.mark.rule("kueue 1.1", "kueue 1.4")
@pytest.mark.parametrize("kind", ["ClusterQueue", "ResourceFlavor"])
@pytest.mark.parametrize(
    ("before", "after"),
    [([], [IN_USE]), (["a"], ["a", IN_USE]), ([IN_USE, "a"], [IN_USE, "a"])],
)
def test_what_is_in_use_cannot_vanish(kind: str, before: list[str], after: list[str]) -> None:
    obj = {"kind": kind, "metadata": {"finalizers": before}}
    assert defaulted(obj)["metadata"]["finalizers"] == after
    assert obj["metadata"] == {"finalizers": before}


@pytest.mark.rule("kueue 1.0")
def test_an_empty_word_is_none() -> None:
    within = {"reclaimWithinCohort": "", "borrowWithinCohort": {"policy": ""}}
    spec = {"queueingStrategy": "", "stopPolicy": "Hold", "preemption": within,
            "flavorFungibility": {"whenCanBorrow": "", "preference": ""}}  # fmt: skip
    obj = {"kind": "ClusterQueue", "metadata": {}, "spec": spec}
    assert defaulted(obj)["spec"] == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "Hold",
        "preemption": {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "Never"}},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch"},
    }
    assert defaulted({**obj, "spec": {"preemption": None}})["spec"] == {"preemption": None}


@pytest.mark.parametrize("kind", ["Cohort", "LocalQueue", "AdmissionCheck", "Topology"])
def test_other_kinds_stay_as_they_are(kind: str) -> None:
    assert defaulted({"kind": kind, "metadata": {}}) == {"kind": kind, "metadata": {}}


def test_without_partial_admission_a_minimum_means_nothing() -> None:
    obj: dict[str, Any] = {"kind": "Workload", "spec": {"podSets": [{"count": 3, "minCount": 1}]}}
    assert defaulted(obj) == obj
    assert defaulted(obj, partial_admission=False)["spec"] == {"podSets": [{"count": 3}]}
