"""The clusters of a nursery are processes of their own: they end with it, and nothing else does
anything to them that it was not told.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from processes.conftest import gone, is_alive

PROGRAM = Path(__file__).with_name("nursery_program.py")
SECONDS_MAX = 60.0
Program = subprocess.Popen[str]
Tell = Callable[[str], Program]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Tell]:
    """Starts a story."""
    started: list[Program] = []

    def start(story: str) -> Program:
        program = [sys.executable, str(PROGRAM), story, str(tmp_path)]
        started.append(subprocess.Popen(program, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def end_of(program: Program) -> list[dict[str, Any]]:
    out, _ = program.communicate(timeout=SECONDS_MAX)
    assert program.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


def next_of(program: Program) -> dict[str, Any]:
    assert program.stdout is not None
    found: dict[str, Any] = json.loads(program.stdout.readline())
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_that_ends_the_parent_ends_the_children_gracefully(
    told: Tell, tmp_path: Path, number: signal.Signals
) -> None:
    program = told("stops")
    ready = next_of(program)
    assert ready["urls"] == ["https://good", "https://good"]
    program.send_signal(number)
    assert {"over": True} in end_of(program)
    for pid in ready["pids"]:
        assert await gone(pid)
    for name in ("one", "two"):
        assert (tmp_path / f"{name}.log").read_text() == "good lives\ngood ends\n"


async def test_children_whose_parent_was_killed_end_themselves(told: Tell, tmp_path: Path) -> None:
    program = told("stops")
    pids = next_of(program)["pids"]
    assert all(is_alive(pid) for pid in pids)
    program.kill()
    for pid in pids:
        assert await gone(pid)
    assert (tmp_path / "one.log").read_text() == "good lives\ngood ends\n"


def test_a_child_that_was_killed_is_started_again_only_when_somebody_says_so(told: Tell) -> None:
    assert end_of(told("loses")) == [
        {"ended": "one", "code": -9},
        {"again": "one", "is_new": True, "running": 2},
        {"ended": "one", "code": 0},
        {"ended": "two", "code": 0},
        {"left": 0},
        {"over": True},
    ]


def test_a_child_that_cannot_serve_says_why(told: Tell, tmp_path: Path) -> None:
    assert end_of(told("refuses")) == [
        {"error": "no place to be: make one", "code": 1},
        {"error": "breaks failed: RuntimeError('unforeseen')", "code": 1},
        {"over": True},
    ]
    assert "error: no place to be: make one" in (tmp_path / "refuses.log").read_text()
    assert "unforeseen" in (tmp_path / "breaks.log").read_text()


def test_a_child_that_does_not_end_in_time_is_killed(told: Tell) -> None:
    assert end_of(told("stubborn"))[0] == {"code": -9}


def test_waiting_for_readiness_has_an_end(told: Tell) -> None:
    late = {"error": "not ready after 0.0 seconds: late"}
    assert end_of(told("late"))[:2] == [late, {"is_ready": True}]


def test_a_process_with_threads_is_no_nursery(told: Tell) -> None:
    assert "must not have threads" in end_of(told("threads"))[0]["error"]


def test_a_caller_listens_to_others_meanwhile_and_children_do_not(told: Tell) -> None:
    assert end_of(told("follows")) == [{"is_shared": False}, {"heard": "hello"}, {"over": True}]


def test_a_signal_also_ends_the_waiting_and_what_is_not_ready_yet(
    told: Tell, tmp_path: Path
) -> None:
    assert end_of(told("interrupted")) == [{"code": 0}, {"over": True}]
    assert (tmp_path / "slow.log").read_text() == "slow is given up\n"
