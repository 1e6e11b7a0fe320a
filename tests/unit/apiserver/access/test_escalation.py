"""Who may write which role and binding; messages as kube-apiserver gave them."""

from typing import Any

import pytest

from fleetqueue.api.meta import Key
from fleetqueue.apiserver.access.escalation import check_write
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.users import MASTERS, User
from fleetqueue.apiserver.problems import ApiError

ALICE = User("alice", groups=("dev", "system:authenticated"))
POSTED = Key("", "")
RBAC = "rbac.authorization.k8s.io"
GET_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
ALL = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
ALL_URLS = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def rule(*verbs: str, resource: str, names: list[str] | None = None) -> dict[str, Any]:
    made = {"verbs": list(verbs), "apiGroups": [RBAC], "resources": [resource]}
    return {**made, "resourceNames": names} if names else made


def held(*rules: dict[str, Any], namespace: str = "") -> Rbac:
    rbac = Rbac()
    rbac.role_changed("ClusterRole", "", "mine", {"rules": list(rules)})
    rbac.role_changed("ClusterRole", "", "root", {"rules": [ALL, ALL_URLS]})
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    role = {"kind": "ClusterRole", "name": "mine"}
    subjects = [{"kind": "User", "name": "alice"}]
    rbac.role_changed(kind, namespace, "mine", {"roleRef": role, "subjects": subjects})
    return rbac


def role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "new"}, "rules": list(rules), **more}


def bind(name: str, kind: str = "ClusterRole") -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name}}


def asked_at(old: Any, namespace: str = "") -> Key:
    """What exists is written by its name, what is new is posted."""
    return Key(namespace, "new" if old is not None else "")


def refused(
    rbac: Rbac, kind: str, obj: dict[str, Any], namespace: str = "", old: Any = None
) -> str:
    with pytest.raises(ApiError) as caught:
        check_write(rbac, ALICE, kind, asked_at(old, namespace), obj, old)
    return f"{caught.value.code} {caught.value.message}"


def test_what_one_holds_one_may_give() -> None:
    check_write(held(GET_PODS), ALICE, "ClusterRole", POSTED, role(GET_PODS), None)
    check_write(held(GET_PODS, namespace="x"), ALICE, "Role", Key("x", ""), role(GET_PODS), None)
    check_write(held(GET_PODS), ALICE, "ClusterRoleBinding", POSTED, bind("mine"), None)


def test_what_one_lacks_one_may_not_give() -> None:
    wanted = {"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods"]}
    urls = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
    assert refused(held(GET_PODS), "ClusterRole", role(wanted, urls)) == (
        '403 clusterroles.rbac.authorization.k8s.io "new" is forbidden: '
        'user "alice" (groups=["dev" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )
    assert "not currently held" in refused(held(GET_PODS, namespace="x"), "Role", role(GET_PODS))


def test_binding_a_role_gives_its_rules() -> None:
    assert refused(held(GET_PODS), "RoleBinding", bind("root"), "x").endswith(
        'not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n'
        '{NonResourceURLs:["*"], Verbs:["*"]}'
    )


def test_unresolved_bindings_of_the_author_are_mentioned() -> None:
    rbac = held(GET_PODS)
    gone = {**bind("gone"), "subjects": [{"kind": "User", "name": "alice"}]}
    rbac.role_changed("ClusterRoleBinding", "", "zzz", gone)
    assert refused(rbac, "ClusterRole", role(ALL)).endswith(
        '; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    )


def test_a_missing_role_is_blamed_on_the_resource_of_the_request() -> None:
    text = '404 rolebindings.rbac.authorization.k8s.io "gone" not found'
    assert refused(held(GET_PODS), "RoleBinding", bind("gone"), "x") == text
    text = '500 unsupported role reference kind: "Wat"'
    assert refused(held(GET_PODS), "RoleBinding", bind("gone", "Wat"), "x") == text


ESCALATE = rule("escalate", resource="clusterroles")
ESCALATE_NEW = rule("escalate", resource="clusterroles", names=["new"])
BIND = rule("bind", resource="clusterroles")
CLUSTER_BINDING = "ClusterRoleBinding"


@pytest.mark.parametrize(("holds", "kind", "obj", "old", "allowed"), [
    (ESCALATE,                              "ClusterRole",   role(ALL),    None,   True),
    (ESCALATE_NEW,                          "ClusterRole",   role(ALL),    None,   False),
    (ESCALATE_NEW,                          "ClusterRole",   role(ALL),    role(), True),
    (rule("escalate", resource="roles"),    "ClusterRole",   role(ALL),    None,   False),
    (BIND,                                  CLUSTER_BINDING, bind("root"), None,   True),
    ({**BIND, "resourceNames": ["root"]},   CLUSTER_BINDING, bind("root"), None,   True),
    ({**BIND, "resourceNames": ["mine"]},   CLUSTER_BINDING, bind("root"), None,   False),
    (rule("bind", resource="roles"),        CLUSTER_BINDING, bind("root"), None,   False),
    (ESCALATE,                              CLUSTER_BINDING, bind("root"), None,   False),
])  # fmt: skip
def test_escalate_and_bind_lift_the_check(
    holds: dict[str, Any], kind: str, obj: Any, old: Any, allowed: bool
) -> None:
    if allowed:
        check_write(held(holds), ALICE, kind, asked_at(old), obj, old)
    else:
        assert refused(held(holds), kind, obj, old=old).startswith("403")


def test_only_who_may_do_anything_may_gather_rules() -> None:
    gathering = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    text = (
        '403 clusterroles.rbac.authorization.k8s.io "new" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule"
    )
    assert refused(held(GET_PODS), "ClusterRole", role(**gathering)) == text
    assert refused(held(GET_PODS), "ClusterRole", role(GET_PODS), old=role(**gathering)) == text
    check_write(held(ALL, ALL_URLS), ALICE, "ClusterRole", POSTED, role(**gathering), None)


def test_the_garbage_collector_may_write_what_it_collects_by() -> None:
    old = {"metadata": {"name": "new", "finalizers": ["x"]}, "rules": [ALL]}
    new = {"metadata": {"name": "new", "managedFields": [{}], "finalizers": []}, "rules": [ALL]}
    check_write(held(GET_PODS), ALICE, "ClusterRole", asked_at(old), new, old)
    labelled = {**new, "metadata": {**new["metadata"], "labels": {"a": "b"}}}
    assert refused(held(GET_PODS), "ClusterRole", labelled, old=old).startswith("403")


def test_masters_are_never_checked() -> None:
    check_write(Rbac(), User("root", groups=(MASTERS,)), "ClusterRole", POSTED, role(ALL), None)


def test_who_may_escalate_one_role_may_make_it_by_its_name() -> None:
    check_write(held(ESCALATE_NEW), ALICE, "ClusterRole", Key("", "new"), role(ALL), None)


def test_rules_of_too_many_combinations_are_refused_unless_one_rule_covers_them() -> None:
    many = [f"n{number}" for number in range(100)]
    wide = {"apiGroups": many, "resources": many, "verbs": many}
    text = refused(held(GET_PODS), "ClusterRole", role(wide))
    assert "403" in text
    assert "the rules name more than 20000 combinations" in text
    check_write(held(ALL), ALICE, "ClusterRole", POSTED, role(wide), None)
