"""A shepherd that has had nothing to do for a while is let go, and comes back for the next one."""

import asyncio

import pytest

from fleetqueue.runtime import shepherded
from processes.conftest import Open, Shell, gone, said


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shepherded, "REST_SECONDS", 0.0)


def shepherd_of(shell: Shell) -> int:
    program = shell.processes._program
    assert program is not None
    return program.pid


@pytest.mark.usefixtures("soon")
async def test_an_idle_shepherd_is_let_go_and_another_comes(shell: Shell) -> None:
    first = shepherd_of(shell)
    assert await gone(first)
    assert (await shell.run("exit 3")).code == 3
    second = shepherd_of(shell)
    assert second != first
    assert await gone(second)
    assert (await shell.run("echo again", "next")).code == 0
    assert shell.text("next") == ["again"]


@pytest.mark.usefixtures("soon")
async def test_while_something_runs_it_stays(shell: Shell) -> None:
    pipe, more = shell.pipe("ready"), shell.pipe("more")
    process = await shell.start(f"echo on > {pipe}; read -r word < {more}; exit $word")
    await said(pipe)
    kept = shepherd_of(shell)
    assert (await shell.run("exit 0", "short")).code == 0
    await asyncio.to_thread(more.write_text, "4\n")
    assert (await process.wait()).code == 4
    assert shepherd_of(shell) == kept


@pytest.mark.usefixtures("soon")
async def test_many_that_start_at_once_have_one_shepherd(shell: Shell) -> None:
    assert await gone(shepherd_of(shell))
    ends = await asyncio.gather(*(shell.run(f"exit {n}", f"c{n}") for n in range(5)))
    assert [end.code for end in ends] == list(range(5))


@pytest.mark.usefixtures("soon")
async def test_one_that_rests_can_be_closed(opened: Open) -> None:
    shell = await opened()
    assert await gone(shepherd_of(shell))
    await shell.processes.close()
