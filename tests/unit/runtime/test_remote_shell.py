"""The stand-in for ssh: how it reads its arguments, and what it sends."""

import socket

import pytest

from fleetqueue.runtime.remote_shell import (
    EXIT,
    INPUT,
    OUTPUT,
    Request,
    Session,
    UsageError,
    frame,
    read_arguments,
    take_frames,
)

pytestmark = pytest.mark.rule("jobs B.5")

# fmt: off
CASES = {  #                  called with                             host command  input
    "a host and a command":  (["h", "orted", "-x"],                   "h", "orted -x", True),
    "one line for a shell":  (["h", "a=1 ; orted"],                   "h", "a=1 ; orted", True),
    "Open MPI":              (["-o", "A=10", "h", "orted -mca b c"],  "h", "orted -mca b c", True),
    "Open MPI, for ssh":     (["-x", "-o", "A=1", "h", "orted"],      "h", "orted", True),
    "Hydra":                 (["-x", "h", '"/p"', "--id", "0"],       "h", '"/p" --id 0', True),
    "options with values":   (["-oA=1", "-p22", "h", "c"],            "h", "c", True),
    "options in one word":   (["-xqo", "A=1", "h", "c"],              "h", "c", True),
    "a user":                (["-l", "root", "me@h", "c"],            "h", "c", True),
    "options after a host":  (["h", "-q", "-n", "c", "-n"],           "h", "c -n", False),
    "no input":              (["-n", "h", "c"],                       "h", "c", False),
    "in the background":     (["-f", "h", "c"],                       "h", "c", False),
    "the end of options":    (["--", "h", "--", "-c"],                "h", "-c", True),
    "no command":            (["h"],                                  "h", "", True),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_read_as_ssh_reads_them(name: str) -> None:
    arguments, *wanted = CASES[name]
    assert read_arguments(arguments) == Request(*wanted)


@pytest.mark.parametrize("arguments", [[], ["-x"], ["-o"], ["-o", "h"]])
def test_a_host_is_needed(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        read_arguments(arguments)


def test_frames_are_taken_as_they_become_complete() -> None:
    sent = [(OUTPUT, b"some"), (INPUT, b""), (EXIT, b"7")]
    stream = b"".join(frame(kind, data) for kind, data in sent)
    received, found = bytearray(), []
    for byte in stream:
        received.append(byte)
        found += take_frames(received)
    assert found == sent
    assert not received


def test_a_command_that_ends_without_its_input_still_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other side is gone before all is sent, and had said before how it ended."""
    monkeypatch.setattr(Session, "_watch_signals", lambda self: None)
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        theirs.sendall(frame(EXIT, b"7"))
        theirs.close()
        assert Session(ours, Request("h", "true", True)).run() == 7
