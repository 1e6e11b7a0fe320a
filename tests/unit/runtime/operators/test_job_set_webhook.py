"""What a JobSet is given when it is written, and why one is refused."""

import copy
from typing import Any

import pytest
from tests.support import operators
from tests.support.job_sets import job_set, replicated

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators.job_set_webhook import WEBHOOK, default, validate

pytestmark = [pytest.mark.rule("jobs B.3.1"), pytest.mark.rule("jobs D.1")]

LONG = "a" * 60
COORDINATOR = {"replicatedJob": "a"}


def check(obj: Object, *others: Object) -> list[str]:
    return operators.texts(validate(operators.asked(obj, None, *others)))


def plain(text: str) -> str:
    return f"<nil>: Internal error: {text}"


def test_what_is_not_said_gets_a_default() -> None:
    obj: Object = {
        "metadata": {"name": "x"},
        "spec": {
            "replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": {}}}}}],
            "failurePolicy": {"rules": [{"action": "FailJobSet"}, {"name": "mine"}]},
            "volumeClaimPolicies": [{}],
        },
    }
    default(operators.asked(obj))
    spec = obj["spec"]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert job == {
        "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "OnFailure"}},
    }
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["startupPolicy"] == {"startupPolicyOrder": "AnyOrder"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    rules = spec["failurePolicy"]["rules"]
    assert [rule["name"] for rule in rules] == ["failurePolicyRule0", "mine"]
    assert spec["volumeClaimPolicies"] == [{"retentionPolicy": {"whenDeleted": "Delete"}}]
    assert "suspend" not in spec


def test_what_is_said_stays() -> None:
    network = {"enableDNSHostnames": False, "publishNotReadyAddresses": False}
    obj = job_set(replicated("a", job={"completionMode": "NonIndexed"}), network=network)
    before = copy.deepcopy(obj)
    default(operators.asked(obj))
    assert obj == before
    assert obj["spec"]["network"] == network


def test_a_plain_jobset_is_welcome() -> None:
    assert check(job_set(replicated("a", 3), replicated("b"))) == []
    assert (WEBHOOK.name, WEBHOOK.defaults_updates) == ("vjobset.kb.io", False)


DNS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("replicated_jobs", "spec", "expected"),
    [
        (
            [replicated("a", dependsOn=[{"name": "a", "status": "Ready"}])],
            {},
            [plain("DependsOn can't be set for the first ReplicatedJob")],
        ),
        (
            [replicated("a"), replicated("b", dependsOn=[{"name": "c", "status": "Ready"}])],
            {},
            [plain("replicatedJob: b cannot depend on replicatedJob: c")],
        ),
        (
            [replicated("a")],
            {"network": {"subdomain": "1x"}},
            [f'spec.network.subdomain: Invalid value: "1x": {DNS}'],
        ),
        (
            [replicated("a")],
            {"network": {"subdomain": "a" * 64}},
            [
                f'spec.network.subdomain: Invalid value: "{"a" * 64}": '
                ".spec.network.subdomain is too long, must be less than 63 characters"
            ],
        ),
        (
            [replicated("a", 2, job={"parallelism": 2**30})],
            {},
            [
                plain(
                    "the product of replicas and parallelism must not exceed 2147483647 for "
                    "replicatedJob 'a'"
                )
            ],
        ),
        (
            [replicated("a")],
            {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["x"]}},
            [plain("invalid replicatedJob name 'x' does not appear in .spec.ReplicatedJobs")],
        ),
        (
            [replicated("a")],
            {"managedBy": "me"},
            [
                'spec.managedBy: Invalid value: "me": must be a domain-prefixed path '
                '(such as "acme.io/foo")'
            ],
        ),
        (
            [replicated("a")],
            {"coordinator": {"replicatedJob": "x"}},
            [plain("coordinator replicatedJob x does not exist")],
        ),
        (
            [replicated("a")],
            {"coordinator": {**COORDINATOR, "jobIndex": 1}},
            [plain("coordinator job index 1 is invalid for replicatedJob a")],
        ),
        (
            [replicated("a", job={"completionMode": "NonIndexed"})],
            {"coordinator": COORDINATOR},
            [
                plain(
                    "job for coordinator pod must be indexed completion mode, and completions "
                    "number must be set"
                )
            ],
        ),
        (
            [replicated("a")],
            {"coordinator": {**COORDINATOR, "podIndex": 1}},
            [plain("coordinator pod index 1 is invalid for replicatedJob a job index 0")],
        ),
        (
            [replicated("a")],
            {"failurePolicy": {"restartStrategy": "InPlaceRestart"}},
            [
                plain(
                    "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature "
                    "gate is disabled"
                )
            ],
        ),
    ],
)
def test_a_wrong_jobset_is_refused(
    replicated_jobs: list[Object], spec: dict[str, Any], expected: list[str]
) -> None:
    assert check(job_set(*replicated_jobs, **spec)) == expected


