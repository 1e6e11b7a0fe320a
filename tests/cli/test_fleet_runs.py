"""What `up`, `down` and `status` say where no process is needed to know it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "fleet"


def run(verb: str, home: Path, *options: str) -> tuple[int, str]:
    """The exit code, and what it says on one side or the other."""
    words = [sys.executable, "-m", "fleetqueue", verb, "--dir", str(home), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def known(home: Path, **facts: object) -> None:
    """As an earlier start left it."""
    home.mkdir()
    (home / "fleet.json").write_text(json.dumps(facts))


def test_files_of_an_earlier_start_are_forgotten_when_told_so(home: Path) -> None:
    known(home, config="/gone", images="/gone/too")

    assert "/gone cannot be read" in run("up", home)[1]
    assert "/gone/too cannot be read" in run("up", home, "--no-config")[1]
    assert "do without: --no-config" in run("up", home, "--no-images")[1]


def test_a_file_cannot_be_named_and_forgotten(home: Path) -> None:
    code, said = run("up", home, "--config", __file__, "--no-config")

    assert code == 2
    assert "--config and --no-config exclude each other" in said


def test_where_there_is_no_fleet_it_is_told_how_to_start_one_there(home: Path) -> None:
    code, said = run("status", home)

    assert code == 1
    assert said.endswith(f"there is no fleet in {home}; start one: fleetqueue up --dir {home}\n")


@pytest.mark.parametrize("file", ["fleet.new", "logs/manager.pid"])
def test_a_disk_that_is_full_is_named_with_what_to_do(home: Path, file: str) -> None:
    (home / "logs").mkdir(parents=True)
    (home / file).symlink_to("/dev/full")
    code, said = run("up", home, "--workers", "1", "--simulate")

    assert code == 1
    assert f'the disk of "{home}" is full: free space on it, or choose another directory' in said
