"""Which check of a workload is MultiKueue's, and what it leads to."""

import pytest
from tests.support.kueue import admission_check

from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue import checks, kinds
from fleetqueue.multikueue.adapters.registry import adapter_for
from fleetqueue.multikueue.kinds import CONTROLLER

HERE = Listed(
    [
        admission_check("a-other", "example.com/other"),
        admission_check("b-first", CONTROLLER),
        admission_check("c-second", CONTROLLER),
    ]
)


@pytest.mark.rule("CQ-6", "AC-3")
def test_of_several_checks_of_ours_the_first_counts() -> None:
    names = ("a-other", "b-first", "c-second")
    states = [{"name": name, "state": "Pending"} for name in names]
    found = checks.ours_of({"status": {"admissionChecks": states}}, HERE)
    assert found is not None
    assert found["name"] == "b-first"


@pytest.mark.rule("CC-3", "LIM-15")
def test_variants_of_a_workload_are_not_sent() -> None:
    """They are owned by a Workload, for which there is no adapter."""
    owner = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": "parent",
        "uid": "u",
        "controller": True,
    }
    variant = {"metadata": {"name": "variant", "ownerReferences": [owner]}}
    said = 'No multikueue adapter found for owner kind "kueue.x-k8s.io/v1beta2, Kind=Workload"'
    assert adapter_for(variant, {}) == said


def test_a_workload_elsewhere_that_names_a_job_as_its_owner_is_none_of_its() -> None:
    def workload(name: str, namespace: str) -> Object:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1"}
        metadata = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
        return {"apiVersion": kinds.WORKLOAD.api_version, "kind": "Workload", "metadata": metadata}

    own, forged = workload("own", "a"), workload("forged", "b")
    job = {"metadata": {"name": "job", "namespace": "a", "uid": "1"}}
    assert checks.workloads_of(Listed([own, forged]), job) == [own]
