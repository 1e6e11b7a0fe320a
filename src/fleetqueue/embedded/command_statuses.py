"""What a client of exec or attach is told in the end: how the command went, as a Status."""

from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.base import codec
from fleetqueue.runtime.processes import Exit

Status = dict[str, Any]
SUCCESS: Status = {"metadata": {}, "status": "Success"}


def of_exit(exit: Exit) -> Status:
    if exit.code == 0:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: "
        f"command terminated with exit code {exit.code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(exit.code)}]},
    }


def internal(message: str) -> Status:
    status = problems.internal(message).status()
    del status["kind"], status["apiVersion"]
    return status


def not_started(why: str, *, is_nested: bool) -> Status:
    """`is_nested`: a newer server translates for its clients and wraps the words once more."""
    text = f"error executing command in container: {why}"
    return internal(f"Internal error occurred: {text}" if is_nested else text)


def encoded(status: Status, *, has_statuses: bool) -> bytes:
    """The oldest protocols know words for failures only."""
    if has_statuses:
        return codec.encode(status)
    return b"" if status["status"] == "Success" else str(status["message"]).encode()
