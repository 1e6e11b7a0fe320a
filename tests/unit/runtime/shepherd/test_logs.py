"""Log files: how lines are written, and when a file is full."""

from pathlib import Path

import pytest

from fleetqueue.runtime.shepherd.logs import LINE_MAX, Log, format_lines, timestamp

LONG = b"x" * (LINE_MAX + 1)


def stored(path: Path) -> list[str]:
    return [line.partition(" ")[2] for line in path.read_text().splitlines()]


@pytest.mark.rule("jobs C.13")
def test_times_have_nine_digits() -> None:
    assert timestamp(1_767_225_600_000_000_042) == b"2026-01-01T00:00:00.000000042Z"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"a", b"T stdout F a\n"),
        (b"a\n\nb", b"T stdout F a\nT stdout F \nT stdout F b\n"),
        (LONG, b"T stdout P " + LONG[:-1] + b"\nT stdout F x\n"),
    ],
)
def test_lines(lines: bytes, expected: bytes) -> None:
    assert format_lines(b"T", "stdout", lines) == expected


def test_a_line_waits_for_its_end(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"))
    log.feed("stdout", b"one\ntw")
    log.feed("stderr", b"other\n")
    log.feed("stdout", b"o\nthr")
    assert stored(tmp_path / "log") == ["stdout F one", "stderr F other", "stdout F two"]
    log.close()
    assert stored(tmp_path / "log")[-1] == "stdout P thr"


def test_a_line_without_end_is_written_in_parts(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"))
    log.feed("stdout", LONG)
    log.feed("stdout", b"\n")
    log.close()
    assert [line.split(" ")[1] for line in stored(tmp_path / "log")] == ["P", "F"]


@pytest.mark.rule("jobs C.13")
def test_full_files_are_rotated_and_the_oldest_dropped(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), size_max=60, files_max=3)
    for number in range(10):
        log.feed("stdout", b"%d ten chars\n" % number)
    log.close()
    texts = {path.name: [line[9] for line in stored(path)] for path in tmp_path.iterdir()}
    assert texts == {"log": [], "log.1": ["8", "9"], "log.2": ["6", "7"]}


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    for text in (b"one\n", b"two\n"):
        log = Log(str(tmp_path / "log"))
        log.feed("stdout", text)
        log.close()
    assert stored(tmp_path / "log") == ["stdout F one", "stdout F two"]
