"""How a command that ran elsewhere, or did not, is told of."""

import pytest

from fleetqueue.kube.commands import exit_code
from fleetqueue.kube.errors import InternalError

WHY = "Internal error occurred: error executing command in container: no such file"


@pytest.mark.parametrize("message", [WHY, f"Internal error occurred: {WHY}"])
def test_a_command_that_did_not_start_is_told_of_in_one_breath(message: str) -> None:
    with pytest.raises(InternalError) as found:
        exit_code({"status": "Failure", "reason": "InternalError", "message": message})
    assert str(found.value) == WHY


def test_a_command_that_ran_has_its_exit_code() -> None:
    cause = {"reason": "ExitCode", "message": "3"}
    assert exit_code({"status": "Success"}) == 0
    assert exit_code({"status": "Failure", "details": {"causes": [cause]}}) == 3
