"""Validating admission policies on a server: who is looked at, through which binding, with which
parameters, and how a refusal reads.
"""

from typing import Any

from .conftest import Api

Object = dict[str, Any]
GROUP = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
          "resources": ["configmaps"]}]  # fmt: skip


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
