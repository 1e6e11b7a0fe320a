"""Logs that were fetched are stored as those of this machine are, and read the same way."""

from pathlib import Path

import pytest

from fleetqueue.embedded.reach.stored_lines import LINE_BYTES_MAX, StoredLines, in_utc
from fleetqueue.runtime.log_cursor import Cursor
from fleetqueue.runtime.logs import LogOptions, View, files

FIRST, SECOND = b"2026-01-01T00:00:00.000000001Z", b"2026-01-01T00:00:01.000000000Z"


def store(path: Path, *chunks: bytes, bytes_max: int = 10**6) -> None:
    with StoredLines(path, bytes_max) as stored:
        for chunk in chunks:
            stored.feed(chunk)


def read(path: Path, options: LogOptions) -> bytes:
    cursor = Cursor(path, options.tail_lines)
    try:
        return b"".join(map(View(options).text, cursor.read(10**6)))
    finally:
        cursor.close()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_text_is_the_same_however_it_came(tmp_path: Path, size: int) -> None:
    text = FIRST + b" one two\n" + SECOND + b" \n" + SECOND + b" end"
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    path = tmp_path / "log"
    store(path, *chunks)
    assert read(path, LogOptions()) == b"one two\n\nend"
    assert read(path, LogOptions(timestamps=True)) == text
    assert read(path, LogOptions(tail_lines=1)) == b"end"


def test_a_long_line_is_one_line_again(tmp_path: Path) -> None:
    line = b"x" * (3 * LINE_BYTES_MAX)
    path = tmp_path / "log"
    store(path, FIRST + b" " + line + b"\n", SECOND + b" next\n")
    assert read(path, LogOptions()) == line + b"\nnext\n"
    assert read(path, LogOptions(timestamps=True)).count(FIRST) == 1
    assert read(path, LogOptions(tail_lines=1)) == b"next\n"


def test_of_a_long_log_the_end_stays(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [FIRST + b" %06d\n" % number for number in range(1000)]
    store(path, *lines, bytes_max=5000)
    kept = read(path, LogOptions()).splitlines()
    assert kept[-1] == b"000999"
    assert kept == [b"%06d" % number for number in range(1000 - len(kept), 1000)]
    assert 5000 <= sum(each.stat().st_size for each in files(path)) <= 10_000


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (FIRST, FIRST),
        (b"2026-01-01T02:00:00.000001000+01:00", b"2026-01-01T01:00:00.000001000Z"),
        (b"nothing", b"nothing"),
    ],
)
def test_times_of_other_zones_are_stored_as_utc(stamp: bytes, expected: bytes) -> None:
    assert in_utc(stamp) == expected


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "log").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic link"):
        store(tmp_path / "log", FIRST + b" x\n")
    assert (tmp_path / "precious").read_text() == "precious"


def test_others_on_the_machine_do_not_read_it(tmp_path: Path) -> None:
    store(tmp_path / "log", FIRST + b" x\n")
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0
