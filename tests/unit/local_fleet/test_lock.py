"""Who runs a fleet, and how far they are."""

import os
import shutil
from pathlib import Path

import pytest

from fleetqueue.errors import UserError
from fleetqueue.local_fleet.held import Phase
from fleetqueue.local_fleet.lock import Lock, check_free


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    (tmp_path / "fleet").mkdir()
    path = tmp_path / "fleet" / "lock"
    path.touch()
    return Lock(path)


def test_how_far_a_fleet_is_can_be_asked_at_any_time(lock: Lock) -> None:
    assert lock.phase() is Phase.STOPPED
    with lock.hold() as held:
        assert (lock.pid(), lock.phase()) == (os.getpid(), Phase.STARTING)
        for phase in (Phase.RUNNING, Phase.STOPPING):
            held.tell(phase)
            assert (lock.pid(), lock.phase()) == (os.getpid(), phase)
    assert (lock.pid(), lock.phase()) == (None, Phase.STOPPED)


def test_where_there_is_no_directory_nothing_runs(tmp_path: Path) -> None:
    assert Lock(tmp_path / "no" / "lock").phase() is Phase.STOPPED


@pytest.mark.parametrize(
    ("phase", "sentence"),
    [
        (Phase.STARTING, "a fleet is starting in /x: `fleetqueue status --dir /x` says when"),
        (Phase.RUNNING, "a fleet runs in /x already"),
        (Phase.STOPPING, "the fleet in /x is stopping: try again in a moment"),
    ],
)
def test_another_cannot_start_beside_it(phase: Phase, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        check_free(Path("/x"), phase)


def test_whoever_holds_it_learns_that_its_directory_is_gone(lock: Lock) -> None:
    with lock.hold() as held:
        assert held.is_in_place()
        shutil.rmtree(lock.path.parent)
        assert not held.is_in_place()
        lock.path.parent.mkdir()
        lock.path.touch()
        assert not held.is_in_place()
