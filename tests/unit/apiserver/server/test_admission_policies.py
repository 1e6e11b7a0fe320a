"""Validating admission policies on a server: who is looked at, through which binding, with which
parameters, and how a refusal reads.
"""

from typing import Any

import pytest

from .conftest import Api

Object = dict[str, Any]
GROUP = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
          "resources": ["configmaps"]}]  # fmt: skip
BINDING = {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "n"}}


async def bind(api: Api, *, policy: Object | None = None, **binding: Any) -> None:
    spec = {"matchConstraints": {"resourceRules": RULES},
            "validations": [{"expression": "has(object.data)", "message": "empty"}]}  # fmt: skip
    await api.post(f"{GROUP}/validatingadmissionpolicies",
                   {"metadata": {"name": "full"}, "spec": {**spec, **(policy or {})}})  # fmt: skip
    bound = {"policyName": "full", "validationActions": ["Deny"], **binding}
    await api.post(
        f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": "all"}, "spec": bound}
    )


async def test_a_refusal_names_the_policy_and_its_binding(api: Api) -> None:
    await bind(api)
    answer = await api.post(MAPS, {"metadata": {"name": "a"}})
    text = "ValidatingAdmissionPolicy 'full' with binding 'all' denied request: empty"
    assert (answer["code"], answer["reason"]) == (422, "Invalid")
    assert answer["message"] == f'configmaps "a" is forbidden: {text}'
    assert answer["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": text}]}
    assert (await api.post(MAPS, {"metadata": {"name": "a"}, "data": {"a": "1"}}))["data"]
    await api.delete(f"{GROUP}/validatingadmissionpolicybindings/all")
    assert (await api.post(MAPS, {"metadata": {"name": "b"}}))["kind"] == "ConfigMap"


async def test_a_policy_that_forbids_everything_can_be_taken_back(api: Api) -> None:
    every = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]
    policy = {"matchConstraints": {"resourceRules": every},
              "validations": [{"expression": "false"}]}  # fmt: skip
    await bind(api, policy=policy)
    assert (await api.post(MAPS, {"metadata": {"name": "a"}}))["code"] == 422
    assert (await api.delete(f"{GROUP}/validatingadmissionpolicies/full"))["status"] == "Success"
    assert (await api.post(MAPS, {"metadata": {"name": "a"}}))["kind"] == "ConfigMap"


async def test_parameters_that_are_missing_deny_or_are_not_needed(api: Api) -> None:
    policy = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    reference = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    await bind(api, policy=policy, paramRef=reference)
    answer = await api.post(MAPS, {"metadata": {"name": "a"}, "data": {"a": "1"}})
    assert answer["message"].endswith(
        "failed to configure binding: no params found for policy binding with `Deny`"
        " parameterNotFoundAction"
    )
    path = f"{GROUP}/validatingadmissionpolicybindings/all"
    allowed = {**reference, "parameterNotFoundAction": "Allow"}
    await api.patch(path, {"spec": {"paramRef": allowed}})
    assert (await api.post(MAPS, {"metadata": {"name": "a"}}))["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    ("resource", "path", "body", "named"),
    [
        ("serviceaccounts/token", "serviceaccounts/default/token", {"spec": {}}, "default"),
        ("pods/eviction", "pods/one/eviction", {"metadata": {"name": "one"}}, "one"),
        ("pods/binding", "pods/one/binding", BINDING, "one"),
        ("bindings", "bindings", BINDING, "one"),
    ],
)
async def test_what_is_asked_of_an_object_is_looked_at_too(
    api: Api, resource: str, path: str, body: Object, named: str
) -> None:
    home = "/api/v1/namespaces/default"
    spec = {"containers": [{"name": "a", "image": "x"}]}
    await api.post(f"{home}/pods", {"metadata": {"name": "one"}, "spec": spec})
    rules = [{**RULES[0], "resources": [resource]}]
    no = {"expression": "request.kind.kind == 'Pod'", "message": "no", "reason": "Forbidden"}
    await bind(api, policy={"matchConstraints": {"resourceRules": rules}, "validations": [no]})

    answer = await api.post(f"{home}/{path}", body)
    text = "ValidatingAdmissionPolicy 'full' with binding 'all' denied request: no"
    plural = resource.partition("/")[0]
    assert (answer["code"], answer["message"]) == (403, f'{plural} "{named}" is forbidden: {text}')
    await api.delete(f"{GROUP}/validatingadmissionpolicybindings/all")
    await api.post(f"{home}/{path}", body)
    assert api.status == 201


async def test_reviews_are_looked_at_whatever_namespace_they_are_about(api: Api) -> None:
    rule = {**RULES[0], "apiGroups": ["authorization.k8s.io"],
            "resources": ["localsubjectaccessreviews"]}  # fmt: skip
    no = {"expression": "object.spec.user != 'mia'", "message": "no", "reason": "Forbidden"}
    await bind(api, policy={"matchConstraints": {"resourceRules": [rule]}, "validations": [no]})

    path = "/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews"
    attributes = {"namespace": "nowhere", "verb": "get", "resource": "pods"}
    for user, status in (("mia", 403), ("noa", 201), ("", 422)):
        await api.post(path, {"spec": {"user": user, "resourceAttributes": attributes}})
        assert api.status == status
