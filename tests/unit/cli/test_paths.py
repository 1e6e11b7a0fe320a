"""Files and directories that options name."""

import os
import socket
import threading
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fleetqueue.app import ServeOptions, serving
from fleetqueue.cli.commands.controller import controller
from fleetqueue.cli.commands.serve import serve
from fleetqueue.cli.commands.up import up
from fleetqueue.cli.paths import TextFile
from fleetqueue.errors import UserError


@pytest.mark.parametrize(
    ("command", "option", "more"),
    [
        (serve, "--config", ["--data", "x"]),
        (serve, "--images", ["--data", "x"]),
        (serve, "--nodes", ["--data", "x"]),
        (serve, "--token-auth-file", ["--data", "x"]),
        (up, "--config", []),
        (up, "--images", []),
        (controller, "--config", []),
        (controller, "--kubeconfig", []),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_name(
    tmp_path: Path, command: click.Command, option: str, more: list[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xff\x00")
    refused = CliRunner().invoke(command, [*more, option, str(file)])
    assert refused.exit_code == 2
    assert f"Invalid value for '{option}': File '{file}' is not a text file." in refused.output


def test_what_a_pipe_has_is_left_to_whoever_reads_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("kind: Configuration",))
    writer.start()
    assert TextFile().convert(str(pipe), None, None).read_text() == "kind: Configuration"
    writer.join()


def test_data_without_a_place_is_refused() -> None:
    refused = CliRunner().invoke(serve, ["--data", ""])
    assert refused.exit_code == 2
    assert "Invalid value for '--data': it is empty" in refused.output


async def test_a_host_that_nobody_knows_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    options = ServeOptions(tmp_path, host="nowhere.invalid", durability="memory")
    with pytest.raises(UserError, match=r"nowhere\.invalid .*\(name or service not known\)"):
        async with serving(options):
            pass
