"""Problems render as the user reads them, and every exception says who must act."""

import pytest

from fleetqueue import errors
from fleetqueue.errors import Problem


def test_a_problem_renders_with_its_place_and_its_fix() -> None:
    problem = Problem(
        'ClusterQueue "research"',
        'names the ResourceFlavor "a100-spot", which does not exist',
        "spec.resourceGroups[0].flavors[1].name",
        "create that ResourceFlavor, or name one of: a100, h100",
    )
    assert problem.render() == (
        'error: ClusterQueue "research" names the ResourceFlavor "a100-spot", '
        "which does not exist\n"
        "  at   spec.resourceGroups[0].flavors[1].name\n"
        "  fix  create that ResourceFlavor, or name one of: a100, h100"
    )


def test_a_bare_sentence_needs_no_object() -> None:
    assert errors.UsageError("there is no such command").render() == (
        "error: there is no such command"
    )


@pytest.mark.parametrize(
    ("error", "who", "code"),
    [
        (errors.UserError, "user", 1),
        (errors.UsageError, "user", 2),
        (errors.InvalidInput, "user", 1),
        (errors.ClusterError, "cluster", 1),
        (errors.Refused, "cluster", 1),
        (errors.Unreachable, "cluster", 1),
        (errors.Bug, "us", 1),
    ],
)
def test_each_exception_says_who_must_act(
    error: type[errors.FleetqueueError], who: str, code: int
) -> None:
    raised = error("it broke", Problem("Job", "is wrong"))
    assert (raised.who_acts, raised.exit_code) == (who, code)
    assert str(raised) == "it broke; Job is wrong"
    assert error.__name__ in (errors.__doc__ or "")
