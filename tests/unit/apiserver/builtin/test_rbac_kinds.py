"""Defaults and validation of RBAC kinds; messages as kube-apiserver gave them."""

from typing import Any

import pytest

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.builtin.rbac import STRATEGIES

GROUP = "rbac.authorization.k8s.io"
LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def errors(kind: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    strategy = STRATEGIES[GROUP, kind]
    found = strategy.validate_create(obj) if old is None else strategy.validate_update(obj, old)
    return [str(error) for error in found]


def bound(kind: str, **obj: Any) -> dict[str, Any]:
    made = {"roleRef": {"kind": "ClusterRole", "name": "r"}, **obj}
    STRATEGIES[GROUP, kind].default(made)
    return made


def test_bindings_get_the_api_group_of_rbac() -> None:
    subjects = [{"kind": kind, "name": "a"} for kind in ("User", "Group", "ServiceAccount")]
    obj = bound("RoleBinding", subjects=subjects)
    assert obj["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in obj["subjects"]] == [GROUP, GROUP, None]
    assert errors("RoleBinding", obj) == []


def test_rules_of_a_role_are_checked() -> None:
    urls = {"verbs": ["get"], "nonResourceURLs": ["/x"], "apiGroups": ["y"]}
    obj = {"rules": [{}, urls]}
    both = "rules cannot apply to both regular resources and non-resource URLs"
    assert errors("Role", obj) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
        'rules[1].nonResourceURLs: Invalid value: ["/x"]: '
        "namespaced rules cannot apply to non-resource URLs",
        f'rules[1].nonResourceURLs: Invalid value: ["/x"]: {both}',
    ]
    assert errors("ClusterRole", {"rules": [urls]}) == [
        f'rules[0].nonResourceURLs: Invalid value: ["/x"]: {both}'
    ]
    assert errors("ClusterRole", {"rules": None}) == []


def test_selectors_of_a_gathering_role_are_checked() -> None:
    path = "aggregationRule.clusterRoleSelectors"
    assert errors("ClusterRole", {"aggregationRule": {}}) == [
        f"{path}: Required value: at least one clusterRoleSelector required "
        "if aggregationRule is non-nil"
    ]
    obj = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b b"}}]}}
    wanted = [
        f'{path}[0].matchLabels: Invalid value: "b b": {LABEL}',
        f"{path}[0]: Invalid value: null: invalid label selector.",
    ]
    assert errors("ClusterRole", obj) == wanted
    assert errors("ClusterRole", obj, obj) == wanted + wanted
    expression = {"key": "a", "operator": "In", "values": ["b b"]}
    odd = {"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [expression]}]}}
    assert errors("ClusterRole", odd, odd) == wanted[1:] * 2


def test_bindings_are_checked() -> None:
    subjects = [
        {"kind": "User"},
        {"kind": "ServiceAccount", "name": "Big", "apiGroup": "x"},
        {"kind": "Group", "name": "a", "apiGroup": "y"},
        {"kind": "Wat", "name": "s"},
    ]
    role = {"kind": "Role", "name": "a/b", "apiGroup": "foo"}
    obj = bound("ClusterRoleBinding", roleRef=role, subjects=subjects)
    assert errors("ClusterRoleBinding", obj) == [
        f'roleRef.apiGroup: Unsupported value: "foo": supported values: "{GROUP}"',
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
        "subjects[0].name: Required value",
        f'subjects[1].name: Invalid value: "Big": {SUBDOMAIN}',
        'subjects[1].apiGroup: Unsupported value: "x": supported values: ""',
        "subjects[1].namespace: Required value",
        f'subjects[2].apiGroup: Unsupported value: "y": supported values: "{GROUP}"',
        'subjects[3].kind: Unsupported value: "Wat": '
        'supported values: "ServiceAccount", "User", "Group"',
    ]
    assert errors("RoleBinding", bound("RoleBinding", roleRef={})) == [
        'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
        "roleRef.name: Required value",
    ]


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRoleBinding"])
def test_the_role_of_a_binding_cannot_change(kind: str) -> None:
    old = bound(kind)
    assert errors(kind, bound(kind), old) == []
    new = bound(kind, roleRef={"kind": "ClusterRole", "name": "other"})
    assert errors(kind, new, old) == [
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"other"}}: '
        "cannot change roleRef"
    ]


def test_an_update_lists_each_cause_twice_but_says_it_once() -> None:
    strategy = STRATEGIES[GROUP, "Role"]
    found = strategy.validate_update({"rules": [{"verbs": ["get"], "apiGroups": [""]}]}, {})
    status = problems.invalid(GROUP, "Role", "r", found).status()
    assert len(status["details"]["causes"]) == 2
    assert status["message"].count("resource rules must supply") == 1


@pytest.mark.parametrize(("name", "wrong"), [
    ("system:controller:x", []),
    ("A b", []),
    ("..", ["may not be '..'"]),
    ("a/b%", ["may not contain '/'", "may not contain '%'"]),
])  # fmt: skip
def test_names_need_only_fit_into_a_url(name: str, wrong: list[str]) -> None:
    for strategy in STRATEGIES.values():
        assert strategy.validate_name is not None
        assert strategy.validate_name(name, False) == wrong
        assert strategy.allow_create_on_update
