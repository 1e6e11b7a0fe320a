"""Hundreds of decisions: roles made up from a seed, and reviews asked of both servers."""

import itertools
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.play import Player

NAMESPACES = ("matrix-a", "matrix-b")
USERS = ("ann", "ben", "system:serviceaccount:matrix-a:robot")
GROUPS = ((), ("crew",), ("crew", "guests"))
GROUPS_OF_API = ("", "apps", "*")
RESOURCES = ("pods", "pods/log", "deployments", "deployments/scale", "*/scale", "*")
VERBS = ("get", "list", "create", "*")
NAMES = ((), ("one",), ("one", "two"))
URLS = ("/healthz", "/logs/*", "/metrics", "*")
SEED = 7
ROLES = 14
_ROLES = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@pytest.fixture(scope="module")
def granted(reference: Player, ours: Player) -> Iterator[None]:
    """The same roles and bindings on both servers."""
    for player in (reference, ours):
        for path, body in _grants():
            answer = player.send("POST", path, body)
            assert answer.status in (201, 409), answer.body
    _wait_for_the_last_grant(reference)
    yield
    for player in (reference, ours):
        for path, body in _grants():
            player.send("DELETE", f"{path}/{body['metadata']['name']}")


@pytest.mark.parametrize("namespace", [*NAMESPACES, ""])
@pytest.mark.parametrize("user", USERS)
@pytest.mark.usefixtures("granted")
def test_both_servers_decide_alike(
    user: str, namespace: str, reference: Player, ours: Player
) -> None:
    differing = []
    for question in _questions(user, namespace):
        theirs, own = (_decision(player, question) for player in (reference, ours))
        if theirs != own:
            differing.append(f"{question}: kube-apiserver says {theirs}, we say {own}")
    assert not differing, "\n".join(differing)


@pytest.mark.usefixtures("granted")
def test_both_servers_decide_alike_about_urls(reference: Player, ours: Player) -> None:
    for user, path, verb in itertools.product(
        USERS, ("/healthz", "/logs/x/z", "/logs", "/metrics", "/nosuch"), ("get", "post")
    ):
        spec = {"user": user, "groups": ["crew"]}
        question = {**spec, "nonResourceAttributes": {"path": path, "verb": verb}}
        assert _decision(ours, question) == _decision(reference, question), question


def _grants() -> list[tuple[str, dict[str, Any]]]:
    draw = random.Random(SEED)
    grants: list[tuple[str, dict[str, Any]]] = [
        ("/api/v1/namespaces", {"metadata": {"name": name}}) for name in NAMESPACES
    ]
    for number in range(ROLES):
        grants += _grant(draw, number)
    last = _binding("matrix-last", "ClusterRole", "cluster-admin", "sentinel")
    return [*grants, (f"{_ROLES}/clusterrolebindings", last)]


def _grant(draw: random.Random, number: int) -> list[tuple[str, dict[str, Any]]]:
    name = f"matrix-{number}"
    is_cluster = draw.random() < 0.4
    rules = [_rule(draw, is_cluster) for _ in range(draw.randint(1, 3))]
    namespace = draw.choice(NAMESPACES)
    if not is_cluster:
        path = f"{_ROLES}/namespaces/{namespace}"
        binding = _binding(name, "Role", name, draw.choice([*USERS, "crew", "guests"]))
        role = {"metadata": {"name": name}, "rules": rules}
        return [(f"{path}/roles", role), (f"{path}/rolebindings", binding)]
    role = {"metadata": {"name": name}, "rules": rules}
    binding = _binding(name, "ClusterRole", name, draw.choice([*USERS, "crew", "guests"]))
    everywhere = draw.random() < 0.5
    path = f"{_ROLES}/clusterrolebindings"
    if not everywhere:
        path = f"{_ROLES}/namespaces/{namespace}/rolebindings"
    return [(f"{_ROLES}/clusterroles", role), (path, binding)]


def _rule(draw: random.Random, is_cluster: bool) -> dict[str, Any]:
    if is_cluster and draw.random() < 0.3:
        return {"nonResourceURLs": [draw.choice(URLS)], "verbs": [draw.choice(VERBS)]}
    rule: dict[str, Any] = {
        "apiGroups": draw.sample(GROUPS_OF_API, draw.randint(1, 2)),
        "resources": draw.sample(RESOURCES, draw.randint(1, 2)),
        "verbs": draw.sample(VERBS, draw.randint(1, 2)),
    }
    names = draw.choice(NAMES)
    return {**rule, "resourceNames": list(names)} if names else rule


def _binding(name: str, kind: str, role: str, subject: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    if subject.startswith("system:serviceaccount:"):
        _, _, namespace, account = subject.split(":")
        who = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
    elif subject in ("crew", "guests"):
        who = {"kind": "Group", "name": subject, "apiGroup": group}
    else:
        who = {"kind": "User", "name": subject, "apiGroup": group}
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [who],
    }


def _questions(user: str, namespace: str) -> Iterator[dict[str, Any]]:
    resources = (("", "pods", ""), ("", "pods", "log"), ("apps", "deployments", "scale"))
    for groups, (group, resource, part), verb, name in itertools.product(
        GROUPS, resources, ("get", "create"), ("", "one", "three")
    ):
        attributes = {
            "namespace": namespace,
            "group": group,
            "resource": resource,
            "subresource": part,
            "verb": verb,
            "name": name,
        }
        yield {"user": user, "groups": list(groups), "resourceAttributes": attributes}


def _decision(player: Player, spec: dict[str, Any]) -> dict[str, Any]:
    kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    answer = player.send("POST", _REVIEWS, {**kind, "spec": spec})
    status: dict[str, Any] = answer.json["status"]
    # Of several bindings of one kind that allow it, either server names whichever it finds first.
    return {**status, "reason": status.get("reason", "").partition(' "')[0]}


def _wait_for_the_last_grant(reference: Player) -> None:
    """kube-apiserver learns of bindings a little after they are stored, in their order."""
    question = {"user": "sentinel", "resourceAttributes": {"verb": "get", "resource": "x"}}
    ends_at = time.monotonic() + 20
    while not _decision(reference, question)["allowed"]:
        assert time.monotonic() < ends_at, "the bindings did not take effect"
        time.sleep(0.05)
