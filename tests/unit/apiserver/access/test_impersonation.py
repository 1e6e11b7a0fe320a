"""Whom a request acts as; answers as kube-apiserver gave them."""

from typing import Any

import pytest

from fleetqueue.apiserver.access.attributes import Attributes, Decision
from fleetqueue.apiserver.access.impersonation import resolve
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError

ROOT = User("root", groups=("system:masters",))


def anything(attributes: Attributes) -> Decision:
    return Decision(True)


def only(*allowed: str) -> Any:
    """Allows `resource[/subresource] [namespace/]name` lines, and nothing else."""

    def authorize(attributes: Attributes) -> Decision:
        assert attributes.verb == "impersonate"
        where = f"{attributes.namespace}/" if attributes.namespace else ""
        asked = f"{attributes.combined_resource} {where}{attributes.name}"
        return Decision(asked in allowed, "" if asked in allowed else "RBAC: no")

    return authorize


@pytest.mark.parametrize(("headers", "user"), [
    ({}, ROOT),
    ({"accept": "x"}, ROOT),
    ({"impersonate-user": "bob"}, User("bob", groups=("system:authenticated",))),
    ({"Impersonate-User": "bob"}, User("bob", groups=("system:authenticated",))),
    ({"impersonate-user": "bob", "impersonate-group": ["g1", "g2"], "impersonate-uid": "5"},
     User("bob", "5", ("g1", "g2", "system:authenticated"))),
    ({"impersonate-user": "bob", "impersonate-group": "system:unauthenticated"},
     User("bob", groups=("system:unauthenticated",))),
    ({"impersonate-user": "system:anonymous"},
     User("system:anonymous", groups=("system:unauthenticated",))),
    ({"impersonate-user": "system:serviceaccount:default:x"},
     User("system:serviceaccount:default:x",
          groups=("system:serviceaccounts", "system:serviceaccounts:default",
                  "system:authenticated"))),
    ({"impersonate-user": "system:serviceaccount:default:x", "impersonate-group": "g"},
     User("system:serviceaccount:default:x", groups=("g", "system:authenticated"))),
    ({"impersonate-user": "bob", "Impersonate-Extra-Foo%2Fbar": ["b", "c"]},
     User("bob", groups=("system:authenticated",), extra={"foo/bar": ("b", "c")})),
])  # fmt: skip
def test_a_request_acts_as_whom_it_asks_for(headers: dict[str, Any], user: User) -> None:
    assert resolve(headers, ROOT, anything) == user


ALL_PARTS = {
    "impersonate-user": "bob",
    "impersonate-group": "g",
    "impersonate-uid": "5",
    "impersonate-extra-scope": "s",
}
ALLOWED = ("users bob", "groups g", "uids 5", "userextras/scope s")


def test_each_part_needs_its_permission() -> None:
    assert resolve(ALL_PARTS, ROOT, only(*ALLOWED)).name == "bob"
    for missing in ALLOWED:
        with pytest.raises(ApiError) as caught:
            resolve(ALL_PARTS, ROOT, only(*(set(ALLOWED) - {missing})))
        assert caught.value.code == 403
        assert caught.value.message.endswith("at the cluster scope: RBAC: no")


def test_a_service_account_is_asked_for_in_its_namespace() -> None:
    headers = {"impersonate-user": "system:serviceaccount:default:x"}
    assert resolve(headers, ROOT, only("serviceaccounts default/x")).name.endswith(":x")
    with pytest.raises(ApiError) as caught:
        resolve(headers, ROOT, only("users system:serviceaccount:default:x"))
    assert caught.value.message == (
        'serviceaccounts "x" is forbidden: User "root" cannot impersonate resource '
        '"serviceaccounts" in API group "" in the namespace "default": RBAC: no'
    )


def test_a_name_that_no_service_account_can_have_is_a_user() -> None:
    name = "system:serviceaccount:Default:x"
    assert resolve({"impersonate-user": name}, ROOT, only(f"users {name}")).name == name


def test_groups_without_a_user_are_an_error_in_plain_text() -> None:
    headers = {
        "impersonate-group": "x",
        "impersonate-uid": "5",
        "impersonate-extra-foo%2fbar": "b",
    }
    with pytest.raises(ApiError) as caught:
        resolve(headers, ROOT, anything, "/api/v1/pods")
    assert caught.value.code == 500
    assert caught.value.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert caught.value.message == (
        'Internal Server Error: "/api/v1/pods": requested [{Group  x    } '
        "{UserExtra  b  authentication.k8s.io/v1  foo/bar} "
        "{UID  5  authentication.k8s.io/v1  }] without impersonating a user\n"
    )
