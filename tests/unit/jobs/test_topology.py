"""What the annotations of a template ask for, and what is refused of them."""

import pytest
from tests.support.job_looks import (
    KINDS,
    job,
    owned_by,
    pods,
    refusals,
    sight,
    thing,
    with_settings,
)

from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.8"), pytest.mark.rule("kueue 8.2")]

K = "kueue.x-k8s.io"
INDEX = {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}


def asking(**annotations: str) -> Object:
    """Keys without their prefix, with underscores."""
    named = {f"{K}/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    return job(template=pods(annotations=named), spec={"parallelism": 6})


REQUESTS = {
    "nothing": ({}, {}),
    "required": ({"required_topology": "rack"}, {"required": "rack"}),
    "preferred": ({"preferred_topology": "rack"}, {"preferred": "rack"}),
    "unconstrained": ({"unconstrained_topology": "true"}, {"unconstrained": True}),
    "required wins": (
        {"required_topology": "rack", "preferred_topology": "block"},
        {"required": "rack"},
    ),
    "slices": (
        {"slice_required_topology": "host", "slice_size": "2"},
        {"podSetSliceRequiredTopology": "host", "podSetSliceSize": 2},
    ),
    "a size of more digits than Python reads": (
        {"slice_required_topology": "host", "slice_size": "9" * 5000},
        {"podSetSliceRequiredTopology": "host"},
    ),
    "layers": (
        {"slice_required_topology_constraints": '[{"topology":"rack","size":4}]'},
        {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 4}]},
    ),
    "a group": (
        {"required_topology": "rack", "group_name": "g"},
        {"required": "rack", "podSetGroupName": "g"},
    ),
    "a group without a place": ({"group_name": "g"}, {}),
}


@pytest.mark.parametrize(("annotations", "expected"), REQUESTS.values(), ids=REQUESTS.keys())
def test_requests(annotations: dict[str, str], expected: Object) -> None:
    [pod_set] = pod_sets_of(KINDS["batch/job"], sight(asking(**annotations)))
    assert pod_set["topologyRequest"] == {**expected, **INDEX}


def test_kinds_without_an_index_ask_for_nothing_by_themselves() -> None:
    spec = {"headGroupSpec": {"template": pods()}}
    cluster = thing("ray.io/v1", "RayCluster", "c", spec=spec)
    [pod_set] = pod_sets_of(KINDS["ray.io/raycluster"], sight(cluster))
    assert "topologyRequest" not in pod_set


def test_without_the_gate_nothing_is_asked_for() -> None:
    off = with_settings(topology=False)
    made = sight(asking(required_topology="rack"), settings=off)
    [pod_set] = pod_sets_of(KINDS["batch/job"], made)
    assert "topologyRequest" not in pod_set
    assert refusals(asking(unconstrained_topology="maybe"), settings=off) == []


PATH = "spec.template.metadata.annotations"
SIZE, SLICE = f"{K}/podset-slice-size", f"{K}/podset-slice-required-topology"
LAYERS = f"{K}/podset-slice-required-topology-constraints"
GROUP = f"{K}/podset-group-name"
REQUIRED, PREFERRED = f"{K}/podset-required-topology", f"{K}/podset-preferred-topology"
REFUSALS = {
    "two places": (
        {"required_topology": "a", "preferred_topology": "b"},
        f'{PATH}: Invalid value: must not contain more than one topology annotation: ["{REQUIRED}",'
        f' "{PREFERRED}", "{K}/podset-unconstrained-topology"]',
    ),
    "no bool": (
        {"unconstrained_topology": "maybe"},
        f'{PATH}[{K}/podset-unconstrained-topology]: Invalid value: "maybe": must be a boolean'
        " value",
    ),
    "a size that is no number": (
        {"slice_required_topology": "a", "slice_size": "x"},
        f'{PATH}[{SIZE}]: Invalid value: "x": must be a numeric value',
    ),
    "a size of nothing": (
        {"slice_required_topology": "a", "slice_size": "0"},
        f'{PATH}[{SIZE}]: Invalid value: "0": must be greater than or equal to 1',
    ),
    "a size of too many": (
        {"slice_required_topology": "a", "slice_size": "7"},
        f'{PATH}[{SIZE}]: Invalid value: "7": must not be greater than pod set count 6',
    ),
    "slices without a size": (
        {"slice_required_topology": "a"},
        f"{PATH}[{SIZE}]: Required value: must be set when '{SLICE}' is specified",
    ),
    "a size without slices": (
        {"slice_size": "2"},
        f"{PATH}[{SIZE}]: Forbidden: may not be set when '{SLICE}' is not specified",
    ),
    "a group without a place": (
        {"group_name": "g"},
        f"{PATH}[{GROUP}]: Forbidden: may not be set when neither '{PREFERRED}' nor '{REQUIRED}'"
        " is specified",
    ),
    "no layers": (
        {"slice_required_topology_constraints": "[]"},
        f'{PATH}[{LAYERS}]: Invalid value: "[]": topology constraints must contain between 1 and 3'
        " entries",
    ),
    "layers that do not divide": (
        {
            "slice_required_topology_constraints": '[{"topology":"a","size":4},'
            '{"topology":"b","size":3}]'
        },
        f"{PATH}[{LAYERS}][1].size: Invalid value: 3: must evenly divide the parent layer size 4",
    ),
}


