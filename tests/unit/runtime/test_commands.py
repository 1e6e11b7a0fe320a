"""Command and arguments, from the container or from its image."""

import pytest

from fleetqueue.runtime.commands import argv_of

# fmt: off
CASES = {  #                          command       args          executed
    "nothing: the image's own":      (None,         None,         ("entry", "-e", "default")),
    "a command hides the image":     (["c", "-x"],  None,         ("c", "-x")),
    "arguments replace the default": (None,         ["a"],        ("entry", "-e", "a")),
    "both":                          (["c"],        ["a", "b"],   ("c", "a", "b")),
    "both are expanded":             (["$(A)"],     ["$(B)$(C)"], ("1", "2$(C)")),
}
# fmt: on


@pytest.mark.rule("jobs C.3")
@pytest.mark.parametrize(("command", "args", "expected"), CASES.values(), ids=CASES.keys())
def test_what_is_executed(
    command: list[str] | None, args: list[str] | None, expected: tuple[str, ...]
) -> None:
    container = {"name": "c", "command": command, "args": args}
    assert argv_of(container, ("entry", "-e"), ("default",), {"A": "1", "B": "2"}) == expected
