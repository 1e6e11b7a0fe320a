"""What a member notes before the Work itself tells of any object."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.api.fleet import labels
from fleetqueue.fleet.decide.delivery import expectations, manifests, work_status
from fleetqueue.fleet.decide.delivery.manifests import Manifest

pytestmark = pytest.mark.rule("APPLY-4", "APPLY-5")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORK: dict[str, Any] = {"metadata": {"name": "w", "generation": 1}, "spec": {}}


def usable(*names: str) -> list[Manifest]:
    raws = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "app"}}
        for name in names
    ]
    found = [each.found_as("configmaps", is_namespaced=True) for each in manifests.read(raws)]
    return manifests.checked(found)


def applied_work(*names: str) -> dict[str, Any]:
    return {"metadata": {"name": "w", "annotations": expectations.note(usable(*names))}}


def test_what_is_noted_is_found_again() -> None:
    found = expectations.noted(applied_work("a", "b"))
    assert found == [each.identity for each in usable("a", "b")]


def test_a_work_without_manifests_has_a_note_too() -> None:
    assert expectations.noted(applied_work()) == []


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1}', "[1]"])
def test_what_is_no_note_says_nothing(text: str) -> None:
    assert expectations.noted({"metadata": {"annotations": {labels.EXPECTED: text}}}) is None


def test_too_many_are_not_noted() -> None:
    assert expectations.note(usable(*(f"{number:0>200}" for number in range(500)))) == {}


def test_nothing_is_written_ahead_that_was_noted() -> None:
    expected = expectations.noted(applied_work("a", "b"))
    assert work_status.ahead(WORK, usable("a"), NOW, expected) is None
    assert work_status.ahead(WORK, usable(), NOW, []) is None
    ahead = work_status.ahead(WORK, usable("a", "c"), NOW, expected)
    assert ahead is not None
    assert [each["identifier"]["name"] for each in ahead["manifestConditions"]] == ["a", "c"]


def test_what_was_noted_and_is_wanted_no_more_is_left_over() -> None:
    expected = expectations.noted(applied_work("a", "b"))
    left = work_status.left_over(WORK, usable("b"), expected)
    assert [each.name for each in left] == ["a"]


def test_once_the_work_tells_of_its_objects_the_note_counts_no_more() -> None:
    expected = expectations.noted(applied_work("a", "b"))
    entry = {"identifier": usable("b")[0].identifier, "conditions": []}
    work = {**WORK, "status": {"conditions": [], "manifestConditions": [entry]}}
    assert work_status.left_over(work, usable("b"), expected) == []
    assert work_status.ahead(work, usable("a", "b"), NOW, expected) is not None