@pytest.mark.parametrize(
    ("name", "what"), [("a" * 60, ("job", "pod")), ("a" * 53, ("pod",)), ("a" * 50, ())]
)
def test_a_name_must_leave_room_for_those_made_from_it(name: str, what: tuple[str, ...]) -> None:
    expected = [
        f'spec.replicatedJobs[0].name: Invalid value: "{name}-w-9": JobSet name is too long, '
        f"{each} names generated for this JobSet will exceed 63 characters"
        for each in what
    ]
    assert check(job_set(replicated("w", 10), name=name)) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            [{"name": "x", "action": "FailJobSet", "targetReplicatedJobs": ["z"]}],
            "invalid replicatedJob name 'z' in failure policy does not appear in "
            ".spec.ReplicatedJobs",
        ),
        (
            [{"name": "x", "action": "FailJobSet", "onJobFailureReasons": ["Bad"]}],
            "invalid job failure reason 'Bad' in failure policy is not a recognized job failure "
            "reason",
        ),
        (
            [{"name": "x", "action": "FailJobSet"}] * 2,
            "rule names are not unique, rules with indices [0 1] all have the same name 'x'",
        ),
        (
            [{"name": "x", "action": "RestartJob"}],
            "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed "
            "when RestartJob feature gate is disabled",
        ),
        (
            [{"name": "1", "action": "FailJobSet"}],
            "invalid failure policy rule name '1', a failure policy rule name must start with an "
            "alphabetic character, optionally followed by a string of alphanumeric characters or "
            "'_,:', and must end with an alphanumeric character or '_'",
        ),
    ],
)
def test_a_wrong_failure_policy_is_refused(rules: list[Object], expected: str) -> None:
    assert check(job_set(replicated("a"), failurePolicy={"rules": rules})) == [plain(expected)]


def claimed(name: str = "data", *, mounts: bool = True, **policy: Any) -> Object:
    worker = replicated("a")
    if mounts:
        container = worker["template"]["spec"]["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": name, "mountPath": "/x"}]
    template = {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    return job_set(worker, volumeClaimPolicies=[{"templates": [template], **policy}])


def test_a_claim_must_be_mounted_somewhere() -> None:
    assert check(claimed()) == []
    [error] = check(claimed(mounts=False))
    assert error.endswith(
        "replicatedJob containers don't have a matching volumeMount: data from VolumeClaimPolicies"
    )


def test_a_claim_that_exists_must_be_retained_and_be_as_wanted() -> None:
    there = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-train", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteMany"], "volumeMode": "Filesystem"},
    }
    spec_error, policy_error = check(claimed(), there)
    assert spec_error.endswith("spec does not match existing PVC data-train in namespace default")
    assert policy_error == (
        'spec.volumeClaimPolicies[0].retentionPolicy.whenDeleted: Invalid value: "Delete": '
        "retentionPolicy must be retain when PVC exists"
    )
    there["spec"] = {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}
    assert check(claimed(retentionPolicy={"whenDeleted": "Retain"}), there) == []


def change(obj: Object, path: list[Any], value: Any) -> Object:
    changed = copy.deepcopy(obj)
    at: Any = changed["spec"]
    for step in path[:-1]:
        at = at[step] if isinstance(step, int) else at.setdefault(step, {})
    at[path[-1]] = value
    return changed


POD = ["replicatedJobs", 0, "template", "spec", "template"]
FREE = [
    ([*POD, "metadata", "labels"], {"a": "b"}),
    ([*POD, "metadata", "annotations"], {"a": "b"}),
    ([*POD, "spec", "nodeSelector"], {"a": "b"}),
    ([*POD, "spec", "tolerations"], [{"operator": "Exists"}]),
    ([*POD, "spec", "schedulingGates"], [{"name": "a/b"}]),
]


@pytest.mark.parametrize(("path", "value"), FREE)
@pytest.mark.parametrize(
    ("was", "becomes", "is_free"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_some_of_a_template_is_free_while_it_is_or_was_suspended(
    path: list[Any], value: Any, was: bool, becomes: bool, is_free: bool
) -> None:
    old = job_set(replicated("a"), suspend=was)
    new = change(change(old, path, value), ["suspend"], becomes)
    errors = operators.texts(validate(operators.asked(new, old)))
    assert (errors == []) is is_free
    for error in errors:
        assert error.startswith("spec.replicatedJobs: Invalid value: ")
        assert error.endswith(": field is immutable")


@pytest.mark.parametrize(
    "path_and_value",
    [([*POD, "spec", "priority"], 1), (["replicatedJobs", 0, "replicas"], 2)],
)
def test_the_rest_is_fixed_also_while_it_is_suspended(path_and_value: Any) -> None:
    old = job_set(replicated("a"), suspend=True)
    new = change(old, *path_and_value)
    [error] = operators.texts(validate(operators.asked(new, old)))
    assert error.endswith(": field is immutable")


def test_the_manager_is_fixed() -> None:
    old = job_set(replicated("a"))
    new = change(old, ["managedBy"], "kueue.x-k8s.io/multikueue")
    assert operators.texts(validate(operators.asked(new, old))) == [
        'spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable'
    ]
