"""Metadata: names, labels, owners and finalizers, on create and on update."""

from typing import Any

import pytest

from fleetqueue.apiserver.builtin import objectmeta

GOOD = {"name": "a", "namespace": "default", "uid": "1", "resourceVersion": "5"}
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
ONE_CONTROLLER = (
    'Only one reference can have Controller set to true. Found "true" in references for A/a and B/b'
)
OWNER_A = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": True}
OWNER_B = {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": True}
BOTH = (
    '[{"apiVersion":"v1","kind":"A","name":"a","uid":"1","controller":true},'
    '{"apiVersion":"v1","kind":"B","name":"b","uid":"2","controller":true}]'
)

CREATED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all is well": ({}, []),
    "a prefix may end in a dash": ({"generateName": "job-"}, []),
    "no name": ({"name": ""}, ["metadata.name: Required value: name or generateName is required"]),
    "no namespace": ({"namespace": ""}, ["metadata.namespace: Required value"]),
    "a label key with a blank": (
        {"labels": {"a b": "c"}},
        [f'metadata.labels: Invalid value: "a b": {QUALIFIED}'],
    ),
    "an annotation key may be upper case": ({"annotations": {"A.B/c": "x y"}}, []),
    "annotations over 256 KiB": (
        {"annotations": {"a": "x" * 262144}},
        ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ),
    "an owner without anything": (
        {"ownerReferences": [{"apiVersion": "g/", "kind": "", "name": "", "uid": ""}]},
        [
            'metadata.ownerReferences.apiVersion: Invalid value: "g/": version must not be empty',
            'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
            'metadata.ownerReferences.name: Invalid value: "": must not be empty',
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ],
    ),
    "an Event as owner": (
        {"ownerReferences": [{"uid": "1", "name": "a", "kind": "Event", "apiVersion": "v1"}]},
        [
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event",'
            '"name":"a","uid":"1"}: /v1, Kind=Event is disallowed from being an owner'
        ],
    ),
    "two controllers": (
        {"ownerReferences": [OWNER_A, OWNER_B]},
        [f"metadata.ownerReferences: Invalid value: {BOTH}: {ONE_CONTROLLER}"],
    ),
    "both ways of deletion": (
        {"finalizers": ["orphan", "foregroundDeletion"]},
        [
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        ],
    ),
    "a manager with a tab": (
        {"managedFields": [{"operation": "Update", "manager": "a\tb"}]},
        [
            'metadata.managedFields[0].manager: Invalid value: "a\\tb": '
            "invalid character U+0009 (at position 1)"
        ],
    ),
}


@pytest.mark.parametrize(("change", "errors"), CREATED.values(), ids=CREATED.keys())
def test_metadata_of_a_new_object(change: dict[str, Any], errors: list[str]) -> None:
    assert [str(e) for e in objectmeta.validate_object_meta(GOOD | change, True)] == errors


def test_a_cluster_wide_object_has_no_namespace() -> None:
    errors = objectmeta.validate_object_meta(GOOD, namespaced=False)
    assert [str(e) for e in errors] == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_a_finalizer_of_a_built_in_kind_needs_a_domain() -> None:
    meta = GOOD | {"finalizers": ["kubernetes", "a.b/c", "plain"]}
    assert [str(e) for e in objectmeta.validate_builtin_meta(meta)] == [
        'metadata.finalizers[2]: Invalid value: "plain": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]


UPDATED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing changes": ({}, {}, []),
    "another uid": ({"uid": "2"}, {}, ['metadata.uid: Invalid value: "2": field is immutable']),
    "no resource version": (
        {"resourceVersion": ""},
        {},
        ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ),
    "a smaller generation": (
        {"generation": 1},
        {"generation": 2},
        ["metadata.generation: Invalid value: 1: must not be decremented"],
    ),
    "a finalizer more on a dying object": (
        {"finalizers": ["a/b", "a/c"], "deletionTimestamp": "t"},
        {"finalizers": ["a/b"], "deletionTimestamp": "t"},
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
            'deleted, found new finalizers []string{"a/c"}'
        ],
    ),
    "a deletion by update": (
        {"deletionTimestamp": "t"},
        {},
        ['metadata.deletionTimestamp: Invalid value: "t": field is immutable'],
    ),
}


@pytest.mark.parametrize(("new", "old", "errors"), UPDATED.values(), ids=UPDATED.keys())
def test_metadata_of_an_updated_object(
    new: dict[str, Any], old: dict[str, Any], errors: list[str]
) -> None:
    found = objectmeta.validate_object_meta_update(GOOD | new, GOOD | old)
    assert [str(e) for e in found] == errors
