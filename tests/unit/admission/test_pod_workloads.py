"""The workload that a pod waits for is found, however the pod came to it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.admission.pod_workloads import INDEX, workload_of
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.kube.sources import Listed

pytestmark = pytest.mark.rule("kueue 11.2")

Json = dict[str, Any]
K = "kueue.x-k8s.io"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "of the pod", "controller": True}


def workload(name: str, slice_name: str = "", minute: int = 0, **metadata: Any) -> Json:
    notes = {f"{K}/workload-slice-name": slice_name} if slice_name else {}
    made = {
        "name": name,
        "namespace": "team",
        "annotations": notes,
        "creationTimestamp": f"2026-01-01T00:{minute:02}:00Z",
        **metadata,
    }
    return {"apiVersion": f"{K}/v1beta2", "kind": "Workload", "metadata": made, "spec": {}}


def admitted(made: Json) -> Json:
    return status.reserve(made, {"clusterQueue": "queue"}, NOW)


FIRST, SECOND = admitted(workload("job")), admitted(workload("job-2", "job", 2))
SLICES = [
    status.finish(admitted(workload("job-1", "job", 1)), "Succeeded", "", NOW),
    SECOND,
    workload("job-3", "job", 3),
]
SINGLE = workload("pod-p-1", ownerReferences=[POD])
GROUP = workload("group", ownerReferences=[{**POD, "controller": False}])
# fmt: off
PODS: dict[str, tuple[Json, Json | None]] = {
    "by name": ({"annotations": {f"{K}/workload": "job"}}, FIRST),
    "one of a group by annotation": ({"annotations": {f"{K}/pod-group-name": "group"}}, GROUP),
    "one of a group by label": ({"labels": {f"{K}/pod-group-name": "group"}}, GROUP),
    "a pod of its own": ({}, SINGLE),
    "of an elastic job": (
        {"annotations": {f"{K}/workload-slice-name": "job", f"{K}/workload": "job-1"}}, SECOND,
    ),
    "of nobody": ({"uid": "another"}, None),
}
# fmt: on


@pytest.mark.parametrize(("metadata", "found"), PODS.values(), ids=PODS)
def test_a_pod_and_its_workload(metadata: Json, found: Json | None) -> None:
    pod = {"metadata": {"name": "p", "namespace": "team", "uid": "of the pod", **metadata}}
    around = Listed([FIRST, *SLICES, SINGLE, GROUP])
    assert workload_of(around, pod) == found


def test_an_annotation_names_the_group_before_a_label() -> None:
    key = f"{K}/pod-group-name"
    both = {"metadata": {"annotations": {key: "said"}, "labels": {key: "labelled"}}}
    assert group_of(both) == "said"


def test_few_workloads_are_in_the_index() -> None:
    assert list(INDEX.values(FIRST)) == []
    assert list(INDEX.values(GROUP)) == []
