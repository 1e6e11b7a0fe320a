"""How containers start and end: exit codes, signals, and commands that cannot be run."""

import asyncio
import signal
from pathlib import Path

import pytest

from fleetqueue.runtime.processes import CannotStart, Command, Limits
from processes.conftest import ENV, Shell, is_alive, said

# fmt: off
ENDS = {  #                                           code  signal
    "ends well":             ("true",                 0,    0),
    "ends badly":            ("exit 3",               3,    0),
    "kills itself":          ("kill -KILL $$",        137,  9),
    "is told to end":        ("kill -TERM $$",        143,  15),
    "crashes":               ("kill -SEGV $$",        139,  11),
    "ends with a high code": ("exit 255",             255,  0),
}
NO_START = {
    "not in PATH":    ("nope",        "executable file not found in $PATH"),
    "no such file":   ("/nope/x",     "stat /nope/x: no such file or directory"),
    "a directory":    ("/etc",        "is a directory"),
    "not executable": ("/etc/passwd", "permission denied"),
}
# fmt: on


@pytest.mark.rule("jobs C.2")
@pytest.mark.parametrize(("script", "code", "number"), ENDS.values(), ids=ENDS.keys())
async def test_the_end_of_a_process_is_told(
    shell: Shell, script: str, code: int, number: int
) -> None:
    end = await shell.run(script)
    assert (end.code, end.signal, end.message) == (code, number, "")
    assert end.finished_at is not None


@pytest.mark.parametrize(("program", "message"), NO_START.values(), ids=NO_START.keys())
async def test_a_command_that_cannot_run_is_refused_in_known_words(
    shell: Shell, program: str, message: str
) -> None:
    with pytest.raises(CannotStart) as refusal:
        await shell.processes.start("c", Command((program,), ENV, shell.directory), shell.log())
    assert str(refusal.value) == f'exec: "{program}": {message}'
    assert await shell.processes.find("c") is None
    assert await shell.processes.ended("c") is None


async def test_starts_that_fail_disturb_nobody(shell: Shell) -> None:
    lasting = await shell.start("sleep 1000", "lasting")
    nope = Command(("nope",), ENV, shell.directory)
    tried = [shell.processes.start(f"c{n}", nope, shell.log(f"c{n}")) for n in range(40)]
    ends = await asyncio.gather(*tried, return_exceptions=True)
    assert {type(end) for end in ends} == {CannotStart}
    assert await shell.processes.find("lasting") is lasting
    assert is_alive(lasting.pid)


async def test_a_file_the_kernel_cannot_execute_ends_with_words_in_the_log(shell: Shell) -> None:
    broken = shell.directory / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    command = Command((str(broken),), ENV, shell.directory)
    process = await shell.processes.start("c", command, shell.log())
    assert (await process.wait()).code == 255
    assert shell.lines() == [f"stderr F exec {broken}: no such file or directory"]


async def test_a_signal_reaches_the_main_process_alone(shell: Shell) -> None:
    ready, told, go = shell.pipe("ready"), shell.pipe("told"), shell.pipe("go")
    process = await shell.start(
        f"(read x < {go}) & child=$!;"
        f"trap 'echo on > {told}; wait $child; echo child $?; exit 7' TERM;"
        f"echo on > {ready}; while :; do wait $child; done"
    )
    await said(ready)
    process.signal(signal.SIGTERM)
    await said(told)
    go.write_text("on\n")
    assert (await process.wait()).code == 7
    assert shell.text() == ["child 0"]


async def test_killing_is_final(shell: Shell) -> None:
    pipe = shell.pipe("ready")
    process = await shell.start(f"trap '' TERM; echo on > {pipe}; while :; do sleep 1; done")
    await said(pipe)
    process.signal(signal.SIGTERM)
    process.kill()
    end = await process.wait()
    assert (end.code, end.signal) == (137, 9)
    assert await process.wait() == end
    process.signal(signal.SIGTERM)
    process.kill()


async def test_an_id_names_one_process_at_a_time(shell: Shell) -> None:
    process = await shell.start("sleep 100")
    assert await shell.processes.find("c") is process
    assert await shell.processes.ended("c") is None
    with pytest.raises(CannotStart):
        await shell.start("true")
    process.kill()
    end = await process.wait()
    assert await shell.processes.find("c") is None
    assert await shell.processes.ended("c") == end


async def test_a_missing_working_directory_is_made(shell: Shell) -> None:
    place = shell.directory / "not" / "there"
    await shell.run("pwd", cwd=place)
    assert shell.text() == [str(place)]
    with pytest.raises(CannotStart, match=r'chdir to cwd \("/etc/passwd/x"\)'):
        await shell.run("pwd", cwd=Path("/etc/passwd/x"))


@pytest.mark.rule("jobs C.3")
async def test_nothing_of_the_servers_surroundings_leaks(shell: Shell) -> None:
    await shell.run("env | sort; ls /proc/self/fd | wc -l; umask; ulimit -n; ulimit -Hn; cat")
    *variables, count, mask, soft, hard = shell.text()
    names = {line.partition("=")[0] for line in variables}
    assert names <= {"PATH", "FLEETQUEUE_CONTAINER_ID", "PWD", "OLDPWD", "SHLVL", "_"}
    assert int(count) == 4, "standard streams, and the directory that ls reads"
    assert (mask, soft) == ("0022", hard)


async def test_the_number_of_open_files_can_be_limited(shell: Shell) -> None:
    await shell.run("ulimit -n; ulimit -Hn", limits=Limits(open_files=77))
    assert shell.text() == ["77", "77"]


@pytest.mark.rule("jobs C.3")
async def test_each_container_leads_a_session_of_its_own(shell: Shell) -> None:
    pipe = shell.pipe("ids")
    process = await shell.start(f"cut -d' ' -f5,6 /proc/$$/stat > {pipe}; sleep 100")
    assert await said(pipe) == f"{process.pid} {process.pid}"


async def test_many_at_once(shell: Shell) -> None:
    ends = await asyncio.gather(*(shell.run(f"echo {n}; exit {n}", f"c{n}") for n in range(20)))
    assert [end.code for end in ends] == list(range(20))
    assert [shell.text(f"c{n}") for n in range(20)] == [[str(n)] for n in range(20)]
