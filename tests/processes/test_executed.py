"""Processes that are executed beside a main one: who gets their signals, what ends with them."""

import asyncio
import shlex
import signal

import pytest

from fleetqueue.runtime.processes import Process, Streams
from processes.conftest import SECONDS_MAX, Shell, gone

pytestmark = pytest.mark.rule("jobs C.9", "jobs C.3")


async def line(streams: Streams) -> str:
    """Up to the end of a line."""
    heard = b""
    while not heard.endswith(b"\n"):
        piece = await asyncio.wait_for(streams.read_output(), SECONDS_MAX)
        assert piece is not None, heard
        heard += piece[1]
    return heard.decode().strip()


async def begin(shell: Shell, script: str) -> tuple[Process, Streams]:
    main = await shell.start("exec sleep 100000")
    return await main.execute(shell.command(script))


async def test_a_signal_reaches_the_children_of_a_shell(shell: Shell) -> None:
    inner = "trap 'echo inner; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    executed, streams = await begin(shell, f'trap "wait; exit 4" TERM; sh -c "{inner}" & wait')
    assert await line(streams) == "ready"
    executed.signal(signal.SIGTERM)
    exit = await asyncio.wait_for(executed.wait(), SECONDS_MAX)
    assert exit.code == 4
    said = ""
    while (piece := await streams.read_output()) is not None:
        said += piece[1].decode() if piece[0] == 1 else ""
    assert said == "inner\n"
    streams.close()


async def test_a_signal_to_a_main_process_is_for_it_alone(shell: Shell) -> None:
    pipe = shell.pipe("told")
    inner = f"trap 'echo hit' TERM; echo > {pipe}; sleep 100000"
    script = f"trap 'exit 3' TERM; sh -c {shlex.quote(inner)} & wait"
    process = await shell.start(script)
    await asyncio.wait_for(asyncio.to_thread(pipe.read_text), SECONDS_MAX)
    process.signal(signal.SIGTERM)
    assert (await asyncio.wait_for(process.wait(), SECONDS_MAX)).code == 3
    assert shell.text() == []


async def test_killing_takes_what_left_the_session(shell: Shell) -> None:
    """Launchers start ranks in sessions of their own; they are still below the process."""
    inner = "setsid sleep 100000 & echo $$ $!; wait"
    executed, streams = await begin(shell, f"setsid sh -c '{inner}' & wait")
    ranks = [int(pid) for pid in (await line(streams)).split()]
    executed.kill()
    await asyncio.wait_for(executed.wait(), SECONDS_MAX)
    for pid in ranks:
        assert await gone(pid)
    streams.close()