@pytest.mark.parametrize(("annotations", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(annotations: dict[str, str], expected: str) -> None:
    found = refusals(asking(**annotations))
    assert expected in found


def test_a_number_is_no_group() -> None:
    found = refusals(asking(required_topology="a", group_name="7"))
    assert f'{PATH}[{GROUP}]: Invalid value: "7": must not be a number' in found


def test_layers_that_are_no_list() -> None:
    [found] = refusals(asking(slice_required_topology_constraints="{"))
    assert found.startswith(f'{PATH}[{LAYERS}]: Invalid value: "{{": must be a valid JSON array: ')


def test_layers_and_slices_exclude_each_other() -> None:
    layers = '[{"topology":"a","size":2}]'
    found = refusals(
        asking(
            slice_required_topology="a",
            slice_size="2",
            slice_required_topology_constraints=layers,
        )
    )
    assert f"{PATH}[{LAYERS}]: Forbidden: may not be set when '{SLICE}' is specified" in found


def trainer(workers: int, **annotations: str) -> Object:
    named = {f"{K}/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    role = {"template": pods(annotations=named)}
    specs = {"Master": {"replicas": 2, **role}, "Worker": {"replicas": workers, **role}}
    return thing("kubeflow.org/v1", "PyTorchJob", "p", spec={"pytorchReplicaSpecs": specs})


def test_one_of_a_group_has_one_pod() -> None:
    found = refusals(
        trainer(3, required_topology="rack", group_name="g"), framework="kubeflow.org/pytorchjob"
    )
    detail = (
        "can only define groups where at least one pod set has only 1 replica, got:"
        " 2 replica(s) and 3 replica(s) in the group"
    )
    path = "spec.pytorchReplicaSpecs.{}.template.metadata.annotations"
    assert found == [
        f'{path.format(role)}[{GROUP}]: Invalid value: "g": {detail}'
        for role in ("Master", "Worker")
    ]
    fine = trainer(1, required_topology="rack", group_name="g")
    assert refusals(fine, framework="kubeflow.org/pytorchjob") == []


def test_a_group_has_two_pod_sets() -> None:
    [found] = refusals(asking(required_topology="a", group_name="g"))
    detail = "can only define groups of exactly 2 pod sets, got: 1 pod set(s)"
    assert found == f'{PATH}[{GROUP}]: Invalid value: "g": {detail}'


SLICED = {f"{K}/podset-slice-required-topology": "rack", f"{K}/podset-slice-size": "2"}
LAYERED = {LAYERS: '[{"topology":"rack","size":2}]'}
GROUPED = {f"{K}/podset-required-topology": "rack", GROUP: "g"}
JOB_SET = thing("jobset.x-k8s.io/v1alpha2", "JobSet", "above")
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
REPLICA_SET = thing("apps/v1", "ReplicaSet", "above")


def a_pod(annotations: dict[str, str], **more: str) -> Object:
    return thing("v1", "Pod", "p", annotations={**annotations, **more}, spec=pods()["spec"])


def a_set(annotations: dict[str, str]) -> Object:
    spec = {"replicas": 1, "template": pods(annotations=annotations)}
    return thing("apps/v1", "StatefulSet", "s", spec=spec)


def parts(notes: dict[str, str]) -> dict[str, tuple[Object, str]]:
    """What is made of a job with those annotations, each with its framework."""
    held = {**notes, f"{K}/pod-suspending-parent": LWS}
    in_group = {f"{K}/pod-group-name": "grp", f"{K}/pod-group-total-count": "4"}
    return {
        "the pod of a job": (owned_by(a_pod(notes), job()), "pod"),
        "the pod of a replica set": (owned_by(a_pod(notes), REPLICA_SET), "pod"),
        "the pod of a stranger": (owned_by(a_pod(notes), thing("a.io/v1", "A", "a")), "pod"),
        "a pod of a group": (a_pod(notes, **in_group), "pod"),
        "the job of a jobset": (
            owned_by(job(queue="", template=pods(annotations=notes)), JOB_SET),
            "batch/job",
        ),
        "the leaders of a set": (a_set(held), "statefulset"),
        "the workers of a leader": (owned_by(a_set(notes), a_pod({})), "statefulset"),
    }


@pytest.mark.rule("kueue 8.2", "jobs A.13.2")
@pytest.mark.parametrize("notes", [SLICED, LAYERED, GROUPED], ids=["slices", "layers", "group"])
@pytest.mark.parametrize("name", parts({}))
def test_parts_of_a_job_are_not_measured_as_if_they_were_the_whole(
    name: str, notes: dict[str, str]
) -> None:
    made, framework = parts(notes)[name]
    assert refusals(made, framework=framework) == []


def test_what_stands_for_itself_is_measured() -> None:
    path = "metadata.annotations"
    assert refusals(a_pod(SLICED), framework="pod") == [
        f'{path}[{SIZE}]: Invalid value: "2": must not be greater than pod set count 1'
    ]
    [told] = refusals(a_set(GROUPED), framework="statefulset")
    assert "can only define groups of exactly 2 pod sets, got: 1 pod set(s)" in told


def test_the_form_of_the_annotations_of_a_pod_counts_in_a_group_too() -> None:
    notes = {f"{K}/pod-group-name": "grp", f"{K}/pod-group-total-count": "4"}
    [told] = refusals(a_pod({SLICE: "rack", SIZE: "x"}, **notes), framework="pod")
    assert told == f'metadata.annotations[{SIZE}]: Invalid value: "x": must be a numeric value'
