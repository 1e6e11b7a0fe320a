"""What a rule allows, and which rules cover which."""

import pytest

from fleetqueue.apiserver.access.attributes import Attributes
from fleetqueue.apiserver.access.rules import Rule, compact, uncovered
from fleetqueue.apiserver.access.users import User

ALICE = User("alice")
PODS = Rule(("get", "list"), ("",), ("pods",))


@pytest.mark.parametrize(("rule", "verb", "group", "resource", "subresource", "allowed"), [
    (PODS,                                       "get",    "",     "pods", "",       True),
    (PODS,                                       "watch",  "",     "pods", "",       False),
    (PODS,                                       "get",    "apps", "pods", "",       False),
    (PODS,                                       "get",    "",     "pods", "log",    False),
    (Rule(("*",), ("*",), ("*",)),               "delete", "x.io", "any",  "status", True),
    (Rule(("get",), ("",), ("pods/log",)),       "get",    "",     "pods", "log",    True),
    (Rule(("get",), ("",), ("*/log",)),          "get",    "",     "pods", "log",    True),
    (Rule(("get",), ("",), ("*/log",)),          "get",    "",     "pods", "",       False),
    (Rule(("get",), ("",), ("pods/*",)),         "get",    "",     "pods", "log",    False),
    (Rule(("get",), (), ("pods",)),              "get",    "",     "pods", "",       False),
])  # fmt: skip
def test_a_rule_allows_a_resource(
    rule: Rule, verb: str, group: str, resource: str, subresource: str, allowed: bool
) -> None:
    asked = Attributes(ALICE, verb, group, "v1", resource, subresource)
    assert rule.allows_resource(asked) is allowed


@pytest.mark.parametrize(("url", "path", "allowed"), [
    ("/metrics",  "/metrics",   True),
    ("/metrics",  "/metrics/x", False),
    ("/api/*",    "/api/v1",    True),
    ("/api/*",    "/api",       False),
    ("*",         "/anything",  True),
    ("/a*",       "/abc",       True),
    ("/logs/**",  "/logs/x",    True),
])  # fmt: skip
def test_a_rule_allows_a_path(url: str, path: str, allowed: bool) -> None:
    assert Rule(("get",), urls=(url,)).allows_path("get", path) is allowed
    assert not Rule(("get",), urls=(url,)).allows_path("post", path)


ONE_POD = Rule(("get",), ("",), ("pods",), ("a",))
GET_PODS = Rule(("get",), ("",), ("pods",))


@pytest.mark.parametrize(("owned", "wanted", "covered"), [
    ([PODS], PODS, True),
    ([GET_PODS, Rule(("list",), ("",), ("pods",))], PODS, True),
    ([GET_PODS], PODS, False),
    ([Rule(("*",), ("*",), ("*",))], Rule(("x",), ("a", "b"), ("c", "d/e")), True),
    ([Rule(("get",), ("",), ("*/log",))], Rule(("get",), ("",), ("pods/log",)), True),
    ([Rule(("get",), ("",), ("*",))], Rule(("get",), ("",), ("pods/log",)), True),
    ([GET_PODS], Rule(("get",), ("",), ("*",)), False),
    ([ONE_POD], GET_PODS, False),
    ([GET_PODS], ONE_POD, True),
    ([ONE_POD], ONE_POD._replace(names=("a", "b")), False),
    ([Rule(("get",), urls=("/api/*",))], Rule(("get",), urls=("/api/v1", "/api/*")), True),
    ([Rule(("get",), urls=("/api/v1",))], Rule(("get",), urls=("/api/*",)), False),
    ([], Rule((), ("",), ("pods",)), True),
])  # fmt: skip
def test_rules_cover_rules(owned: list[Rule], wanted: Rule, covered: bool) -> None:
    assert (not uncovered(owned, [wanted])) is covered


def test_uncovered_pieces_are_said_once_for_each_resource() -> None:
    wanted = Rule(("get", "list"), ("", "apps"), ("pods",))
    missing = compact(uncovered([Rule(("get",), ("",), ("pods",))], [wanted]))
    assert [str(rule) for rule in missing] == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
    ]


def test_a_rule_survives_encoding() -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    assert Rule.decode(rule).encode() == rule
    assert Rule.decode({"verbs": None}).encode() == {"verbs": []}


def test_pieces_are_joined_however_many_there_are() -> None:
    verbs = tuple(f"v{number}" for number in range(10_000))
    [joined] = compact(uncovered([], [Rule(verbs, ("",), ("pods",))]))
    assert joined == Rule(verbs, ("",), ("pods",))
