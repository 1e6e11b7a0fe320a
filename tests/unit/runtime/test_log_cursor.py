"""A log that is read while it grows and rotates loses no line and repeats none."""

from pathlib import Path

import pytest

from fleetqueue.runtime.log_cursor import Cursor

pytestmark = pytest.mark.rule("jobs C.9")
START = "2026-01-01T00:00:00.000000000Z stdout"


def line(text: str, tag: str = "F") -> bytes:
    return f"{START} {tag} {text}\n".encode()


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def rotate(path: Path) -> None:
    for number in (3, 2, 1):
        older = path.with_name(f"{path.name}.{number}")
        if older.exists():
            older.rename(path.with_name(f"{path.name}.{number + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))


def texts(cursor: Cursor, lines_max: int = 100) -> list[str]:
    return [stored.split(b" ", 3)[3].decode().strip() for stored in cursor.read(lines_max)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


def test_a_log_that_is_not_there_yet_has_no_lines(path: Path) -> None:
    cursor = Cursor(path)
    assert texts(cursor) == []
    add(path, line("first"))
    assert texts(cursor) == ["first"]
    cursor.close()


def test_lines_are_read_once_as_they_come(path: Path) -> None:
    add(path, line("a"), line("b"), line("c"))
    cursor = Cursor(path)
    assert texts(cursor, 2) == ["a", "b"]
    assert texts(cursor, 2) == ["c"]
    assert texts(cursor) == []
    add(path, line("d"))
    assert texts(cursor) == ["d"]
    cursor.close()


def test_a_line_is_read_when_it_is_whole(path: Path) -> None:
    add(path, line("a"), line("half")[:-3])
    cursor = Cursor(path)
    assert texts(cursor) == ["a"]
    add(path, line("half")[-3:])
    assert texts(cursor) == ["half"]
    cursor.close()


def test_rotation_loses_and_repeats_nothing(path: Path) -> None:
    add(path, line("a"))
    cursor = Cursor(path)
    assert texts(cursor) == ["a"]
    add(path, line("b"))
    rotate(path)
    add(path, line("c"))
    rotate(path)
    add(path, line("d"))
    assert texts(cursor) == ["b", "c", "d"]
    cursor.close()


def test_rotated_files_are_read_from_the_oldest(path: Path) -> None:
    add(path, line("a"))
    rotate(path)
    add(path, line("b"))
    cursor = Cursor(path)
    assert texts(cursor) == ["a", "b"]
    cursor.close()


def test_a_file_that_is_not_begun_yet_after_rotation_is_waited_for(path: Path) -> None:
    add(path, line("a"))
    cursor = Cursor(path)
    texts(cursor)
    rotate(path)
    assert texts(cursor) == []
    add(path, line("b"))
    assert texts(cursor) == ["b"]
    cursor.close()


def test_a_reader_that_was_left_behind_goes_on_with_the_oldest(path: Path) -> None:
    add(path, line("a"))
    cursor = Cursor(path)
    texts(cursor)
    rotate(path)
    path.with_name("0.log.1").unlink()
    add(path, line("z"))
    assert texts(cursor) == ["z"]
    cursor.close()


# fmt: off
TAILS = {  #                              older,   newer,                  count, shown
    "some":                              ("a b",   "c d",                  1,     "d"),
    "none":                              ("a b",   "c d",                  0,     ""),
    "just a file":                       ("a b",   "c d",                  2,     "c d"),
    "more than a file":                  ("a b",   "c d",                  3,     "b c d"),
    "more than there are":               ("a b",   "c d",                  9,     "a b c d"),
    "nothing new":                       ("a b",   "",                     1,     "b"),
    "a line in pieces is one":           ("a",     "b c1- c2- c3 d",       2,     "c1- c2- c3 d"),
    "an unfinished line is one":         ("a",     "c d-",                 1,     "d-"),
    "an unfinished line and another":    ("a",     "b c d-",               2,     "c d-"),
}
# fmt: on


@pytest.mark.parametrize(("older", "newer", "count", "shown"), TAILS.values(), ids=TAILS.keys())
def test_the_tail_of_a_log(path: Path, older: str, newer: str, count: int, shown: str) -> None:
    for number, group in enumerate((older, newer)):
        if number:
            rotate(path)
        path.touch()
        add(path, *(line(text, "P" if text.endswith("-") else "F") for text in group.split()))
    cursor = Cursor(path, count)
    assert texts(cursor) == shown.split()
    add(path, line("new"))
    assert texts(cursor) == ["new"]
    cursor.close()


def test_the_tail_of_no_log_is_all_that_comes(path: Path) -> None:
    cursor = Cursor(path, 5)
    add(path, line("first"))
    assert texts(cursor) == ["first"]
    cursor.close()
