"""Exec and attach between a client and processes of paper: streams, sizes, ends and refusals."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.request import Request
from fleetqueue.base.clock import SystemClock
from fleetqueue.embedded import conversations
from fleetqueue.embedded.command_peers import ERROR, RESIZE, STDERR, STDIN, STDOUT
from fleetqueue.embedded.command_statuses import SUCCESS, encoded, of_exit
from fleetqueue.embedded.commands import CommandSession, NotConnected
from fleetqueue.embedded.conversations import Gone, Sizes, Wanted, wanted_of
from fleetqueue.embedded.places import Places
from fleetqueue.runtime.preparation import Sandbox
from fleetqueue.runtime.processes import Command, Exit
from fleetqueue.testing.processes import PaperPreparation, PaperProcess, PaperProcesses

pytestmark = pytest.mark.rule("jobs C.9")
OUTPUT = Wanted(stdin=False, stdout=True, stderr=True, tty=False)
ALL = Wanted(stdin=True, stdout=True, stderr=True, tty=False)


class PaperPeer:
    """A client that says what a test has it say, and keeps what it hears."""

    def __init__(self) -> None:
        self._received: asyncio.Queue[tuple[int, bytes | None] | None] = asyncio.Queue()
        self.sent: list[tuple[int, bytes]] = []
        self._grown = asyncio.Event()
        self.status: dict[str, Any] | None = None

    def say(self, channel: int, data: bytes | None) -> None:
        self._received.put_nowait((channel, data))

    def leave(self) -> None:
        self._received.put_nowait(None)

    async def receive(self) -> tuple[int, bytes | None] | None:
        return await self._received.get()

    async def send(self, channel: int, data: bytes) -> None:
        self.sent.append((channel, data))
        self._grown.set()

    async def finish(self, status: dict[str, Any]) -> None:
        self.status = status

    async def heard(self, *pieces: tuple[int, bytes]) -> None:
        async with asyncio.timeout(10):
            while self.sent != list(pieces):
                await self._grown.wait()
                self._grown.clear()


class Stage:
    """A pod with one container and the ways to it."""

    def __init__(self, directory: Path, process: PaperProcess | None, **spec: Any) -> None:
        self.process = process
        self.pod: dict[str, Any] = {
            "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
            "spec": {"containers": [{"name": "c", **spec}]},
        }
        worker = SimpleNamespace(
            workers=[SimpleNamespace(name="c", process=process)],
            preparation=PaperPreparation(directory),
            pod=self.pod,
            sandbox=Sandbox(directory, "127.9.0.5", "127.0.0.1"),
        )
        self.places = Places(
            lambda pod: worker,  # type: ignore[arg-type,return-value]
            lambda pod: directory,
            lambda pod: pod,
            lambda service: [],
            lambda pod: False,
            SystemClock(),
        )

    def session(self, *command: str) -> CommandSession:
        kind = "exec" if command else "attach"
        call = SimpleNamespace(
            request=Request("GET", "/", {"command": list(command)} if command else {}),
            route=SimpleNamespace(name="p", subresource=kind),
        )
        return CommandSession(call, self.pod, self.places)  # type: ignore[arg-type]


@pytest.fixture
async def process(tmp_path: Path) -> PaperProcess:
    processes = PaperProcesses(SystemClock())
    return await processes.start("main", Command(("serve",), {}, tmp_path), tmp_path / "log")


@pytest.fixture
def stage(tmp_path: Path, process: PaperProcess) -> Iterator[Stage]:
    return Stage(tmp_path, process, stdin=True)


async def test_a_command_says_what_it_says_and_ends_well(stage: Stage) -> None:
    peer = PaperPeer()
    await stage.session("say", "out", "warn", "err", "run", "0").talk(peer, OUTPUT)
    assert peer.sent == [(STDOUT, b"out"), (STDERR, b"err")]
    assert peer.status == {"metadata": {}, "status": "Success"}


async def test_a_command_that_fails_tells_its_exit_code(stage: Stage) -> None:
    peer = PaperPeer()
    await stage.session("fail", "3").talk(peer, OUTPUT)
    assert peer.status == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: "
        "command terminated with exit code 3",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_input_reaches_a_command_until_it_is_closed(stage: Stage) -> None:
    peer = PaperPeer()
    talking = asyncio.create_task(stage.session("cat").talk(peer, ALL))
    peer.say(STDIN, b"hello")
    await peer.heard((STDOUT, b"hello"))
    peer.say(STDIN, None)
    await talking
    assert peer.status == SUCCESS


async def test_input_that_was_not_announced_is_passed_over(
    stage: Stage, process: PaperProcess
) -> None:
    peer = PaperPeer()
    peer.say(STDIN, b"hello")
    await stage.session("run", "0").talk(peer, OUTPUT)
    executed = process.executed[0].streams
    assert executed is not None
    assert executed.written == b""


async def test_only_the_streams_that_were_asked_for_are_sent(stage: Stage) -> None:
    peer = PaperPeer()
    wanted = Wanted(stdin=False, stdout=False, stderr=True, tty=False)
    await stage.session("say", "out", "warn", "err", "run", "0").talk(peer, wanted)
    assert peer.sent == [(STDERR, b"err")]


async def test_a_terminal_is_made_and_resized(stage: Stage, process: PaperProcess) -> None:
    peer = PaperPeer()
    peer.say(RESIZE, b'{"Width":120,"Height":40}\n')
    wanted = Wanted(stdin=True, stdout=True, stderr=False, tty=True)
    await stage.session("run", "0").talk(peer, wanted)
    executed = process.executed[0]
    assert executed.command.tty
    assert executed.command.stdin
    assert executed.command.env["TERM"] == "xterm"
    assert executed.streams is not None
    assert executed.streams.sizes == [(120, 40)]


async def test_what_a_client_began_ends_when_it_leaves(stage: Stage, process: PaperProcess) -> None:
    peer = PaperPeer()
    peer.leave()
    with pytest.raises(Gone):
        await stage.session("forever").talk(peer, ALL)
    assert (await process.executed[0].wait()).signal == 9
    assert process.executed[0].streams is not None
    assert process.executed[0].streams.is_closed


@pytest.mark.parametrize(("is_nested", "start"), [(False, ""), (True, "Internal error occurred: ")])
async def test_a_command_that_does_not_exist_is_an_error_of_the_server(
    stage: Stage, is_nested: bool, start: str
) -> None:
    peer = PaperPeer()
    await stage.session("missing").talk(peer, OUTPUT, is_nested=is_nested)
    assert peer.status is not None
    assert peer.status["reason"] == "InternalError"
    assert peer.status["code"] == 500
    assert peer.status["message"] == (
        f"Internal error occurred: {start}error executing command in container: "
        'exec: "missing": executable file not found in $PATH'
    )


async def test_a_container_that_does_not_run_cannot_be_entered(tmp_path: Path) -> None:
    stage = Stage(tmp_path, None)
    with pytest.raises(NotConnected, match=r'^container not found \("c"\)$'):
        await stage.session("ls").talk(PaperPeer(), OUTPUT)
    with pytest.raises(NotConnected, match=r"^container c not found in pod p_ns$"):
        await stage.session().talk(PaperPeer(), OUTPUT)


async def test_output_of_processes_left_behind_is_not_waited_for(
    stage: Stage, process: PaperProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "DRAIN_SECONDS", 0.0)
    monkeypatch.setattr("fleetqueue.testing.processes.PaperStreams.end", lambda streams: None)
    peer = PaperPeer()
    await stage.session("say", "out", "run", "0").talk(peer, OUTPUT)
    assert peer.sent == [(STDOUT, b"out")]
    assert peer.status == SUCCESS


async def test_attaching_hears_the_main_process_until_it_ends(
    stage: Stage, process: PaperProcess
) -> None:
    peer = PaperPeer()
    talking = asyncio.create_task(stage.session().talk(peer, ALL))
    await asyncio.sleep(0)
    assert process.streams is not None
    process.streams.say(b"now")
    peer.say(STDIN, b"typed")
    await peer.heard((STDOUT, b"now"))
    process.kill()
    await talking
    assert process.streams.written == b"typed"
    assert peer.status == SUCCESS
    assert not process.has_input_ended


async def test_who_attaches_and_leaves_harms_nobody(stage: Stage, process: PaperProcess) -> None:
    peer = PaperPeer()
    peer.leave()
    with pytest.raises(Gone):
        await stage.session().talk(peer, ALL)
    assert process.streams is not None
    assert process.streams.is_closed
    assert not process.has_input_ended
    process.kill()


async def test_input_that_is_given_once_ends_with_its_giver(
    tmp_path: Path, process: PaperProcess
) -> None:
    stage = Stage(tmp_path, process, stdin=True, stdinOnce=True)
    peer = PaperPeer()
    peer.leave()
    with pytest.raises(Gone):
        await stage.session().talk(peer, ALL)
    assert process.has_input_ended


async def test_a_container_without_input_takes_none(tmp_path: Path, process: PaperProcess) -> None:
    peer = PaperPeer()
    peer.say(STDIN, b"typed")
    peer.leave()
    with pytest.raises(Gone):
        await Stage(tmp_path, process).session().talk(peer, ALL)
    assert process.streams is not None
    assert process.streams.written == b""


def test_a_request_must_ask_for_some_stream() -> None:
    with pytest.raises(ApiError, match="you must specify at least 1 of stdin, stdout, stderr"):
        wanted_of(Request("GET", "/", {"tty": ["true"]}))


def test_a_terminal_has_no_error_stream() -> None:
    query = {"stdin": ["true"], "stdout": ["1"], "stderr": ["true"], "tty": ["true"]}
    wanted = wanted_of(Request("GET", "/", query))
    assert wanted == Wanted(stdin=True, stdout=True, stderr=False, tty=True)
    assert wanted.channels == {STDIN, STDOUT, ERROR}


def test_sizes_are_read_however_they_are_cut() -> None:
    sizes = Sizes()
    assert list(sizes.feed(b'{"Width":80,"Height":24}\n{"Wid')) == [(80, 24)]
    assert list(sizes.feed(b'th":100000,"Height":-1}')) == [(65535, 0)]
    assert list(sizes.feed(b"[1]")) == []
    assert list(sizes.feed(b"?" * 5000)) == []
    assert list(sizes.feed(b'{"Width":1,"Height":2}')) == [(1, 2)]


def test_the_oldest_clients_hear_of_failures_only() -> None:
    failed = of_exit(Exit(2))
    assert encoded(SUCCESS, has_statuses=False) == b""
    assert encoded(failed, has_statuses=False) == str(failed["message"]).encode()
    assert encoded(SUCCESS, has_statuses=True) == b'{"metadata":{},"status":"Success"}'
