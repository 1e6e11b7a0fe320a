"""The policy that clears names of workers, by its own expressions."""

from typing import Any

import pytest

from fleetqueue.api.kueue import policies
from fleetqueue.apiserver import cel

Json = dict[str, Any]
NAMED = {"nominatedClusterNames": ["w1", "w2"]}


def evicted(status: str) -> Json:
    return {"conditions": [{"type": "Evicted", "status": status}]}


@pytest.mark.rule("DISP-33", "I15")
@pytest.mark.parametrize(
    ("old", "new", "clears"),
    [
        pytest.param(NAMED, {**NAMED, "clusterName": "w1"}, True, id="one is chosen"),
        pytest.param(
            {**NAMED, "clusterName": ""}, {**NAMED, "clusterName": "w1"}, True, id="after none"
        ),
        pytest.param(None, {**NAMED, "clusterName": "w1"}, True, id="without any status before"),
        pytest.param(NAMED, {**NAMED, **evicted("True")}, True, id="an eviction begins"),
        pytest.param(
            {**NAMED, **evicted("False")}, {**NAMED, **evicted("True")}, True, id="another one"
        ),
        pytest.param(evicted("True"), {**NAMED, **evicted("True")}, False, id="it goes on"),
        pytest.param({"clusterName": "w1"}, {**NAMED, "clusterName": "w1"}, False, id="it was"),
        pytest.param({}, NAMED, False, id="names come"),
        pytest.param({}, {"clusterName": "w1"}, False, id="there are no names"),
        pytest.param(None, None, False, id="nothing at all"),
    ],
)
def test_names_go_when_one_is_chosen_and_when_an_eviction_begins(
    old: Json | None, new: Json | None, clears: bool
) -> None:
    policy, _ = policies.objects()
    variables = {"object": cel.DYN, "oldObject": cel.DYN}
    values = {"object": _with(new), "oldObject": _with(old)}
    said = [
        cel.compile(each["expression"], variables).evaluate(values)
        for each in policy["spec"]["matchConditions"]
    ]
    assert all(said) is clears


def _with(status: Json | None) -> Json:
    return {} if status is None else {"status": status}


@pytest.mark.rule("DISP-33")
def test_the_policy_is_bound_and_strict() -> None:
    policy, binding = policies.objects()
    spec = policy["spec"]
    assert {each["apiVersion"] for each in (policy, binding)} == {"admissionregistration.k8s.io/v1"}
    assert (spec["failurePolicy"], spec["reinvocationPolicy"]) == ("Fail", "Never")
    [rule] = spec["matchConstraints"]["resourceRules"]
    assert (rule["operations"], rule["apiVersions"]) == (["UPDATE"], ["v1beta2"])
    assert rule["resources"] == ["workloads", "workloads/status"]
    assert binding["metadata"]["name"] == "clear-nominated-cluster-names-binding"
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
