"""What any job is given when it is written, and what is refused."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from tests.support.job_looks import (
    KINDS,
    KUEUE,
    SETTINGS,
    asked,
    defaulted,
    job,
    owned_by,
    pods,
    refusals,
    thing,
    with_settings,
)

from fleetqueue.base import paths
from fleetqueue.jobs.ancestors import Family
from fleetqueue.jobs.webhook import validate
from fleetqueue.kube.resources import Object

pytestmark = [pytest.mark.rule("jobs A.7"), pytest.mark.rule("kueue 9.6")]

K = "kueue.x-k8s.io"
QUEUE_PATH = f"metadata.labels[{K}/queue-name]"


def local_queue(name: str, **spec: Any) -> Object:
    return thing(KUEUE, "LocalQueue", name, spec={"clusterQueue": "cq", **spec})


DEFAULT_CLASS = thing(KUEUE, "WorkloadPriorityClass", "default", cluster=True, value=1)


@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("kueue 4.9")
@pytest.mark.parametrize(
    ("made", "around", "queue"),
    [
        pytest.param(job(queue=""), [local_queue("default")], "default", id="a default queue"),
        pytest.param(job(queue="mine"), [local_queue("default")], "mine", id="one of its own"),
        pytest.param(job(queue=""), [], None, id="no default queue"),
        pytest.param(
            job(queue=""), [local_queue("default", stopPolicy="Hold")], None, id="a stopped one"
        ),
        pytest.param(
            owned_by(job(queue=""), thing("jobset.x-k8s.io/v1alpha2", "JobSet", "p")),
            [local_queue("default")],
            None,
            id="an owner of a managed kind",
        ),
    ],
)
def test_the_queue_of_a_new_job(made: Object, around: list[Object], queue: str | None) -> None:
    found = defaulted(made, *around)
    assert found["metadata"]["labels"].get(f"{K}/queue-name") == queue


@pytest.mark.rule("jobs A.2")
def test_a_default_class_is_given_with_and_without_a_queue() -> None:
    for queue in ("lq", ""):
        found = defaulted(job(queue=queue), DEFAULT_CLASS)
        assert found["metadata"]["labels"][f"{K}/priority-class"] == "default"
    off = with_settings(default_priority_class=False)
    found = defaulted(job(), DEFAULT_CLASS, settings=off)
    assert f"{K}/priority-class" not in found["metadata"]["labels"]


PARENT = thing("jobset.x-k8s.io/v1alpha2", "JobSet", "p", labels={f"{K}/queue-name": "lq"})


@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("kueue 9.2")
@pytest.mark.parametrize(
    ("made", "settings", "suspends"),
    [
        pytest.param(job(), SETTINGS, True, id="a queue"),
        pytest.param(job(queue=""), SETTINGS, False, id="no queue"),
        pytest.param(owned_by(job(), PARENT), SETTINGS, False, id="a managed ancestor"),
        pytest.param(
            job(queue=""), with_settings(manages_without_queue_name=True), True, id="all jobs"
        ),
        pytest.param(job(deletionTimestamp="now"), SETTINGS, False, id="being deleted"),
    ],
)
def test_who_is_suspended(made: Object, settings: Any, suspends: bool) -> None:
    made["spec"]["suspend"] = False
    found = defaulted(made, PARENT, settings=settings)
    assert found["spec"]["suspend"] is suspends


def test_a_queue_named_by_annotation_counts_with_a_warning() -> None:
    made = defaulted(job(queue="", annotations={f"{K}/queue-name": "lq"}))
    assert made["metadata"]["labels"] == {f"{K}/queue-name": "lq"}
    assert made["spec"]["suspend"] is True
    question = asked(made)
    family = Family.of(KINDS.values(), SETTINGS)
    assert validate(KINDS["batch/job"], SETTINGS, family, question) == []
    assert question.warnings == [
        f"the annotation {K}/queue-name is read as the queue name;"
        " use the label of that name instead"
    ]


@pytest.mark.parametrize(
    ("queue", "manager", "is_old", "warns"),
    [
        pytest.param("", f"{K}/multikueue", False, True, id="in no queue"),
        pytest.param("lq", f"{K}/multikueue", False, False, id="in a queue"),
        pytest.param("", "acme.io/other", False, False, id="somebody else runs it"),
        pytest.param("", None, False, False, id="its operator runs it"),
        pytest.param("", f"{K}/multikueue", True, False, id="it was told before"),
    ],
)
def test_a_job_that_nobody_will_run_is_made_with_a_warning(
    queue: str, manager: str | None, is_old: bool, warns: bool
) -> None:
    made = job(queue=queue)
    if manager is not None:
        made["spec"]["managedBy"] = manager
    question = replace(asked(made), old=made if is_old else None)
    family = Family.of(KINDS.values(), SETTINGS)
    assert validate(KINDS["batch/job"], SETTINGS, family, question) == []
    told = [
        f"spec.managedBy is {K}/multikueue, but no label {K}/queue-name names a queue:"
        " nobody will run this"
    ]
    assert question.warnings == (told if warns else [])


@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("jobs A.17")
@pytest.mark.parametrize(
    ("present", "controller", "expected"),
    [
        (None, f"{K}/multikueue", f"{K}/multikueue"),
        ("kubernetes.io/job-controller", f"{K}/multikueue", f"{K}/multikueue"),
        ("acme.io/other", f"{K}/multikueue", "acme.io/other"),
        (None, f"{K}/provisioning-request", None),
    ],
)
def test_who_manages_a_job_of_a_queue_with_checks(
    present: str | None, controller: str, expected: str | None
) -> None:
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}
    around = [
        local_queue("lq"),
        thing(KUEUE, "ClusterQueue", "cq", cluster=True, spec=strategy),
        thing(KUEUE, "AdmissionCheck", "c", cluster=True, spec={"controllerName": controller}),
    ]
    made = job(spec={"managedBy": present} if present else {})
    assert defaulted(made, *around)["spec"].get("managedBy") == expected
    off = with_settings(multikueue=False)
    made = job(spec={"managedBy": present} if present else {})
    assert defaulted(made, *around, settings=off)["spec"].get("managedBy") == present


def serving(kind: str = "Deployment", **more: Any) -> Object:
    spec = {"replicas": 2, "template": pods()}
    return thing("apps/v1", kind, "web", spec=spec, status={"readyReplicas": 2}, **more)


@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("kueue 9.2")
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_what_appears_later_is_no_default_for_what_is_there(kind: str) -> None:
    around = [local_queue("default"), DEFAULT_CLASS]
    notes = {f"{K}/queue-name": "lq"}
    for old in (serving(kind), serving(kind, annotations=notes)):
        new = defaulted(copy.deepcopy(old), *around, old=old, framework=kind.lower())
        assert new == old
        assert refusals(new, *around, old=old, framework=kind.lower()) == []
    queued = serving(kind, labels={f"{K}/queue-name": "lq"})
    queued["status"] = {}
    found = defaulted(serving(kind), *around, old=queued, framework=kind.lower())
    [*_, told] = refusals({**found, "status": {}}, *around, old=queued, framework=kind.lower())
    assert told.endswith("queue-name must not be empty in namespace with default queue")


@pytest.mark.rule("kueue 9.2")
@pytest.mark.parametrize("kind", ["Job", "Deployment", "StatefulSet", "LeaderWorkerSet"])
def test_what_is_being_deleted_is_not_touched(kind: str) -> None:
    """Neither on a change, which some kinds are defaulted on, nor ever."""
    [found] = [each for each in KINDS.values() if each.resource.kind == kind]
    spec = {"template": pods(), "leaderWorkerTemplate": {"workerTemplate": pods()}}
    going = {"deletionTimestamp": "2026-01-01T12:00:00Z"}
    for labels in ({}, {f"{K}/queue-name": "lq"}):
        api = found.resource.api_version
        made = thing(api, kind, "web", labels=labels, spec=copy.deepcopy(spec), **going)
        around = [local_queue("default"), DEFAULT_CLASS]
        for old in (None, made):
            before = copy.deepcopy(made)
            assert defaulted(made, *around, old=old, framework=found.framework) == before


@pytest.mark.rule("jobs A.9")
def test_what_its_schema_refuses_is_left_to_it() -> None:
    """Defaults come first."""
    elastic = {f"{K}/elastic-job": "true"}
    service = thing("ray.io/v1", "RayService", "s", annotations=elastic, spec={})
    assert defaulted(service, framework="ray.io/rayservice")["spec"] == {}
    nameless = {"workerGroupSpecs": [{}]}
    cluster = thing("ray.io/v1", "RayCluster", "c", annotations=elastic, spec=nameless)
    assert defaulted(cluster, framework="ray.io/raycluster")["spec"] == {"workerGroupSpecs": [{}]}
    unnamed = {"schedulingGates": [{}], "containers": []}
    made = defaulted(job(annotations=elastic, template={"spec": unnamed}))
    gates = made["spec"]["template"]["spec"]["schedulingGates"]
    assert gates == [{}, {"name": f"{K}/elastic-job"}]


@pytest.mark.rule("jobs A.11")
@pytest.mark.parametrize("template", [{}, {"spec": {}}, None])
def test_a_replicated_job_without_a_template(template: Object | None) -> None:
    spec = {"replicatedJobs": [{"name": "a", "template": template}]}
    made = thing("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec=spec)
    assert refusals(made, framework="jobset.x-k8s.io/jobset") == []


@pytest.mark.rule("jobs A.9")
def test_the_pods_of_an_elastic_job_are_gated() -> None:
    elastic = {f"{K}/elastic-job": "true"}
    found = defaulted(job(annotations=elastic))
    gates = [{"name": f"{K}/elastic-job"}]
    assert found["spec"]["template"]["spec"]["schedulingGates"] == gates
    again = defaulted(found)
    assert again["spec"]["template"]["spec"]["schedulingGates"] == gates
    off = with_settings(slices=False)
    found = defaulted(job(annotations=elastic), settings=off)
    assert "schedulingGates" not in found["spec"]["template"]["spec"]


SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
).replace("\\\\", "\\")
MAX_PATH = f"metadata.labels[{K}/max-exec-time-seconds]"
GATE_PATH = f"metadata.annotations[{K}/admission-gated-by]"
NEW = {
    "a queue name": (
        job(queue="Bad_Queue"),
        f'{QUEUE_PATH}: Invalid value: "Bad_Queue": {SUBDOMAIN}',
    ),
    "a time that is no number": (
        job(labels={f"{K}/max-exec-time-seconds": "x"}),
        f'{MAX_PATH}: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax',
    ),
    "a time that no number holds": (
        job(labels={f"{K}/max-exec-time-seconds": "9" * 20}),
        f'{MAX_PATH}: Invalid value: "{"9" * 20}": strconv.Atoi:'
        f' parsing "{"9" * 20}": value out of range',
    ),
    "no time at all": (
        job(labels={f"{K}/max-exec-time-seconds": "0"}),
        f"{MAX_PATH}: Invalid value: 0: should be greater than 0",
    ),
    "a prebuilt name": (
        job(annotations={f"{K}/prebuilt-workload-name": "A"}),
        f'metadata.annotations[{K}/prebuilt-workload-name]: Invalid value: "A": {SUBDOMAIN}',
    ),
    "an empty gate": (
        job(annotations={f"{K}/admission-gated-by": "a.io/b,"}),
        f'{GATE_PATH}: Invalid value: "a.io/b,": cannot contain empty gate names',
    ),
    "a gate twice": (
        job(annotations={f"{K}/admission-gated-by": "a.io/b,a.io/b"}),
        f'{GATE_PATH}: Invalid value: "a.io/b,a.io/b": duplicate gate name: a.io/b',
    ),
}


@pytest.mark.parametrize(("made", "expected"), NEW.values(), ids=NEW.keys())
def test_what_is_refused_of_a_new_job(made: Object, expected: str) -> None:
    assert refusals(made) == [expected]


JOB_SET = thing(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    "s",
    annotations={f"{K}/elastic-job": "true"},
    spec={"replicatedJobs": []},
)
JAX = thing(
    "kubeflow.org/v1",
    "JAXJob",
    "s",
    labels={f"{K}/prebuilt-workload-name": "w"},
    spec={},
)


def test_what_a_kind_does_not_support() -> None:
    assert refusals(JOB_SET, framework="jobset.x-k8s.io/jobset") == [
        f"metadata.annotations[{K}/elastic-job]: Forbidden: elastic job is not supported for"
        ' "jobset.x-k8s.io/v1alpha2, Kind=JobSet"'
    ]


def test_a_kind_without_a_group_is_named_as_go_names_it() -> None:
    made = thing("v1", "Pod", "p", annotations={f"{K}/elastic-job": "true"}, spec=pods()["spec"])
    assert refusals(made, framework="pod") == [
        f"metadata.annotations[{K}/elastic-job]: Forbidden: elastic job is not supported for"
        ' "/v1, Kind=Pod"'
    ]


WITHOUT_WORKLOAD = {"deployment", "leaderworkerset.x-k8s.io/leaderworkerset"}
"""Whose Workloads are not one for all of it."""


@pytest.mark.rule("FLOW-44")
@pytest.mark.rule("IMP-8")
def test_who_takes_a_workload_that_is_there() -> None:
    refusing = {name for name, kind in KINDS.items() if not kind.supports_prebuilt}
    assert refusing == WITHOUT_WORKLOAD
    assert refusals(JAX, framework="kubeflow.org/jaxjob") == []


@pytest.mark.rule("FLOW-44")
@pytest.mark.parametrize("framework", sorted(WITHOUT_WORKLOAD))
def test_who_has_no_one_workload_names_none(framework: str) -> None:
    kind = KINDS[framework]
    spec = {"template": pods(), "leaderWorkerTemplate": {"workerTemplate": pods()}}
    notes = {f"{K}/prebuilt-workload-name": "w"}
    api = kind.resource.api_version
    made = thing(api, kind.resource.kind, "s", annotations=notes, spec=spec)
    assert refusals(made, framework=framework) == [
        f"metadata.annotations[{K}/prebuilt-workload-name]: Forbidden: Is not supported for"
        f' "{api}, Kind={kind.resource.kind}"'
    ]


@pytest.mark.rule("STS-2")
def test_a_mirror_that_serves_may_name_its_workload() -> None:
    spec = {"template": {"metadata": {}, "spec": {"containers": []}}}
    notes = {f"{K}/prebuilt-workload-name": "w"}
    made = thing("apps/v1", "StatefulSet", "s", annotations=notes, spec=spec)
    assert refusals(made, framework="statefulset") == []


def changed(obj: Object, path: tuple[str, ...], value: Any) -> Object:
    return dict(paths.with_value(obj, path, value))


def running(**more: Any) -> Object:
    return job(spec={"suspend": False}, **more)


LABELS, ANNOTATIONS = ("metadata", "labels"), ("metadata", "annotations")
PRIORITY_PATH = f"metadata.labels[{K}/priority-class]"
CHANGES = {
    "the queue of a running job": (
        running(),
        (*LABELS, f"{K}/queue-name"),
        "other",
        f'{QUEUE_PATH}: Invalid value: "other": field is immutable',
    ),
    "the queue of a suspended job": (job(), (*LABELS, f"{K}/queue-name"), "other", ""),
    "the queue goes although there is a default": (
        job(),
        (*LABELS, f"{K}/queue-name"),
        "",
        f'{QUEUE_PATH}: Invalid value: "": queue-name must not be empty in namespace with default'
        " queue",
    ),
    "the time of a running job": (
        running(),
        (*LABELS, f"{K}/max-exec-time-seconds"),
        "5",
        f'{MAX_PATH}: Invalid value: "5": field is immutable',
    ),
    "the time of a suspended job": (job(), (*LABELS, f"{K}/max-exec-time-seconds"), "5", ""),
    "a class for a running job": (
        running(),
        (*LABELS, f"{K}/priority-class"),
        "high",
        f'{PRIORITY_PATH}: Invalid value: "high": WorkloadPriorityClass cannot be added to a'
        " non-suspended workload",
    ),
    "a class for a suspended job": (job(), (*LABELS, f"{K}/priority-class"), "high", ""),
    "another class for a running job": (
        running(labels={f"{K}/priority-class": "low"}),
        (*LABELS, f"{K}/priority-class"),
        "high",
        "",
    ),
    "no class any more": (
        job(labels={f"{K}/priority-class": "low"}),
        (*LABELS, f"{K}/priority-class"),
        "",
        f'{PRIORITY_PATH}: Invalid value: "": WorkloadPriorityClass cannot be removed from a'
        " workload",
    ),
    "prebuilt while it runs": (
        running(),
        (*ANNOTATIONS, f"{K}/prebuilt-workload-name"),
        "w",
        f'metadata.annotations[{K}/prebuilt-workload-name]: Invalid value: "w": field is immutable',
    ),
    "elastic later": (
        job(),
        (*ANNOTATIONS, f"{K}/elastic-job"),
        "true",
        f"metadata.annotations[{K}/elastic-job]: Invalid value: true: field is immutable",
    ),
    "a gate later": (
        job(),
        (*ANNOTATIONS, f"{K}/admission-gated-by"),
        "a.io/b",
        f"{GATE_PATH}: Forbidden: cannot add admission gate after creation",
    ),
    "another gate": (
        job(annotations={f"{K}/admission-gated-by": "a.io/b"}),
        (*ANNOTATIONS, f"{K}/admission-gated-by"),
        "a.io/b,a.io/c",
        f"{GATE_PATH}: Forbidden: can only remove gates, not add new ones",
    ),
}


@pytest.mark.parametrize(("old", "path", "value", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_what_is_refused_of_a_change(
    old: Object, path: tuple[str, ...], value: str, expected: str
) -> None:
    new = changed(old, path, value)
    found = refusals(new, local_queue("default"), old=old)
    assert found == ([expected] if expected else [])


def test_an_identifier_by_label_or_annotation() -> None:
    both = job(
        labels={f"{K}/prebuilt-workload-name": "Label"},
        annotations={f"{K}/prebuilt-workload-name": "Annotation"},
    )
    assert '"Annotation"' in refusals(both)[0]
    off = with_settings(identifier_annotations=False)
    assert '"Label"' in refusals(both, settings=off)[0]
