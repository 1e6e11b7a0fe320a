"""Dotted paths read and write JSON, in place and by copying."""

from typing import Any

import pytest

from fleetqueue.base import paths
from fleetqueue.base.paths import EVERY, PathError


def pod() -> dict[str, Any]:
    return {
        "metadata": {"labels": {"example.com/team": "a"}},
        "spec": {"containers": [{"name": "x", "image": "1"}, {"name": "y"}]},
    }


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("a.b", ("a", "b")),
        ("a[0].b[-1]", ("a", 0, "b", -1)),
        ("a[*].b", ("a", EVERY, "b")),
        ("a.*.b", ("a", EVERY, "b")),
        ('a["x.y/z"]', ("a", "x.y/z")),
        ("a['x.y']", ("a", "x.y")),
        ("a[app]", ("a", "app")),
        (r"a.x\.y", ("a", "x.y")),
    ],
)
def test_a_path_reads_as_steps(text: str, steps: paths.Path) -> None:
    assert paths.parse(text) == steps
    assert paths.parse(paths.render(steps)) == steps


@pytest.mark.parametrize("text", ["a..b", ".a", "a[", "a]", "a[]"])
def test_text_that_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(PathError, match="is not a path"):
        paths.parse(text)


def test_get_finds_or_gives_the_default() -> None:
    assert paths.get(pod(), "spec.containers[0].image") == "1"
    assert paths.get(pod(), "spec.containers[-1].name") == "y"
    assert paths.get(pod(), "spec.containers[7].name", "none") == "none"
    assert paths.get(pod(), 'metadata.labels["example.com/team"]') == "a"
    assert paths.get(pod(), "spec.containers.name") is None


def test_a_star_finds_every_child_with_its_own_path() -> None:
    found = [(paths.render(path), value) for path, value in paths.walk(pod(), "spec.*[*].name")]
    assert found == [("spec.containers[0].name", "x"), ("spec.containers[1].name", "y")]
    assert paths.find(pod(), "spec.containers[*].image") == ["1"]


def test_setting_in_place_makes_what_is_missing() -> None:
    document = pod()
    paths.set_in_place(document, "status.conditions[0].type", "Ready")
    paths.set_in_place(document, "spec.containers[*].image", "2")
    assert document["status"] == {"conditions": [{"type": "Ready"}]}
    assert paths.find(document, "spec.containers[*].image") == ["2", "2"]


def test_setting_by_copy_leaves_the_input_and_shares_the_rest() -> None:
    before = pod()
    after = paths.with_value(before, "spec.containers[0].image", "2")
    assert paths.get(after, "spec.containers[0].image") == "2"
    assert before == pod()
    assert after["metadata"] is before["metadata"]
    assert after["spec"]["containers"][1] is before["spec"]["containers"][1]


def test_removing_by_copy_shares_what_stays() -> None:
    before = pod()
    after = paths.without(before, "spec.containers[0]")
    assert after["spec"]["containers"] == [{"name": "y"}]
    assert before == pod()
    assert paths.without(before, "spec.nothing.here") is before


def test_setting_through_a_plain_value_is_refused() -> None:
    with pytest.raises(PathError, match="in a plain value"):
        paths.set_in_place({"a": 1}, "a.b", 2)
    with pytest.raises(PathError, match="in a plain value"):
        paths.with_value({"a": 1}, "a.b", 2)
