"""Values as KubeFleet's messages print them."""

import pytest

from fleetqueue.api.fleet import text

ROLE = {"group": "g", "version": "v1", "kind": "ClusterRole", "name": "n"}


def test_selectors():
    scope = {"selectionScope": "NamespaceWithResources"}
    assert text.resource_selector(ROLE | scope) == (
        "{Group:g Version:v1 Kind:ClusterRole Name:n LabelSelector:nil"
        " SelectionScope:NamespaceWithResources}"
    )
    assert text.override_selector(ROLE) == "{Group:g Version:v1 Kind:ClusterRole Name:n}"
    assert text.cluster_selector_term({}) == (
        "{LabelSelector:nil PropertySelector:<nil> PropertySorter:<nil>}"
    )
    assert " PropertySorter:0x" in text.cluster_selector_term({"propertySorter": {}})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, "nil"),
        (
            {"matchLabels": {"b": "2", "a": "1"}},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
            "MatchExpressions:[]LabelSelectorRequirement{},}",
        ),
        (
            {"matchExpressions": [{"key": "test-key", "operator": "In"}]},
            "&LabelSelector{MatchLabels:map[string]string{},"
            "MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:test-key,Operator:In,Values:[],},},}",
        ),
        (
            {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a", "b"]}]},
            "&LabelSelector{MatchLabels:map[string]string{},"
            "MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:k,Operator:In,Values:[a b],},},}",
        ),
    ],
)
def test_label_selectors(selector, expected):
    assert text.label_selector(selector) == expected


def test_patches_show_their_value_as_json():
    assert text.json_patch({"op": "remove", "path": "/a/b", "value": "x"}) == '{remove /a/b {"x"}}'
    assert text.json_patch({"op": "remove", "path": "/a/b"}) == "{remove /a/b {}}"
    mixed = {"op": "add", "path": "/a", "value": {"b": 1, "a": [{"d": 1, "c": 2}]}}
    assert text.json_patch(mixed) == '{add /a {{"a":[{"c":2,"d":1}],"b":1}}}'


def test_taints_and_tolerations():
    toleration = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
    assert text.toleration(toleration) == "{Key:k Operator:Equal Value:v Effect:NoSchedule}"
    assert text.taint(toleration) == "{Key:k Value:v Effect:NoSchedule}"


def test_identities():
    assert text.kind("", "v1", "Pod") == "/v1, Kind=Pod"
    assert text.kind("apps", "v1", "Deployment") == "apps/v1, Kind=Deployment"
    assert text.object_name("", "x") == "/x"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}
    assert text.owner_references([owner]) == (
        "[{APIVersion:v1 Kind:Pod Name:x UID:u Controller:<nil> BlockOwnerDeletion:<nil>}]"
    )


def test_of_many_groups_only_three_show():
    assert text.groups(["a", "b", "c"]) == "groups: [a b c]"
    assert text.groups([str(n) for n in range(10)]) == "groups: [0 1 2 3 4 5 6 7 8 9]"
    assert text.groups([str(n) for n in range(11)]) == "groups: [0, 1, 2,......]"


def test_whose_error_it_is():
    assert text.client_error("why") == ("failed to process the request due to a client error: why")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "x"),
        (None, "<nil>"),
        (True, "true"),
        (3, "3"),
        (2.5, "2.5"),
        (-0.25, "-0.25"),
        (1234567.5, "1.2345675e+06"),
        (0.00001, "1e-05"),
        ({"b": 2, "a": [1, None]}, "map[a:[1 <nil>] b:2]"),
        ([], "[]"),
        ({}, "map[]"),
        (["x", "y"], "[x y]"),
    ],
)
def test_json_values_look_as_in_go(value, expected):
    assert text.value(value) == expected
