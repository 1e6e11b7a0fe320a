"""Whom a changed object concerns."""

from typing import Any

import pytest
from tests.support.held import entries

from fleetqueue.api.meta import Key
from fleetqueue.fleet.decide.interests import Interests, matters

pytestmark = pytest.mark.rule("SEL-6")
Json = dict[str, Any]


def term(kind: str, name: str = "", group: str = "", **more: Any) -> Json:
    named = {"name": name} if name else {}
    return {"group": group, "version": "v1", "kind": kind, **named, **more}


def obj(name: str, namespace: str = "", **labels: str) -> Json:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


def interests() -> Interests:
    made = Interests()
    placements = {
        "whole": [term("Namespace", "web")],
        "only": [term("Namespace", "web", selectionScope="NamespaceOnly")],
        "by-label": [term("Namespace", labelSelector={"matchLabels": {"team": "a", "tier": "1"}})],
        "any-role": [term("ClusterRole", group="rbac.authorization.k8s.io")],
        "some": [
            term("Namespace", "web", selectionScope="NamespaceWithResourceSelectors"),
            term("ConfigMap", "conf"),
        ],
    }
    for name, terms in placements.items():
        made.put(Key("", name), terms)
    made.put(Key("web", "rp"), [term("ConfigMap", labelSelector={"matchLabels": {"app": "x"}})])
    made.put(Key("db", "rp"), [term("ConfigMap", "conf")])
    return made


CASES: dict[str, tuple[str, str, Json, Json | None, str]] = {
    "the namespace": ("", "Namespace", obj("web"), None, "whole only some"),
    "a namespace by label": ("", "Namespace", obj("x", team="a", tier="1"), None, "by-label"),
    "one label is not enough": ("", "Namespace", obj("x", team="a"), None, ""),
    "what is in it": ("", "Secret", obj("s", "web"), obj("web"), "whole"),
    "what is in one by label": (
        "",
        "Secret",
        obj("s", "x"),
        obj("x", team="a", tier="1"),
        "by-label",
    ),
    "a selected object in it": ("", "ConfigMap", obj("conf", "web"), obj("web"), "whole some"),
    "an object of an RP": ("", "ConfigMap", obj("c", "web", app="x"), obj("web"), "whole web/rp"),
    "the same elsewhere": ("", "ConfigMap", obj("conf", "db"), obj("db"), "db/rp"),
    "every object of a kind": (
        "rbac.authorization.k8s.io",
        "ClusterRole",
        obj("r"),
        None,
        "any-role",
    ),
    "a kind that nobody wants": ("", "PersistentVolume", obj("p"), None, ""),
    "its namespace is gone": ("", "Secret", obj("s", "web"), None, "whole"),
}


@pytest.mark.parametrize(
    ("group", "kind", "changed", "home", "whom"), CASES.values(), ids=CASES.keys()
)
def test_an_object_concerns_who_selects_it(
    group: str, kind: str, changed: Json, home: Json | None, whom: str
) -> None:
    assert {str(key) for key in interests().of(group, kind, changed, home)} == set(whom.split())


def test_selectors_that_change_concern_no_longer() -> None:
    made = interests()
    for name in ("whole", "only", "some"):
        made.put(Key("", name), [term("ClusterRole", "r", "rbac.authorization.k8s.io")])
    made.drop(Key("", "by-label"))
    made.drop(Key("web", "rp"))
    assert not made.of("", "Namespace", obj("web"), None)
    assert not made.of("", "Namespace", obj("x", team="a", tier="1"), None)
    assert not made.of("", "ConfigMap", obj("c", "web", app="x"), obj("web"))
    found = made.of("rbac.authorization.k8s.io", "ClusterRole", obj("r"), None)
    assert {str(key) for key in found} == {"whole", "only", "some", "any-role"}


@pytest.mark.rule("SEL-3")
def test_a_kind_that_comes_concerns_all_who_name_it_and_whole_namespaces() -> None:
    made = interests()
    found = made.of_kind("", "ConfigMap", is_namespaced=True)
    assert {str(key) for key in found} == {"some", "web/rp", "db/rp", "whole", "by-label"}
    roles = made.of_kind("rbac.authorization.k8s.io", "ClusterRole", is_namespaced=False)
    assert {str(key) for key in roles} == {"any-role"}


BASE = {"metadata": {"name": "a", "uid": "1", "resourceVersion": "1"}, "spec": {"x": 1}}


CHANGES = {
    "its status": ({**BASE, "status": {"ready": 1}}, False),
    "its version": ({**BASE, "metadata": {**BASE["metadata"], "resourceVersion": "2"}}, False),
    "who manages it": ({**BASE, "metadata": {**BASE["metadata"], "managedFields": [1]}}, False),
    "its spec": ({**BASE, "spec": {"x": 2}}, True),
    "a label": ({**BASE, "metadata": {**BASE["metadata"], "labels": {"a": "b"}}}, True),
    "it is going": ({**BASE, "metadata": {**BASE["metadata"], "deletionTimestamp": "t"}}, True),
    "it is another of that name": ({**BASE, "metadata": {**BASE["metadata"], "uid": "2"}}, True),
    "it is gone": (None, True),
}


@pytest.mark.parametrize(("now", "does"), CHANGES.values(), ids=CHANGES.keys())
def test_only_what_members_could_see_matters(now: Json | None, does: bool) -> None:
    assert matters(BASE, now) is does


def test_a_selector_that_makes_no_sense_hinders_nobody_else() -> None:
    made = Interests()
    bad = {"matchExpressions": [{"key": "x", "operator": "In"}]}
    made.put(Key("web", "bad"), [term("ConfigMap", labelSelector=bad)])
    made.put(Key("web", "good"), [term("ConfigMap", labelSelector={})])
    assert made.of("", "ConfigMap", obj("conf", "web"), None) == {Key("web", "good")}


def test_placements_that_went_leave_nothing_behind() -> None:
    made = interests()
    before = entries(made), made.of_kind("", "ConfigMap", is_namespaced=True)
    key = Key("run", "rp")
    for kind in ("Secret", "ConfigMap", "Deployment"):
        made.put(key, [term(kind, "one"), term(kind, "two"), term(kind)])
        assert made.of("", kind, obj("one", "run"), None) == {key}
    made.drop(key)

    assert (entries(made), made.of_kind("", "ConfigMap", is_namespaced=True)) == before
