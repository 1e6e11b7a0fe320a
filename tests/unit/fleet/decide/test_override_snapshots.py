"""The snapshots of an override: when there is a new one, and which go."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.override_snapshots import Next, metadata, plan, spec_hash

Json = dict[str, Any]
pytestmark = pytest.mark.rule("OVR-1")
SPEC: Json = {
    "policy": {
        "overrideRules": [
            {
                "jsonPatchOverrides": [
                    {"value": "east", "path": "/metadata/labels/where", "op": "add"}
                ],
                "overrideType": "JSONPatch",
                "clusterSelector": {
                    "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "east"}}}]
                },
            }
        ]
    },
    "placement": {"scope": "Cluster", "name": "override"},
    "clusterResourceSelectors": [
        {
            "group": "",
            "kind": "Namespace",
            "name": "c6n",
            "selectionScope": "NamespaceWithResources",
            "version": "v1",
        }
    ],
}


def snapshot(index: int, spec: Json, *, latest: bool = True) -> Json:
    made = metadata("o", index)
    made["labels"]["kubernetes-fleet.io/is-latest-snapshot"] = "true" if latest else "false"
    return {"metadata": made, "spec": {"overrideHash": spec_hash(spec)}}


def test_the_hash_is_the_one_that_kubefleet_writes() -> None:
    assert spec_hash(SPEC) == (
        "M2MxOGYwOGFmNmM4OTE1MGY5YjcyMWI4ODhkNzgwYWI1NTJkZjVlMWY5NjQ4MTk2ODNlNmNiYzNmMTUxZjA0YQ=="
    )


def test_the_first_snapshot_has_the_index_zero() -> None:
    assert plan(SPEC, []) == Next(index=0)
    assert metadata("c6n-cro", 0) == {
        "name": "c6n-cro-0",
        "labels": {
            "kubernetes-fleet.io/parent-resource-override": "c6n-cro",
            "kubernetes-fleet.io/is-latest-snapshot": "true",
            "kubernetes-fleet.io/override-index": "0",
        },
    }


def test_an_unchanged_override_needs_nothing() -> None:
    known = [snapshot(0, {}, latest=False), snapshot(1, SPEC)]
    assert plan(SPEC, known) == Next()


def test_a_changed_one_gets_the_next_index_and_the_old_one_is_unmarked() -> None:
    old = snapshot(9, {})
    assert plan(SPEC, [old]) == Next(unmark=(old,), index=10)


def test_going_back_makes_a_new_snapshot() -> None:
    assert plan(SPEC, [snapshot(0, SPEC, latest=False), snapshot(1, {})]).index == 2


def test_ten_are_kept() -> None:
    known = [snapshot(index, {}, latest=index == 12) for index in range(12, 2, -1)]
    made = plan(SPEC, known)
    assert [each["metadata"]["name"] for each in made.drop] == ["o-3"]
    assert made.index == 13


def test_what_a_crash_left_half_done_is_finished() -> None:
    unmarked = snapshot(1, SPEC, latest=False)
    assert plan(SPEC, [unmarked]).mark == unmarked
    old = snapshot(0, {})
    assert plan(SPEC, [old, snapshot(1, SPEC)]).unmark == (old,)
