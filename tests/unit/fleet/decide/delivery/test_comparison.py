"""How differences are found and told."""

from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import comparison

Details = list[dict[str, str]]


def thing(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def one(path: str, *, hub: str = "", member: str = "") -> dict[str, str]:
    told = {"path": path, "valueInMember": member, "valueInHub": hub}
    return {name: value for name, value in told.items() if value}


@pytest.mark.rule("DRIFT-3")
@pytest.mark.parametrize(
    ("hub", "member", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [one("/spec/a", hub="1", member="2")]),
        ({"a": True}, {"a": 1}, [one("/spec/a", hub="true", member="1")]),
        ({"a": "x"}, {}, [one("/spec/a", hub="x")]),
        ({}, {"a": {"c": 1, "b": "y"}}, [one("/spec/a", member="map[b:y c:1]")]),
        ({"a": None}, {}, [one("/spec/a", hub="<nil>")]),
        ({"a": {"b": 1}}, {"a": [1]}, [one("/spec/a", hub="map[b:1]", member="[1]")]),
        (
            {"l": [1, 2, 3, 4]},
            {"l": [9, 2]},
            [
                one("/spec/l/2", hub="3"),
                one("/spec/l/2", hub="4"),
                one("/spec/l/0", hub="1", member="9"),
            ],
        ),
        (
            {"l": [1]},
            {"l": [1, 2, 3]},
            [one("/spec/l/-", member="2"), one("/spec/l/-", member="3")],
        ),
        (
            {"b~x/y": 1, "a": 1},
            {"b~x/y": 2, "a": 2},
            [one("/spec/a", hub="1", member="2"), one("/spec/b~0x~1y", hub="1", member="2")],
        ),
    ],
)
def test_differences_are_told_by_path(hub: Any, member: Any, expected: Details) -> None:
    assert comparison.differences(thing(hub), thing(member)) == expected


@pytest.mark.rule("DRIFT-3")
def test_labels_are_told_key_by_key_even_where_one_side_has_none() -> None:
    found = comparison.differences(thing({}, labels={"a": "1"}), thing({}))
    assert found == [one("/metadata/labels/a", hub="1")]


@pytest.mark.rule("DRIFT-3")
def test_what_secrets_hold_is_not_told() -> None:
    def secret(value: str, label: str) -> dict[str, Any]:
        metadata = {"labels": {"a": label}}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"k": value}}

    hidden = "(redacted for security reasons)"
    assert comparison.differences(secret("b25l", "1"), secret("dHdv", "2")) == [
        one("/data/k", hub=hidden, member=hidden),
        one("/metadata/labels/a", hub="1", member="2"),
    ]


@pytest.mark.rule("DRIFT-4")
def test_at_most_a_hundred_differences_are_told() -> None:
    hub = {f"{number:03}": 1 for number in range(150)}
    found = comparison.differences(thing(hub), thing({}))
    assert [each["path"] for each in found] == [f"/spec/{number:03}" for number in range(100)]


@pytest.mark.rule("KJ-1")
@pytest.mark.parametrize(
    ("manifest", "live", "expected"),
    [
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 1, "b": 3}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        (
            [{"name": "x", "image": "one"}],
            [{"name": "x", "image": "two", "imagePullPolicy": "Always"}],
            [{"name": "x", "image": "one", "imagePullPolicy": "Always"}],
        ),
        ([{"name": "x"}], [{"name": "y", "k": 1}], [{"name": "x"}]),
        (["a"], ["b", "c"], ["a"]),
        ({"a": []}, {"a": None}, {"a": []}),
    ],
)
def test_what_a_manifest_says_is_laid_over_what_is_there(
    manifest: Any, live: Any, expected: Any
) -> None:
    assert comparison.overlaid(manifest, live) == expected
