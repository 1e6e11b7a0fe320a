"""Which provider a name stands for."""

from importlib import metadata

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.member.properties import registry
from fleetqueue.fleet.member.properties.provider import ENTRY_POINTS
from fleetqueue.fleet.member.properties.standard import Standard

pytestmark = pytest.mark.rule("PROP-2")


def installed(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [metadata.EntryPoint("mine", value, ENTRY_POINTS) for value in values]

    def entry_points(group: str, name: str = "mine") -> list[metadata.EntryPoint]:
        return [each for each in points if (each.group, each.name) == (group, name)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_none_is_wanted_unless_one_is_named() -> None:
    assert registry.provider_of("none") is None
    assert registry.provider_of("") is None
    assert registry.provider_of("fleetqueue") is Standard


def test_an_installed_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, f"{Standard.__module__}:Standard")

    assert registry.provider_of("mine") is Standard


def test_one_that_nobody_has_is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, "a:b")

    with pytest.raises(InvalidInput, match="azure, fleetqueue, mine, none"):
        registry.provider_of("theirs")


def test_a_name_that_two_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "a:b", "c:d")

    with pytest.raises(InvalidInput, match="two property providers"):
        registry.provider_of("mine")
