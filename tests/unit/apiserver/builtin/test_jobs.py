"""Jobs: generated selectors, immutable fields, and the choices left to a suspended Job."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies
from fleetqueue.apiserver.builtin.job_policies import IndexesError, count_indexes, find_overlap

Object = dict[str, Any]
Make = Callable[..., Object]

JOB = strategies()["batch", "Job"]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GENERATED = {
    "batch.kubernetes.io/controller-uid": "f00d",
    "batch.kubernetes.io/job-name": "thing",
    "controller-uid": "f00d",
    "job-name": "thing",
}


def template(labels: Object | None = None, **pod: Any) -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]} | pod
    return {"metadata": {"labels": labels} if labels else {}, "spec": spec}


def test_a_job_of_one_line_becomes_whole(stored: Make) -> None:
    job = stored("batch", "Job", {"template": template()})
    spec = {name: value for name, value in job["spec"].items() if name != "template"}
    assert spec == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": False,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "f00d"}},
    }
    assert job["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert job["metadata"]["labels"] == GENERATED
    assert JOB.validate_create(job) == []


def test_labels_of_the_pods_become_the_jobs_unless_it_has_its_own(stored: Make) -> None:
    bare = stored("batch", "Job", {"template": template({"a": "b"})})
    named = stored("batch", "Job", {"template": template({"a": "b"})}, labels={"q": "r"})
    assert bare["metadata"]["labels"] == GENERATED | {"a": "b"}
    assert named["metadata"]["labels"] == {"q": "r"}


def test_a_manual_selector_is_left_alone(stored: Make) -> None:
    selector = {"matchLabels": {"a": "b"}}
    spec = {"manualSelector": True, "selector": selector, "template": template({"a": "b"})}
    job = stored("batch", "Job", spec)
    assert job["spec"]["selector"] == selector
    assert job["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    assert JOB.validate_create(job) == []


def test_retries_per_index_lift_the_limit_for_the_whole(stored: Make) -> None:
    spec = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1}
    job = stored("batch", "Job", spec | {"template": template()})
    assert job["spec"]["backoffLimit"] == 2**31 - 1


INDEXED = {"completionMode": "Indexed", "completions": 5}
IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}

REFUSED: dict[str, tuple[Object, list[str]]] = {
    "fewer than none": (
        {"parallelism": -1},
        ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "pods that always restart": (
        {"template": template(restartPolicy="Always")},
        ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ),
    "indexed without an end": (
        {"completionMode": "Indexed", "parallelism": 2},
        ["spec.completions: Required value: when completion mode is Indexed"],
    ),
    "a limit per index without indexes": (
        {"backoffLimitPerIndex": 1},
        [
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ],
    ),
    "a manager without a domain": (
        {"managedBy": "me"},
        [
            'spec.managedBy: Invalid value: "me": '
            'must be a domain-prefixed path (such as "acme.io/foo")'
        ],
    ),
    "failures counted while pods restart in place": (
        {"podFailurePolicy": IGNORED, "template": template(restartPolicy="OnFailure")},
        [
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
            'only "Never" is supported when podFailurePolicy is specified'
        ],
    ),
    "exit codes out of order": (
        {
            "podFailurePolicy": {
                "rules": [
                    {"action": "Count", "onExitCodes": {"operator": "In", "values": [3, 1, 1, 0]}}
                ]
            }
        },
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[3]: Invalid value: 0: "
            "must not be 0 for the In operator",
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,1,1,0]: "
            "must be ordered",
        ],
    ),
    "a rule about nothing": (
        {"podFailurePolicy": {"rules": [{"action": ""}]}},
        [
            "spec.podFailurePolicy.rules[0].action: Required value: "
            'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
            "spec.podFailurePolicy.rules[0]: Invalid value: "
            "specifying one of OnExitCodes and OnPodConditions is required",
        ],
    ),
    "success without rules": (
        INDEXED | {"successPolicy": {"rules": []}},
        [
            "spec.successPolicy.rules: Required value: "
            "at least one rules must be specified when the successPolicy is specified"
        ],
    ),
    "more successes than indexes": (
        INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]}},
        [
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or "
            "equal to 2 (the number of indexes in the specified succeededIndexes field)"
        ],
    ),
    "success of a plain job": (
        {"successPolicy": {"rules": [{"succeededCount": 1}]}},
        [
            'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,'
            '"SucceededCount":1}]}: requires indexed completion mode'
        ],
    ),
    "a selector that the server did not make": (
        {"selector": {"matchLabels": {"a": "b"}}, "template": template({"a": "b"})},
        [
            'spec.selector: Invalid value: {"matchLabels":{"a":"b",'
            '"batch.kubernetes.io/controller-uid":"f00d"}}: `selector` not auto-generated'
        ],
    ),
}


@pytest.mark.parametrize(("given", "errors"), REFUSED.values(), ids=REFUSED.keys())
def test_a_job_is_refused(stored: Make, given: Object, errors: list[str]) -> None:
    job = stored("batch", "Job", {"template": template()} | given)
    assert [str(error) for error in JOB.validate_create(job)] == errors


def test_an_indexed_job_needs_a_name_that_fits_its_hosts(stored: Make) -> None:
    job = stored("batch", "Job", INDEXED | {"template": template()}, name="a.b")
    assert [str(error) for error in JOB.validate_create(job)] == [
        'metadata.name: Invalid value: "a.b": '
        "will not able to create pod with invalid DNS label: a.b-4"
    ]


NODES = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": []}]}}}
FRIENDS = {"podAffinity": {REQUIRED: [{"topologyKey": "z", "labelSelector": {}}]}}
POD = "spec/template/spec"

# name: (spec, changes, the fields that must not change)
UPDATES: dict[str, tuple[Object, Object, list[str]]] = {
    "more at once": ({}, {"spec/parallelism": 3}, []),
    "more in all": ({}, {"spec/completions": 3}, ["spec.completions"]),
    "pause": ({}, {"spec/suspend": True}, []),
    "time to live": ({}, {"spec/ttlSecondsAfterFinished": 9}, []),
    "another manager": ({}, {"spec/managedBy": "a.b/c"}, ["spec.managedBy"]),
    "another mode": ({}, {"spec/completionMode": "Indexed"}, ["spec.completionMode"]),
    "another image": ({}, {f"{POD}/containers/0/image": "j"}, ["spec.template"]),
    "both counts of an indexed job": (
        INDEXED | {"parallelism": 5},
        {"spec/completions": 7, "spec/parallelism": 7},
        [],
    ),
    "one count of an indexed job": (
        INDEXED | {"parallelism": 5},
        {"spec/completions": 7},
        ["spec.completions"],
    ),
    "a running job's nodes": ({}, {f"{POD}/nodeSelector": {"a": "b"}}, ["spec.template"]),
    "a suspended job's nodes": (
        {"suspend": True},
        {f"{POD}/nodeSelector": {"a": "b"}, f"{POD}/affinity": NODES, "spec/suspend": False},
        [],
    ),
    "a suspended job's tolerations, gates and labels": (
        {"suspend": True},
        {
            f"{POD}/tolerations": [{"key": "a", "operator": "Exists"}],
            f"{POD}/schedulingGates": [{"name": "g"}],
            "spec/template/metadata/labels": GENERATED | {"x": "y"},
            "spec/template/metadata/annotations": {"x": "y"},
        },
        [],
    ),
    "a suspended job's friends": (
        {"suspend": True},
        {f"{POD}/affinity": FRIENDS},
        ["spec.template"],
    ),
    "a suspended job's image": (
        {"suspend": True},
        {f"{POD}/containers/0/image": "j"},
        ["spec.template"],
    ),
}


@pytest.mark.parametrize(("spec", "changes", "refused"), UPDATES.values(), ids=UPDATES.keys())
def test_what_may_change(
    stored: Make, change: Make, spec: Object, changes: Object, refused: list[str]
) -> None:
    old = stored("batch", "Job", {"template": template()} | spec)
    new = change(old, changes)
    JOB.default(new)
    JOB.prepare_update(new, old)
    errors = JOB.validate_update(new, old)
    immutable = [error.path for error in errors if "immutable" in error.detail]
    tandem = [error.path for error in errors if "tandem" in error.detail]
    assert immutable + tandem == refused


def test_a_job_that_once_started_keeps_its_nodes(stored: Make, change: Make) -> None:
    old = stored("batch", "Job", {"template": template(), "suspend": True})
    old["status"] = {"startTime": "2026-01-01T00:00:00Z"}
    new = change(old, {f"{POD}/nodeSelector": {"a": "b"}})
    assert [error.path for error in JOB.validate_update(new, old)] == ["spec.template"]


def test_a_changed_template_is_printed_as_the_server_holds_it(stored: Make, change: Make) -> None:
    old = stored("batch", "Job", {"template": template()})
    (error,) = JOB.validate_update(change(old, {f"{POD}/hostname": "h"}), old)
    assert error.value.startswith(
        '{"labels":{"batch.kubernetes.io/controller-uid":"f00d",'
        '"batch.kubernetes.io/job-name":"thing","controller-uid":"f00d","job-name":"thing"},'
    )
    assert '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c"' in error.value
    assert error.detail == "field is immutable"


def test_warnings_come_with_the_name_and_the_template(stored: Make) -> None:
    pods = template(nodeSelector={"beta.kubernetes.io/os": "linux"})
    job = stored("batch", "Job", {"template": pods}, name="a.b")
    assert JOB.warnings(job, None) == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
        "behavior; a DNS label is recommended: [must not contain dots]",
        "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: "
        'deprecated since v1.14; use "kubernetes.io/os" instead',
    ]
    assert JOB.warnings(job, job) == []


def test_indexes_are_counted() -> None:
    assert count_indexes("", 9) == 0
    assert count_indexes("1,3-5,8", 9) == 5


# fmt: off
BAD_INDEXES = {
    "a":     'cannot convert string to integer for index: "a"',
    "9":     'too large index: "9"',
    "3,1":   "non-increasing order, previous: 3, current: 1",
    "3-1":   "non-increasing order, previous: 3, current: 1",
    "1-2-3": 'the fragment "1-2-3" violates the requirement that an index interval '
             "can have at most two parts separated by '-'",
}
# fmt: on


@pytest.mark.parametrize(("text", "message"), BAD_INDEXES.items())
def test_indexes_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(IndexesError) as problem:
        count_indexes(text, 9)
    assert str(problem.value) == message


def test_overlap_of_indexes() -> None:
    assert find_overlap("0-2,5", "3-4,6", 9) is None
    assert find_overlap("0-2,5", "4-6", 9) == 5
