"""The stand-in for `ray job submit`, as a process."""

import asyncio
import sys

import pytest

pytestmark = pytest.mark.rule("jobs C.7")


async def run(*words: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "fleetqueue.runtime.ray_submit",
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"RAY_DASHBOARD_ADDRESS": "head.ns:8265", "PATH": "/usr/bin:/bin"},
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_it_becomes_the_entry_point() -> None:
    script = (
        "if ! ray job status --address x id ; then ray job submit --address x --no-wait"
        " --submission-id id -- echo out $RAY_ADDRESS; echo err >&2; exit 7 ;"
        " fi ; ray job logs --address x --follow id"
    )
    found = await run("/bin/bash", "-ce", "--", script)
    assert found == (7, "out head.ns:6379\n", "err\n")


async def test_it_says_where_there_is_nothing_to_run() -> None:
    code, _, error = await run("echo", "hello")
    assert code == 1
    assert error.startswith("nothing to run")
