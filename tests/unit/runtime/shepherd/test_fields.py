"""Classes that are little more than their fields."""

from typing import Any

import pytest

from fleetqueue.runtime.shepherd.fields import Fields, made


class Sheep(Fields):
    name: str
    legs: int = 4
    lambs: list[str] = made(default_factory=list)


def test_fields_are_given_in_order_or_by_name() -> None:
    sheep = Sheep("Dolly", lambs=["Bonnie"])
    assert (sheep.name, sheep.legs, sheep.lambs) == ("Dolly", 4, ["Bonnie"])


def test_a_default_that_is_made_is_not_shared() -> None:
    one, other = Sheep("one"), Sheep("other")
    one.lambs.append("Sally")
    assert other.lambs == []


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), (("a", 4, [], 1), {}), (("a",), {"wool": 1})],
    ids=["too few", "too many", "unknown"],
)
def test_what_does_not_fit_is_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Sheep(*values, **named)


def test_those_with_the_same_fields_are_equal() -> None:
    assert Sheep("Dolly") == Sheep("Dolly")
    assert Sheep("Dolly") != Sheep("Dolly", 3)
    assert Sheep("Dolly") != "Dolly"
