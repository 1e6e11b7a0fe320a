"""Output, input and terminals: logs, attach, and processes executed beside a container."""

import asyncio
import re

import pytest

from fleetqueue.runtime.processes import CannotStart, Streams
from fleetqueue.runtime.shepherd.logs import LINE_MAX, SIZE_MAX
from processes.conftest import Open, Shell, is_alive

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


async def read_all(streams: Streams) -> tuple[bytes, bytes]:
    parts = {1: b"", 2: b""}
    while (piece := await asyncio.wait_for(streams.read_output(), 20)) is not None:
        parts[piece[0]] += piece[1]
    streams.close()
    return parts[1], parts[2]


@pytest.mark.rule("jobs C.9")
async def test_each_line_of_a_log_has_its_time_and_stream(shell: Shell) -> None:
    await shell.run("echo one; echo; echo two >&2; printf 'no end'")
    assert all(MOMENT.match(line) for line in shell.log().read_text().splitlines())
    lines = shell.lines()
    assert [line for line in lines if line.startswith("stdout")] == [
        "stdout F one",
        "stdout F ",
        "stdout P no end",
    ]
    assert "stderr F two" in lines


async def test_all_that_was_written_before_the_end_is_in_the_log(shell: Shell) -> None:
    await shell.run("seq 1 20000")
    assert shell.text() == [str(n) for n in range(1, 20001)]


async def test_a_long_line_is_written_in_parts(shell: Shell) -> None:
    await shell.run(f"head -c {2 * LINE_MAX + 5} /dev/zero | tr '\\0' x; echo")
    tags = [line.split(" ", 2)[1] for line in shell.lines()]
    assert tags == ["P", "P", "F"]
    assert "".join(shell.text()) == "x" * (2 * LINE_MAX + 5)


@pytest.mark.rule("jobs C.13")
async def test_a_log_that_grows_is_rotated(shell: Shell) -> None:
    await shell.run("yes 123456789012345678901234567890 | head -n 400000")
    older = shell.log().with_name("c.log.1")
    assert SIZE_MAX < older.stat().st_size < SIZE_MAX + 300_000
    together = older.read_bytes().count(b"\n") + shell.log().read_bytes().count(b"\n")
    newest = shell.log().with_name("c.log.2")
    together += newest.read_bytes().count(b"\n") if newest.exists() else 0
    assert together == 400_000


async def test_who_attaches_sees_output_from_then_on(shell: Shell) -> None:
    go, again = shell.pipe("go"), shell.pipe("again")
    script = f"read x < {go}; echo before; read x < {again}; echo after; echo wrong >&2"
    process = await shell.start(script)
    first = await process.attach()
    go.write_text("on\n")
    assert await first.read_output() == (1, b"before\n")
    second = await process.attach()
    again.write_text("on\n")
    assert await read_all(first) == (b"after\n", b"wrong\n")
    assert await read_all(second) == (b"after\n", b"wrong\n")
    assert sorted(shell.text()) == ["after", "before", "wrong"]


async def test_who_attaches_can_write(shell: Shell) -> None:
    process = await shell.start("cat; echo done", stdin=True)
    streams = await process.attach()
    await streams.write_input(b"hello\n")
    assert await streams.read_output() == (1, b"hello\n")
    await streams.close_input()
    process.close_input()
    assert await read_all(streams) == (b"done\n", b"")
    assert (await process.wait()).code == 0


async def test_somebody_who_does_not_read_delays_nobody(shell: Shell) -> None:
    go = shell.pipe("go")
    process = await shell.start(f"read x < {go}; seq 1 100000")
    streams = await process.attach()
    go.write_text("on\n")
    assert (await process.wait()).code == 0
    assert len(shell.text()) == 100000
    output, _ = await read_all(streams)
    assert output.endswith(b"100000\n")


async def test_a_terminal_is_one(shell: Shell) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; read x; stty size"
    process = await shell.start(script, tty=True)
    streams = await process.attach()
    streams.resize(132, 43)
    await streams.write_input(b"go\n")
    output, _ = await read_all(streams)
    assert b"43 132" in output
    assert (await process.wait()).code == 0
    # The terminal shows what is typed, perhaps before the program comes to its first word.
    assert {"yes", "go", "43 132"} <= {line.strip() for line in shell.text()}


@pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "no namespaces"])
async def test_another_process_shares_the_view_of_a_container(
    opened: Open, namespaces: bool
) -> None:
    shell = await opened(namespaces=namespaces)
    main = await shell.start("sleep 1000", hostname="pod-1")
    command = shell.command("hostname; echo wrong >&2; cat; exit 9", stdin=True)
    process, streams = await main.execute(command)
    await streams.write_input(b"typed")
    await streams.close_input()
    output, errors = await read_all(streams)
    assert output.endswith(b"typed")
    assert output.startswith(b"pod-1\n") == shell.processes.has_namespaces
    assert errors == b"wrong\n"
    assert (await process.wait()).code == 9
    assert is_alive(main.pid)
    assert shell.text() == [], "what it writes is not the container's output"


async def test_a_terminal_beside_a_container(shell: Shell) -> None:
    main = await shell.start("sleep 1000")
    command = shell.command("tty > /dev/null && echo terminal; read x; stty size", tty=True)
    process, streams = await main.execute(command)
    assert await streams.read_output() == (1, b"terminal\r\n")
    streams.resize(100, 40)
    await streams.write_input(b"\n")
    output, _ = await read_all(streams)
    assert output.endswith(b"40 100\r\n")
    assert (await process.wait()).code == 0


async def test_what_cannot_be_executed_is_refused(shell: Shell) -> None:
    main = await shell.start("sleep 1000")
    command = shell.command("true")
    with pytest.raises(CannotStart, match="executable file not found"):
        await main.execute(type(command)(("nope",), command.env, command.cwd))
    main.kill()
    await main.wait()
    with pytest.raises(CannotStart, match="container not running"):
        await main.execute(command)


async def test_a_process_beside_a_container_ends_with_it(shell: Shell) -> None:
    main = await shell.start("sleep 1000")
    process, streams = await main.execute(shell.command("sleep 1000 & sleep 1000"))
    main.kill()
    await main.wait()
    assert (await process.wait()).code == 137
    assert await read_all(streams) == (b"", b"")


async def test_what_it_leaves_running_holds_nobody_up(shell: Shell) -> None:
    main = await shell.start("sleep 1000")
    process, streams = await main.execute(shell.command("sleep 1000 & echo done"))
    assert await read_all(streams) == (b"done\n", b"")
    assert (await process.wait()).code == 0
    main.kill()
    await main.wait()
