"""Memory and CPU limits: by control groups where the machine has them, by looking after the
processes where it has not, and by a tree of plain files that stands for the kernel's groups.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from fleetqueue.runtime.processes import Limits
from fleetqueue.runtime.shepherded import cluster_id
from processes.conftest import SECONDS_MAX, Open, Shell, gone, said

pytestmark = pytest.mark.rule("jobs C.3")
MEBIBYTE = 1024 * 1024
HUNGRY = (
    f"{sys.executable} -S -c 'x = bytearray({{size}} * {MEBIBYTE}); import signal; signal.pause()'"
)
SHARED = """
import os, signal, sys
kept = bytearray(48 * 1024 * 1024)
for _ in range(3):
    if os.fork() == 0:
        signal.pause()
with open(sys.argv[1], "w") as pipe:
    pipe.write("ready")
signal.pause()
"""


@pytest.mark.rule("jobs C.2")
async def test_a_container_that_uses_too_much_memory_is_ended(shell: Shell) -> None:
    limits = Limits(memory_bytes=64 * MEBIBYTE)
    end = await shell.run(HUNGRY.format(size=256), limits=limits)
    assert (end.code, end.signal, end.is_out_of_memory) == (137, 9, True)
    again = await shell.processes.ended("c")
    assert again is not None
    assert again.is_out_of_memory, "a server that comes back knows it, too"


async def test_the_processes_of_a_container_are_counted_together(shell: Shell) -> None:
    limits = Limits(memory_bytes=128 * MEBIBYTE)
    half = HUNGRY.format(size=96)
    end = await shell.run(f"{half} & {half} & wait", limits=limits)
    assert (end.code, end.is_out_of_memory) == (137, True)


async def test_memory_without_a_limit_is_nobodys_business(shell: Shell) -> None:
    limited = Limits(memory_bytes=64 * MEBIBYTE)
    free = await shell.start(HUNGRY.format(size=128), "free")
    end = await shell.run(HUNGRY.format(size=256), "limited", limits=limited)
    assert end.is_out_of_memory
    free.kill()
    end = await free.wait()
    assert (end.code, end.is_out_of_memory) == (137, False), "killed, and not for its memory"


async def test_what_processes_share_counts_once(opened: Open) -> None:
    """Four processes of 48 MiB that are one and the same: far below 128 MiB in truth."""
    shell = await opened(cgroups=False)
    ready = shell.pipe("ready")
    argv = (sys.executable, "-S", "-c", SHARED, str(ready))
    sharing = await shell.start("", "sharing", argv=argv, limits=Limits(128 * MEBIBYTE))
    assert await said(ready) == "ready"
    # Looked at in the same round, one after the other: when this one is ended, the other was seen.
    limits = Limits(memory_bytes=32 * MEBIBYTE)
    assert (await shell.run(HUNGRY.format(size=64), "hungry", limits=limits)).is_out_of_memory
    sharing.signal(15)
    assert (await sharing.wait()).code == 143


async def test_a_container_executes_within_its_limits(shell: Shell) -> None:
    limits = Limits(memory_bytes=64 * MEBIBYTE)
    process = await shell.start("sleep 1000", limits=limits)
    executed, streams = await process.execute(shell.command(HUNGRY.format(size=256)))
    end = await asyncio.wait_for(process.wait(), SECONDS_MAX)
    assert end.is_out_of_memory
    assert (await executed.wait()).code == 137
    streams.close()


async def test_a_cpu_limit_is_kept_by_whole_processors_at_least(opened: Open) -> None:
    shell = await opened(cgroups=False)
    await shell.run("nproc", limits=Limits(cpu_millis=500))
    assert shell.text() == ["1"]
    every = len(os.sched_getaffinity(0))
    await shell.run("nproc", "all", limits=Limits(cpu_millis=every * 1000))
    assert shell.text("all") == [str(every)]
    process = await shell.start("sleep 1000", "one", limits=Limits(cpu_millis=1000))
    executed, streams = await process.execute(shell.command("nproc"))
    assert await streams.read_output() == (1, b"1\n")
    await executed.wait()
    streams.close()


async def test_containers_end_before_all_else_where_the_machine_runs_out(shell: Shell) -> None:
    await shell.run("cat /proc/self/oom_score_adj")
    assert shell.text() == ["500"]


# A tree of plain files that stands for control groups with controllers


@pytest.fixture
async def grouped(opened: Open, tmp_path: Path) -> Shell:
    above = tmp_path / "cgroup"
    for path in (above, above / f"fleetqueue-{cluster_id(tmp_path)}"):
        path.mkdir()
        (path / "cgroup.controllers").write_text("cpu memory pids\n")
        (path / "cgroup.subtree_control").write_text("")
        (path / "cgroup.procs").write_text("")
    shell = await opened(group=str(above))
    assert set(shell.processes.isolation.controllers) == {"cpu", "memory", "pids"}
    return shell


async def test_groups_keep_limits_where_they_can(grouped: Shell) -> None:
    limits = Limits(memory_bytes=64 * MEBIBYTE, cpu_millis=500)
    process = await grouped.start("sleep 1000", limits=limits)
    group = Path(grouped.processes.isolation.cgroup) / "c"
    assert (group / "memory.max").read_text() == str(64 * MEBIBYTE)
    assert (group / "cpu.max").read_text() == "50000 100000"
    assert (group / "cgroup.procs").read_text() == "0", "the process entered it itself"
    assert len(os.sched_getaffinity(process.pid)) == len(os.sched_getaffinity(0))


@pytest.mark.rule("jobs C.2")
@pytest.mark.parametrize("count", [0, 1])
async def test_the_kernel_says_whether_memory_was_the_reason(grouped: Shell, count: int) -> None:
    process = await grouped.start("sleep 1000", limits=Limits(memory_bytes=64 * MEBIBYTE))
    group = Path(grouped.processes.isolation.cgroup) / "c"
    (group / "memory.events").write_text(f"oom {count}\noom_kill {count}\n")
    os.kill(process.pid, 9)
    end = await asyncio.wait_for(process.wait(), SECONDS_MAX)
    assert (end.code, end.is_out_of_memory) == (137, bool(count))
    assert await gone(process.pid)
