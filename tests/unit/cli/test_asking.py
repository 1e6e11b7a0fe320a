"""Why a worker says nothing of a job."""

import pytest

from fleetqueue.cli.asking import why_silent
from fleetqueue.errors import UserError
from fleetqueue.kube.errors import NoAnswer, Unreachable

REFUSED = Unreachable("GET /apis/x: cannot connect: Connection refused")

# fmt: off
CASES = {
    "only from here":  (REFUSED, False,
                        "it cannot be reached from here: cannot connect: Connection refused"),
    "lost":            (REFUSED, True, "it cannot be reached"),
    "silent":          (NoAnswer("https://one does not answer: x"), False, "it does not answer"),
    "slow":            (TimeoutError(), True, "it does not answer"),
    "not to be asked": (UserError("it is in a file"), False, "it is in a file"),
}
# fmt: on


@pytest.mark.parametrize(("error", "is_lost", "expected"), CASES.values(), ids=CASES.keys())
def test_why_a_worker_says_nothing(error: Exception, is_lost: bool, expected: str) -> None:
    assert why_silent(error, is_lost=is_lost) == expected
