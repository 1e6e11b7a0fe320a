"""The recorded defaults, how they meet what exists, and the roles that gather others."""

from typing import Any

import pytest

from fleetqueue.apiserver.access.aggregation import gathered_rules, outdated
from fleetqueue.apiserver.access.attributes import Attributes
from fleetqueue.apiserver.access.policy import AUTOUPDATE, defaults, reconcile
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.users import ANONYMOUS, User
from fleetqueue.base import codec

GET_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST_PODS = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}, "rules": list(rules)}


def gatherer(name: str, *selectors: dict[str, Any]) -> dict[str, Any]:
    return {**role(name), "aggregationRule": {"clusterRoleSelectors": list(selectors)}}


@pytest.fixture(scope="module")
def started() -> Rbac:
    """A server that has just started, its gathering roles up to date."""
    policy, rbac = defaults(), Rbac()
    roles = {item["metadata"]["name"]: item for item in policy.cluster_roles}
    while changes := outdated(roles.values()):
        for name, rules in changes.items():
            roles[name]["rules"] = rules
    for items in (policy.cluster_roles, policy.cluster_role_bindings):
        for item in items:
            rbac.role_changed(item["kind"], "", item["metadata"]["name"], item)
    return rbac


def test_the_defaults_are_those_of_kube_apiserver() -> None:
    policy = defaults()
    assert [len(items) for items in policy] == [68, 49, 7, 7]
    for item in (item for items in policy for item in items):
        assert item["apiVersion"] == "rbac.authorization.k8s.io/v1"
        assert item["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
        assert item["metadata"]["annotations"] == {AUTOUPDATE: "true"}
    assert policy.cluster_roles[0]["metadata"]["name"] == "cluster-admin"
    assert {item["metadata"]["namespace"] for item in policy.roles} == {
        "kube-system",
        "kube-public",
    }


@pytest.mark.parametrize(("user", "verb", "path", "allowed"), [
    (ANONYMOUS,                                       "get", "/version", True),
    (ANONYMOUS,                                       "get", "/healthz", True),
    (ANONYMOUS,                                       "get", "/api",     False),
    (ANONYMOUS,                                       "get", "/openapi/v3", False),
    (User("a", groups=("system:authenticated",)),     "get", "/api",     True),
    (User("a", groups=("system:authenticated",)),     "get", "/openapi/v3", True),
    (User("a", groups=("system:authenticated",)),     "get", "/metrics", False),
    (User("a", groups=("system:monitoring",)),        "get", "/metrics", True),
])  # fmt: skip
def test_nobody_anonymous_gets_past_health_and_version(
    started: Rbac, user: User, verb: str, path: str, allowed: bool
) -> None:
    asked = Attributes(user, verb, path=path, is_resource_request=False)
    assert started.allowed(asked).allowed is allowed


def test_the_gathering_roles_hold_what_they_gather() -> None:
    roles = defaults().cluster_roles
    changes = outdated(roles)
    assert set(changes) == {"admin", "edit", "view"}
    view = changes["view"]
    assert any("pods" in rule["resources"] for rule in view)
    assert {verb for rule in view for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_rules_are_gathered_by_name_without_repeats() -> None:
    labels = {"x": "y"}
    roles = [
        role("b", LIST_PODS, GET_PODS, labels=labels),
        role("a", GET_PODS, labels=labels),
        role("c", {"verbs": ["*"]}, labels={"x": "z"}),
    ]
    all_of_them = gatherer("all", {"matchLabels": labels}, {"matchLabels": labels})
    assert gathered_rules(all_of_them, [*roles, all_of_them]) == [GET_PODS, LIST_PODS]
    assert gathered_rules(gatherer("none"), roles) == []
    assert gathered_rules(role("plain"), roles) is None
    odd = gatherer("odd", {"matchExpressions": [{"key": "x", "operator": "Wat"}]})
    assert gathered_rules(odd, roles) is None
    everything = gatherer("b", {})
    assert gathered_rules(everything, roles) == [GET_PODS, {"verbs": ["*"]}]


class TestReconcile:
    def test_a_missing_object_is_made(self) -> None:
        default = role("x", GET_PODS)
        change = reconcile(None, default)
        assert change is not None
        assert (change.obj, change.recreate) == (default, False)
        assert change.obj is not default

    def test_missing_rules_and_metadata_are_added_and_others_stay(self) -> None:
        mine = role("x", LIST_PODS, labels={"mine": "1", "l": "kept"}, uid="u")
        default = role("x", GET_PODS, LIST_PODS, labels={"l": "new"}, annotations={"a": "b"})
        change = reconcile(mine, default)
        assert change is not None
        assert change.obj["rules"] == [LIST_PODS, GET_PODS]
        assert change.obj["metadata"] == {
            "name": "x",
            "labels": {"mine": "1", "l": "kept"},
            "uid": "u",
            "annotations": {"a": "b"},
        }
        assert reconcile(change.obj, default) is None

    def test_who_opts_out_is_left_alone(self) -> None:
        mine = role("x", annotations={AUTOUPDATE: "false"})
        assert reconcile(mine, role("x", GET_PODS)) is None

    def test_gathering_is_added_and_removed(self) -> None:
        wanted = gatherer("x", {"matchLabels": {"a": "b"}})
        change = reconcile(role("x"), wanted)
        assert change is not None
        assert change.obj["aggregationRule"] == wanted["aggregationRule"]
        back = reconcile(change.obj, role("x"))
        assert back is not None
        assert "aggregationRule" not in back.obj

    def test_bindings_gain_subjects_and_are_made_anew_for_another_role(self) -> None:
        def bound(role_name: str, *users: str) -> dict[str, Any]:
            subjects = [{"kind": "User", "name": user} for user in users]
            return {**role("b"), "roleRef": {"name": role_name}, "subjects": subjects}

        change = reconcile(bound("r", "a"), bound("r", "b", "a"))
        assert change is not None
        assert [subject["name"] for subject in change.obj["subjects"]] == ["a", "b"]
        anew = reconcile(bound("other", "a"), bound("r", "b"))
        assert anew is not None
        assert anew.recreate
        assert anew.obj == bound("r", "b")

    def test_a_second_start_changes_nothing(self) -> None:
        policy = defaults()
        for item in (item for items in policy for item in items):
            assert reconcile(codec.copy(item), item) is None
