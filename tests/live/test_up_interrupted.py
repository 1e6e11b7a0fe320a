"""A fleet that is interrupted in its start, and one whose directory is removed under it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetqueue.local_fleet.held import Phase
from fleetqueue.local_fleet.lock import Lock
from support.local_fleet import LocalFleet
from support.server import wait_until

OPTIONS = ("--workers", "1", "--simulate")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    made = LocalFleet(tmp_path / "dir")
    yield made
    made.down()


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores an interrupt, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def starting(fleet: LocalFleet) -> "subprocess.Popen[str]":
    """As typed in a terminal: in a process group of its own."""
    words = [sys.executable, "-m", "fleetqueue", "up", "--dir", str(fleet.path), *OPTIONS]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def reaches(fleet: LocalFleet, phase: Phase) -> None:
    lock = Lock(fleet.path / "lock")
    wait_until(f"it is {phase}", lambda: lock.phase() is phase)


def test_a_start_is_told_of_and_an_interrupted_one_leaves_nothing_behind(
    fleet: LocalFleet,
) -> None:
    up = starting(fleet)
    reaches(fleet, Phase.STARTING)
    said = fleet.command("status", "--dir", str(fleet.path), code=3)
    assert said == f"the fleet in {fleet.path} is starting: ask again in a moment\n"
    assert f"a fleet is starting in {fleet.path}" in fleet.up(code=1)
    os.killpg(up.pid, signal.SIGINT)
    told = up.communicate(timeout=60)[0]

    assert not fleet.processes()
    assert told.strip() == f"stopped before all was ready; nothing runs in {fleet.path}"
    assert up.returncode == 130
    assert "stopped" in fleet.command("status", "--dir", str(fleet.path), code=3)


def test_one_that_is_interrupted_after_its_clusters_answer_leaves_nothing_either(
    fleet: LocalFleet,
) -> None:
    up = starting(fleet)
    reaches(fleet, Phase.RUNNING)
    os.killpg(up.pid, signal.SIGINT)
    told = up.communicate(timeout=60)[0]

    assert not fleet.processes()
    assert f"nothing runs in {fleet.path}" in told
    # A shell says 130 of both: Python ends by the signal where it came amid an import.
    assert up.returncode in (130, -signal.SIGINT)
    # What was not finished is finished by the next.
    assert "running: manager, worker-1" in fleet.up()


def test_a_fleet_that_is_stopped_in_its_start_says_so_where_it_was_started(
    fleet: LocalFleet,
) -> None:
    up = starting(fleet)
    reaches(fleet, Phase.STARTING)
    assert fleet.down().startswith("stopped; ")
    told = up.communicate(timeout=60)[0]

    assert not fleet.processes()
    assert up.returncode == 1
    assert "did not start" in told or "was stopped before it ran" in told


def test_a_fleet_whose_directory_is_removed_ends(fleet: LocalFleet) -> None:
    fleet.up(*OPTIONS)
    assert fleet.processes()
    with (fleet.path / "logs" / "fleet.log").open() as log:
        shutil.rmtree(fleet.path, ignore_errors=True)
        wait_until("the end of all", lambda: not fleet.processes())
        assert f"{fleet.path} was removed: the fleet ends" in log.read()
