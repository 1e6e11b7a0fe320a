"""Processors for containers with a CPU limit."""

import pytest

from fleetqueue.runtime.shepherd.processors import Processors

pytestmark = pytest.mark.rule("jobs C.3")


def test_each_gets_those_that_are_least_used() -> None:
    processors = Processors({0, 1, 2, 3})
    assert processors.give("a", 1000) == (0,)
    assert processors.give("b", 1500) == (1, 2)
    assert processors.give("c", 100) == (3,)
    assert processors.give("d", 1) == (0,)
    processors.release("b")
    assert processors.give("e", 2000) == (1, 2)
    processors.release("none")


def test_a_limit_of_the_whole_machine_is_none() -> None:
    assert Processors({0, 1}).give("a", 2000) == ()
    assert Processors({0, 1}).give("a", 64000) == ()
    assert Processors(set()).give("a", 100) == ()
