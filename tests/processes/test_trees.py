"""Nothing survives: the whole tree of a container ends with it, and all trees with the server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fleetqueue.errors import UserError
from fleetqueue.runtime.leftovers import find_leftovers, kill_exactly, reap_leftovers
from fleetqueue.runtime.shepherd.records import start_ticks
from fleetqueue.runtime.shepherded import LOST, cluster_id
from processes.conftest import ENV, Open, Shell, exists, gone, is_alive, said

CHILD = "sleep 1000 & echo $! > {pipe};"
DAEMON = "(setsid sh -c 'echo $$ > {pipe}; exec sleep 1000' &);"
NAMELESS = "(env -i /usr/bin/setsid /bin/sh -c 'echo $$ > {pipe}; exec /bin/sleep 1000' &);"
KINDS = {"a child": CHILD, "a daemon": DAEMON, "a daemon with nothing in its environment": NAMELESS}

SERVER = """
import asyncio, json, sys
from pathlib import Path
from fleetqueue.base.clock import SystemClock
from fleetqueue.runtime.processes import Command
from fleetqueue.runtime.shepherded import ShepherdedProcesses

async def main(directory, script):
    processes = await ShepherdedProcesses.open(directory, SystemClock())
    quick = Command(("sh", "-c", "exit 5"), {"PATH": "/usr/bin:/bin"}, directory)
    await (await processes.start("quick", quick, directory / "quick.log")).wait()
    command = Command(("sh", "-c", script), {"PATH": "/usr/bin:/bin"}, directory)
    process = await processes.start("slow", command, directory / "slow.log")
    print(json.dumps([process.pid, processes._program.pid]), flush=True)
    await process.wait()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def server_program(arguments: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(arguments, stdout=subprocess.PIPE)


@pytest.mark.rule("jobs C.5")
@pytest.mark.parametrize("descendant", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("cgroups", [True, False], ids=["groups", "no groups"])
async def test_the_end_of_the_main_process_ends_its_tree(
    opened: Open, descendant: str, cgroups: bool
) -> None:
    shell = await opened(cgroups=cgroups)
    pipe, go = shell.pipe("pid"), shell.pipe("go")
    process = await shell.start(descendant.format(pipe=pipe) + f"read x < {go}; exit 4")
    pid = int(await said(pipe))
    assert is_alive(pid)
    go.write_text("on\n")
    assert (await process.wait()).code == 4
    assert not is_alive(pid)


@pytest.mark.rule("jobs C.13")
@pytest.mark.parametrize("descendant", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "no namespaces"])
async def test_killing_ends_the_whole_tree(opened: Open, descendant: str, namespaces: bool) -> None:
    shell = await opened(cgroups=False, namespaces=namespaces)
    pipe = shell.pipe("pid")
    process = await shell.start(descendant.format(pipe=pipe) + "sleep 1000")
    pid = int(await said(pipe))
    process.kill()
    assert (await process.wait()).code == 137
    if descendant is not NAMELESS or shell.processes.has_namespaces:
        assert not is_alive(pid)
    await shell.processes.close()
    assert not is_alive(pid)


async def test_others_are_left_alone(shell: Shell) -> None:
    pipe = shell.pipe("pid")
    other = await shell.start(DAEMON.format(pipe=pipe) + "sleep 1000", "other")
    pid = int(await said(pipe))
    assert (await shell.run("(setsid sleep 1000 &)", "one")).code == 0
    assert is_alive(pid)
    assert is_alive(other.pid)


@pytest.mark.rule("jobs C.13")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "told to end"])
async def test_when_the_server_dies_everything_ends(
    opened: Open, tmp_path: Path, number: signal.Signals
) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    script = "trap '' TERM HUP;" + DAEMON.format(pipe=pipe) + "sleep 1000"
    arguments = [sys.executable, "-c", SERVER, str(tmp_path), script]
    with server_program(arguments) as server:
        daemon = int(await said(pipe))
        assert server.stdout is not None
        main, shepherd = json.loads(await asyncio.to_thread(server.stdout.readline))
        server.send_signal(number)
        for pid in (main, daemon, shepherd):
            assert await gone(pid)

    after = (await opened()).processes
    quick, slow = await after.ended("quick"), await after.ended("slow")
    assert quick is not None
    assert (quick.code, quick.message) == (5, "")
    assert slow is not None
    assert (slow.code, slow.message) == (137, LOST)
    assert await after.ended("never") is None


@pytest.mark.rule("jobs C.13")
async def test_when_the_shepherd_dies_its_flock_is_lost_and_another_comes(shell: Shell) -> None:
    pipe = shell.pipe("pid")
    process = await shell.start(DAEMON.format(pipe=pipe) + "sleep 1000")
    daemon = int(await said(pipe))
    program = shell.processes._program
    assert program is not None
    program.kill()
    end = await process.wait()
    assert (end.code, end.message) == (137, LOST)
    assert await gone(daemon)
    assert await gone(process.pid)
    assert (await shell.run("exit 3", "next")).code == 3


@pytest.mark.rule("jobs C.13")
async def test_a_main_process_dies_with_the_shepherd_even_without_its_mark(opened: Open) -> None:
    shell = await opened(cgroups=False)
    pipe = shell.pipe("ready")
    script = f"exec env -i /bin/sh -c 'echo on > {pipe}; exec /bin/sleep 1000'"
    process = await shell.start(script)
    await said(pipe)
    ticks, program = start_ticks(process.pid), shell.processes._program
    assert program is not None
    program.kill()
    await process.wait()
    try:
        assert await gone(process.pid, seconds=2)
    finally:
        kill_exactly(process.pid, ticks)


@pytest.mark.rule("jobs C.13")
def test_leftovers_are_known_by_their_mark(tmp_path: Path) -> None:
    mine = cluster_id(tmp_path)
    env = {**ENV, "FLEETQUEUE_CONTAINER_ID": f"{mine}/c"}
    with (
        subprocess.Popen(["sleep", "1000"], env=env) as left,
        subprocess.Popen(["sleep", "1000"], env=ENV) as other,
    ):
        assert [pid for pid, _ in find_leftovers(mine)] == [left.pid]
        assert not kill_exactly(left.pid, start_ticks(left.pid) + 1), "somebody else by now"
        assert reap_leftovers(mine) == 1
        assert left.wait() == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


async def test_two_servers_cannot_share_a_directory(opened: Open, shell: Shell) -> None:
    process = await shell.start("sleep 1000")
    with pytest.raises(UserError, match="is in use by another server"):
        await opened()
    assert is_alive(process.pid)


async def test_closing_ends_everything_and_leaves_no_trace(opened: Open) -> None:
    shell = await opened()
    pipe = shell.pipe("pid")
    process = await shell.start(DAEMON.format(pipe=pipe) + "sleep 1000")
    daemon = int(await said(pipe))
    group = shell.processes.isolation.cgroup
    await shell.processes.close()
    assert (await process.wait()).code == 137
    assert not is_alive(daemon)
    assert not group or not exists(group)
    assert (shell.directory / "shepherd" / "log").read_text() == ""
