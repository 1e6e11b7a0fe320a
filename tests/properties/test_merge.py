"""What holds for every merge: twice is once, and nothing that is handed in ever changes."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from fleetqueue.api.kubernetes import definitions
from fleetqueue.apiserver.merge import (
    entries,
    field_sets,
    managed,
    shapes,
    typed,
    typed_merge,
)
from fleetqueue.apiserver.merge.apply import apply
from fleetqueue.apiserver.merge.managed import track_update
from fleetqueue.apiserver.merge.strategic import strategic_merge
from fleetqueue.apiserver.merge.typed_compare import compare
from fleetqueue.apiserver.schema.node import Node

Object = dict[str, Any]

HERE = Path(__file__).parent
SCHEMA = HERE.parent / "unit" / "apiserver" / "merge" / "widget_schema.json"
WIDGET = Node(json.loads(SCHEMA.read_text()))
POD = Node(definitions()["io.k8s.api.core.v1.Pod"], definitions())

words = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from([2, 80, 443])


def fields(**each: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=each)


def keyed(name: str, keys: st.SearchStrategy[Any], **each: Any) -> st.SearchStrategy[list[Object]]:
    item = st.fixed_dictionaries({name: keys}, optional=each)
    return st.lists(item, min_size=1, max_size=4, unique_by=lambda found: found[name])


anything = st.recursive(
    words | numbers,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(words, below, max_size=2),
    max_leaves=4,
)
# Nobody owns an empty list that is not atomic, so such a list has no part in these laws.
specs = fields(
    n=numbers,
    s=words,
    set=st.lists(words, min_size=1, unique=True),
    atomic=st.lists(words),
    amap=st.dictionaries(words, words),
    any=anything,
    mm=st.dictionaries(words, fields(p=words, q=words)),
    items=keyed("name", words, v=words, sub=fields(a=numbers, c=numbers)),
    ports=keyed("port", numbers, note=words),
)


@st.composite
def widgets(draw: st.DrawFn) -> Object:
    metadata: Object = {"name": "w", **draw(fields(labels=st.dictionaries(words, words)))}
    named = {"apiVersion": "t.io/v1", "kind": "T", "metadata": metadata}
    return {**named, **draw(fields(spec=specs))}


def applied(live: Object | None, obj: Object, manager: str = "me", **more: Any) -> Object:
    asked: Any = {"subresource": "", "force": True, "now": "2026-01-01T00:00:00Z", **more}
    return apply(live, obj, WIDGET, manager=manager, **asked)


def stored(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "uid": "u"}}


def content(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "metadata"}


@given(widgets(), widgets())
def test_applying_twice_is_applying_once(live: Object, obj: Object) -> None:
    once = applied(stored(applied(None, live, "other")), obj)
    # An object of which nobody owns anything counts as one that was never applied to.
    assume("managedFields" in once["metadata"])
    assert applied(once, obj, now="2030-01-01T00:00:00Z") == once


@given(widgets(), widgets())
def test_what_one_applied_alone_goes_when_nothing_is_applied(one: Object, other: Object) -> None:
    base = stored(applied(None, other, "other"))
    after = applied(base, one, force=True)
    nothing = {**one, "metadata": {"name": "w"}}
    nothing.pop("spec", None)
    left = applied(stored(after), nothing)
    managers = [e["manager"] for e in left["metadata"].get("managedFields", [])]
    assert "me" not in managers


@given(widgets())
def test_nothing_is_left_of_what_was_applied_and_dropped(obj: Object) -> None:
    bare = {key: obj[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "w"}}
    made = applied(None, obj)
    left = applied(stored(made), bare)
    for entry in made["metadata"].get("managedFields", []):
        found = typed.field_set(left, shapes.of(WIDGET))
        assert not field_sets.intersection(entry["fieldsV1"], found)


@given(widgets(), widgets())
def test_a_merge_is_idempotent_and_changes_no_input(live: Object, obj: Object) -> None:
    before = copy.deepcopy((live, obj))
    shape = shapes.of(WIDGET)
    merged = typed_merge.merge(live, obj, shape)
    assert typed_merge.merge(merged, obj, shape) is merged
    assert (live, obj) == before


@given(widgets(), widgets())
def test_everything_applied_is_in_the_object_and_owned(live: Object, obj: Object) -> None:
    after = applied(stored(applied(None, live, "other")), obj)
    entries = {e["manager"]: e["fieldsV1"] for e in after["metadata"].get("managedFields", [])}
    assert compare(after, typed_merge.merge(after, obj, shapes.of(WIDGET)), shapes.of(WIDGET)) == (
        {},
        {},
        {},
    )
    for manager, owned in entries.items():
        found = typed.field_set(after, shapes.of(WIDGET))
        named = typed.with_named_fields(found, shapes.of(WIDGET))
        if manager == "me":
            assert not field_sets.difference(owned, named)


@given(widgets(), widgets())
def test_an_update_owns_exactly_what_it_changed(live: Object, new: Object) -> None:
    asked: Any = {"api_version": "t.io/v1", "subresource": "", "now": "2026-01-01T00:00:00Z"}
    managed = track_update(None, live, WIDGET, manager="old", **asked)
    base = stored({**live, "metadata": {**live["metadata"], "managedFields": managed}})
    before = copy.deepcopy((base, new))
    entries = track_update(base, stored(new), WIDGET, manager="new", **asked)
    assert (base, new) == before
    owned = {e["manager"]: e["fieldsV1"] for e in entries}
    assert not field_sets.intersection(owned.get("old", {}), owned.get("new", {}))
    if not managed:
        assert entries == []


@given(widgets(), widgets(), widgets())
def test_field_sets_obey_the_laws_of_sets(a: Object, b: Object, c: Object) -> None:
    one, two, three = (typed.field_set(value, shapes.of(WIDGET)) for value in (a, b, c))
    assert str(field_sets.union(one, two)) == str(field_sets.union(two, one))
    left = field_sets.union(one, field_sets.union(two, three))
    assert str(left) == str(field_sets.union(field_sets.union(one, two), three))
    both = field_sets.intersection(one, two)
    assert field_sets.union(field_sets.difference(one, two), both) == one
    assert not field_sets.intersection(field_sets.difference(one, two), two)
    assert str(field_sets.canonical(left)) == str(left)
    assert all(field_sets.has(left, path) for path in field_sets.paths(one))


containers = keyed("name", words, image=words, env=keyed("name", words, value=words))
pods = fields(
    metadata=fields(labels=st.dictionaries(words, words), finalizers=st.lists(words, unique=True)),
    spec=fields(containers=containers, nodeSelector=st.dictionaries(words, words)),
)


@given(pods, pods)
def test_a_strategic_patch_is_idempotent_and_changes_no_input(pod: Object, patch: Object) -> None:
    before = copy.deepcopy((pod, patch))
    once = strategic_merge(pod, patch, POD)
    assert strategic_merge(once, patch, POD) == once
    assert (pod, patch) == before


@given(widgets() | pods)
def test_whoever_creates_owns_what_filling_an_empty_object_would_give(obj: Object) -> None:
    new = {"apiVersion": "t.io/v1", "kind": "T", "metadata": {"name": "w", "uid": "u"}} | obj
    me = entries.owner("me", entries.UPDATE, "t.io/v1", "")
    for node, reset in itertools.product((WIDGET, POD), (None, {"f:spec": {"f:n": {}}})):
        target = managed.aim(node, "t.io/v1", reset, None)
        try:
            filled = managed.updated(managed.empty(new), new, {}, target, me, "now")
        except typed.TypedError:
            continue
        assert managed.created(new, target, me, "now") == filled
