"""The policy that lets any field manager nominate workers, for API servers that enforce such
policies: names of workers go when one of them is chosen, and when an eviction begins.
"""

from typing import Any

from fleetqueue.api.kueue.group import GROUP

Json = dict[str, Any]
API_GROUP = "admissionregistration.k8s.io"
KIND = "MutatingAdmissionPolicy"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
"""In which the kind is served, by Kubernetes 1.36 and before that where its gate is on."""
NAME = "clear-nominated-cluster-names"
_NEW, _OLD = "object.status", "oldObject.status"
_NOMINATED = f"has({_NEW}.nominatedClusterNames) && size({_NEW}.nominatedClusterNames) > 0"
_CHOSEN = (
    f"has(object.status) && has({_NEW}.clusterName) && {_NEW}.clusterName != '' && "
    f"(!has(oldObject.status) || !has({_OLD}.clusterName) || {_OLD}.clusterName == '')"
)


def objects(version: str = VERSIONS[0]) -> list[Json]:
    api_version = f"{API_GROUP}/{version}"
    return [{"apiVersion": api_version, **each} for each in (_policy(), _binding())]


def _policy() -> Json:
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": ["v1beta2"],
        "operations": ["UPDATE"],
        "resources": ["workloads", "workloads/status"],
    }
    conditions = [
        {"name": "nominated", "expression": f"has(object.status) && {_NOMINATED}"},
        {"name": "chosen-or-evicted", "expression": f"({_CHOSEN}) || ({_evicted()})"},
    ]
    patch = "[JSONPatch{op: 'replace', path: '/status/nominatedClusterNames', value: []}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    return {
        "kind": KIND,
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": conditions,
            "mutations": [mutation],
        },
    }


def _evicted() -> str:
    def says(whole: str) -> str:
        return (
            f"has({whole}.status) && has({whole}.status.conditions) && "
            f"{whole}.status.conditions.exists(c, c.type == 'Evicted' && c.status == 'True')"
        )

    return f"({says('object')}) && !({says('oldObject')})"


def _binding() -> Json:
    return {
        "kind": f"{KIND}Binding",
        "metadata": {"name": f"{NAME}-binding"},
        "spec": {"policyName": NAME},
    }
