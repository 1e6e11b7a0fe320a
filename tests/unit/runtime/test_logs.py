"""Stored lines as somebody asked for them."""

from datetime import UTC, datetime

import pytest

from fleetqueue.runtime.logs import LogOptions, View

pytestmark = pytest.mark.rule("jobs C.9")

STORED = [
    b"2026-01-01T00:00:00.000000001Z stdout F one\n",
    b"2026-01-01T00:00:01.500000000Z stderr F two\n",
    b"2026-01-01T00:00:02.000000000Z stdout P thr\n",
    b"2026-01-01T00:00:02.100000000Z stdout F ee\n",
    b"2026-01-01T00:00:03.000000000Z stdout F \n",
    b"2026-01-01T00:00:04.000000000Z stdout P unfinished\n",
]
SINCE = datetime(2026, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
STAMPED = (
    b"2026-01-01T00:00:02.000000000Z three\n"
    b"2026-01-01T00:00:03.000000000Z \n"
    b"2026-01-01T00:00:04.000000000Z unfinished"
)

# fmt: off
CASES = {
    "all of it":                         (LogOptions(), b"one\ntwo\nthree\n\nunfinished"),
    "since a moment":                    (LogOptions(since=SINCE), b"two\nthree\n\nunfinished"),
    "standard output":                   (LogOptions(stream="Stdout"), b"one\nthree\n\nunfinished"),
    "standard error":                    (LogOptions(stream="Stderr"), b"two\n"),
    "a number of bytes":                 (LogOptions(limit_bytes=6), b"one\ntw"),
    "times count as bytes":              (LogOptions(limit_bytes=35, timestamps=True),
                                          b"2026-01-01T00:00:00.000000001Z one\n"),
    "one time for a line in pieces":     (LogOptions(since=LATER, timestamps=True), STAMPED),
}
# fmt: on


@pytest.mark.parametrize(("options", "text"), CASES.values(), ids=CASES.keys())
def test_lines_are_shown_as_asked(options: LogOptions, text: bytes) -> None:
    view = View(options)
    assert b"".join(map(view.text, STORED)) == text


def test_a_view_is_full_when_its_bytes_are_used_up() -> None:
    view = View(LogOptions(limit_bytes=4))
    assert not view.is_full
    view.text(STORED[0])
    assert view.is_full
