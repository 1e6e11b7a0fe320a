"""Decisions, their reasons, and that they follow each change of a role or binding."""

from typing import Any

import pytest

from fleetqueue.apiserver.access.attributes import Attributes, Decision, refusal
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.users import ANONYMOUS, MASTERS, User

ALICE = User("alice", groups=("dev", "system:authenticated"))
ROBOT = User("system:serviceaccount:default:robot", groups=("system:serviceaccounts",))
READ_PODS = {"rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]}


def binding(role: str, *subjects: str, kind: str = "ClusterRole") -> dict[str, Any]:
    """Subjects as Kind:name or ServiceAccount:name/namespace."""
    made = []
    for subject in subjects:
        word, _, name = subject.partition(":")
        name, _, namespace = name.partition("/")
        made.append({"kind": word, "name": name, **({"namespace": namespace} if namespace else {})})
    return {"roleRef": {"kind": kind, "name": role}, "subjects": made}


def ask(rbac: Rbac, user: User, verb: str = "get", **more: Any) -> Decision:
    return rbac.allowed(Attributes(user, verb, **{"resource": "pods", **more}))


@pytest.fixture
def rbac() -> Rbac:
    made = Rbac()
    made.role_changed("ClusterRole", "", "reader", READ_PODS)
    return made


@pytest.mark.parametrize(("subject", "user", "said"), [
    ("User:alice",                    ALICE, 'User "alice"'),
    ("Group:dev",                     ALICE, 'Group "dev"'),
    ("ServiceAccount:robot/default",  ROBOT, 'ServiceAccount "robot/default"'),
    ("Group:system:serviceaccounts",  ROBOT, 'Group "system:serviceaccounts"'),
])  # fmt: skip
def test_a_cluster_role_binding_allows_everywhere(
    rbac: Rbac, subject: str, user: User, said: str
) -> None:
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("reader", "User:other", subject))
    why = f'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to {said}'
    assert ask(rbac, user, namespace="x") == (True, why)
    assert ask(rbac, user) == (True, why)
    assert not ask(rbac, user, "delete", namespace="x").allowed
    assert not ask(rbac, User("nobody"), namespace="x").allowed


def test_a_role_binding_allows_in_its_namespace_alone(rbac: Rbac) -> None:
    rbac.role_changed("RoleBinding", "default", "b", binding("reader", "ServiceAccount:robot"))
    why = (
        'RBAC: allowed by RoleBinding "b/default" of ClusterRole "reader" '
        'to ServiceAccount "robot/default"'
    )
    assert ask(rbac, ROBOT, namespace="default") == (True, why)
    assert not ask(rbac, ROBOT, namespace="other").allowed
    assert not ask(rbac, ROBOT).allowed


def test_a_service_account_without_a_namespace_means_nobody_in_a_cluster_role_binding(
    rbac: Rbac,
) -> None:
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("reader", "ServiceAccount:robot"))
    assert not ask(rbac, ROBOT, namespace="default").allowed


def test_named_resources_are_allowed_by_name_alone(rbac: Rbac) -> None:
    rule = {"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    rbac.role_changed("Role", "x", "one", {"rules": [rule]})
    rbac.role_changed("RoleBinding", "x", "b", binding("one", "User:alice", kind="Role"))
    assert ask(rbac, ALICE, namespace="x", name="a").allowed
    assert not ask(rbac, ALICE, namespace="x", name="b").allowed
    assert not ask(rbac, ALICE, "list", namespace="x").allowed


def test_paths_are_allowed_by_cluster_roles(rbac: Rbac) -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}
    rbac.role_changed("ClusterRole", "", "health", {"rules": [rule]})
    rbac.role_changed("ClusterRoleBinding", "", "h", binding("health", "Group:dev"))
    asked = {"path": "/healthz/ping", "is_resource_request": False}
    assert ask(rbac, ALICE, **asked).allowed
    assert not ask(rbac, ALICE, "post", **asked).allowed
    assert not ask(rbac, ANONYMOUS, **asked).allowed


