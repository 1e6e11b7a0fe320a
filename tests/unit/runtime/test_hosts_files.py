"""Hosts files that change while programs read them."""

import os
from pathlib import Path

import pytest

from fleetqueue.runtime.hosts_files import HostsFile

pytestmark = pytest.mark.rule("jobs C.6")
HEAD = "127.0.0.1\tlocalhost\n"


class Writes:
    """Counts what is written."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, descriptor: int, data: bytes, place: int) -> int:
        self.sizes.append(len(data))
        return os.pwrite(descriptor, data, place)


def lines(path: Path) -> list[str]:
    """Without what is blank."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def test_lines_are_added_and_taken_away_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "etc" / "hosts"
    file = HostsFile(path, HEAD)
    inode = path.stat().st_ino
    file.update({1: "a\tone\n", 2: "b\ttwo\n"})
    file.update({1: None, 3: "c\tthree\n", 4: None})
    assert lines(path) == ["127.0.0.1\tlocalhost", "b\ttwo", "c\tthree"]
    assert path.stat().st_ino == inode, "it is bound into containers"
    file.update({2: "d\ttwo\n"})
    assert lines(path) == ["127.0.0.1\tlocalhost", "c\tthree", "d\ttwo"]
    file.remove()
    assert not path.exists()


def test_a_change_costs_what_changed_and_no_more(tmp_path: Path) -> None:
    writes = Writes()
    file = HostsFile(tmp_path / "hosts", HEAD, writes)
    file.update({number: f"127.1.0.{number}\tname-{number}\n" for number in range(200)})
    writes.sizes.clear()
    file.update({7: "127.1.0.7\tname-7\n"})
    assert writes.sizes == [], "nothing new"
    file.update({7: "127.1.9.7\tname-7\n", 500: "127.1.9.9\tnew\n"})
    assert writes.sizes == [len("127.1.9.7\tname-7\n127.1.9.9\tnew\n"), len("127.1.0.7\tname-7\n")]


def test_a_line_that_stays_is_there_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    seen: list[list[str]] = []

    def write(descriptor: int, data: bytes, place: int) -> int:
        done = os.pwrite(descriptor, data, place)
        seen.append(lines(path))
        return done

    file = HostsFile(path, HEAD, write)
    file.update({"stays": "a\tstays\n", "moves": "b\tmoves\n"})
    seen.clear()
    file.update({"moves": "c\tmoves\n"})
    assert seen
    assert all("a\tstays" in each for each in seen)
    assert all(any(line.endswith("\tmoves") for line in each) for each in seen)


def test_what_is_blank_is_cleared_away_when_it_is_most_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    file = HostsFile(path, HEAD)
    inode = path.stat().st_ino
    file.update({"stays": "a\tstays\n"})
    for number in range(300):
        file.update({"moves": f"127.0.0.{number}\t{'n' * 200}\n"})
    assert path.stat().st_size < 40_000
    assert path.stat().st_ino == inode
    assert lines(path)[1:] == ["a\tstays", f"127.0.0.299\t{'n' * 200}"]