def test_masters_may_do_anything_without_a_reason() -> None:
    assert ask(Rbac(), User("root", groups=(MASTERS,)), "anything") == (True, "")


def test_each_change_is_seen_at_once(rbac: Rbac) -> None:
    def allowed() -> bool:
        return ask(rbac, ALICE, namespace="x").allowed

    assert not allowed()
    rbac.role_changed("RoleBinding", "x", "b", binding("reader", "User:alice"))
    assert allowed()
    rbac.role_changed("ClusterRole", "", "reader", {"rules": None})
    assert not allowed()
    rbac.role_changed("ClusterRole", "", "reader", READ_PODS)
    assert allowed()
    rbac.role_changed("RoleBinding", "x", "b", binding("reader", "User:bob"))
    assert not allowed()
    rbac.role_changed("RoleBinding", "x", "c", binding("reader", "Group:dev"))
    assert allowed()
    rbac.role_changed("RoleBinding", "x", "c", None)
    assert not allowed()


def test_a_deleted_role_is_named_in_the_refusal(rbac: Rbac) -> None:
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("gone", "User:alice"))
    why = 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert ask(rbac, ALICE) == (False, why)
    rbac.role_changed("RoleBinding", "x", "b", binding("goner", "User:alice", kind="Role"))
    rbac.role_changed("RoleBinding", "x", "c", binding("goner", "User:alice", kind="Role"))
    assert ask(rbac, ALICE, namespace="x").reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "goner" not found]'
    )


def test_a_path_is_never_taken_for_a_resource_of_the_same_words() -> None:
    rbac = Rbac()
    rule = {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"]}
    rbac.role_changed("ClusterRole", "", "all", {"rules": [rule]})
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("all", "User:alice"))
    assert ask(rbac, ALICE, group="/metrics", resource="").allowed
    assert not ask(rbac, ALICE, path="/metrics", is_resource_request=False).allowed


@pytest.mark.parametrize(("asked", "message"), [
    ({"resource": "pods", "namespace": "default"},
     'pods is forbidden: User "alice" cannot get resource "pods" in API group "" '
     'in the namespace "default"'),
    ({"resource": "jobs", "group": "batch"},
     'jobs.batch is forbidden: User "alice" cannot get resource "jobs" in API group "batch" '
     'at the cluster scope'),
    ({"resource": "pods", "subresource": "log", "name": "a", "namespace": "x"},
     'pods "a" is forbidden: User "alice" cannot get resource "pods/log" in API group "" '
     'in the namespace "x"'),
    ({"path": "/metrics", "is_resource_request": False},
     'forbidden: User "alice" cannot get path "/metrics"'),
    ({"path": "/<b>", "is_resource_request": False},
     'forbidden: User "alice" cannot get path "/&lt;b&gt;"'),
])  # fmt: skip
def test_a_refusal_says_who_may_not_do_what(asked: dict[str, Any], message: str) -> None:
    error = refusal(Attributes(ALICE, "get", **asked))
    assert (error.code, error.message) == (403, message)
    assert refusal(Attributes(ALICE, "get", **asked), "why").message == f"{message}: why"


def test_the_caches_stay_small(rbac: Rbac, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetqueue.apiserver.access.rbac._CACHE_MAX", 10)
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("reader", "User:alice"))
    assert all(ask(rbac, ALICE, namespace=f"n{number}").allowed for number in range(50))
    assert len(rbac._access) <= 10
    assert len(rbac._grants) <= 10


def test_long_questions_are_answered_and_not_remembered(rbac: Rbac) -> None:
    rbac.role_changed("ClusterRoleBinding", "", "b", binding("reader", "User:alice"))
    long = "x" * 100_000
    assert not ask(rbac, ALICE, resource=long).allowed
    assert ask(rbac, ALICE, namespace=long).allowed
    path = Attributes(ALICE, "get", path=f"/{long}", is_resource_request=False)
    assert not rbac.allowed(path).allowed
    crowd = User("eve", groups=(long,))
    assert not ask(rbac, crowd).allowed
    kept = [*rbac._access, *rbac._grants]
    assert all(len(str(key)) < 2_000 for key in kept)
