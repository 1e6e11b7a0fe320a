"""Times and spans print and read as Go and kubectl do."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fleetqueue.api import times
from fleetqueue.api.times import TimeError

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
LAYOUT = "2006-01-02T15:04:05Z07:00"


def test_times_print_in_utc() -> None:
    east = MOMENT.astimezone(timezone(timedelta(hours=2)))
    assert times.format_time(east) == "2026-01-02T03:04:05Z"
    assert times.format_micro_time(east) == "2026-01-02T03:04:05.678901Z"
    assert times.format_time(datetime(33, 1, 2, tzinfo=UTC)) == "0033-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", MOMENT.replace(microsecond=0)),
        ("2026-01-02T03:04:05.678901999Z", MOMENT),
        ("2026-01-02T05:04:05.678901+02:00", MOMENT),
        ("2026-01-01T03:04:05.678901-24:00", MOMENT),
        ("2026-01-02T3:04:05,678901Z", MOMENT),
    ],
)
def test_times_read_with_any_offset(text: str, moment: datetime) -> None:
    assert times.parse_time(text) == moment


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f'parsing time "" as "{LAYOUT}": cannot parse "" as "2006"'),
        ("abc", f'parsing time "abc" as "{LAYOUT}": cannot parse "abc" as "2006"'),
        ("2026-01-02", f'parsing time "2026-01-02" as "{LAYOUT}": cannot parse "" as "T"'),
        (
            "2026-01-02T03:04:05",
            f'parsing time "2026-01-02T03:04:05" as "{LAYOUT}": cannot parse "" as "Z07:00"',
        ),
        ("2026-13-02T03:04:05Z", 'parsing time "2026-13-02T03:04:05Z": month out of range'),
        ("2026-02-30T03:04:05Z", 'parsing time "2026-02-30T03:04:05Z": day out of range'),
        ("2026-01-02T24:04:05Z", 'parsing time "2026-01-02T24:04:05Z": hour out of range'),
        ("2026-01-02T03:04:05ZZ", 'parsing time "2026-01-02T03:04:05ZZ": extra text: "Z"'),
        (
            "2026-01-02T03:04:05+25:00",
            'parsing time "2026-01-02T03:04:05+25:00": time zone offset hour out of range',
        ),
        ("é", f'parsing time "\\xc3\\xa9" as "{LAYOUT}": cannot parse "\\xc3\\xa9" as "2006"'),
    ],
)
def test_text_that_is_no_time_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(TimeError) as caught:
        times.parse_time(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("0", 0, "0s"),
        ("1h", 3600 * 10**9, "1h0m0s"),
        ("1.5h", 5400 * 10**9, "1h30m0s"),
        ("90s", 90 * 10**9, "1m30s"),
        ("1.5s", 1_500_000_000, "1.5s"),
        ("300ms", 300_000_000, "300ms"),
        ("1us", 1000, "1µs"),
        ("1µs", 1000, "1µs"),
        ("1500ns", 1500, "1.5µs"),
        ("-1m", -60 * 10**9, "-1m0s"),
        ("+5s", 5 * 10**9, "5s"),
        ("1h15m30.918273645s", 4530918273645, "1h15m30.918273645s"),
        ("-2562047h47m16.854775808s", -(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_durations_read_and_print(text: str, nanoseconds: int, printed: str) -> None:
    assert times.parse_nanoseconds(text) == nanoseconds
    assert times.format_nanoseconds(nanoseconds) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("3", 'time: missing unit in duration "3"'),
        ("3x", 'time: unknown unit "x" in duration "3x"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_text_that_is_no_duration_is_refused(text: str, message: str) -> None:
    with pytest.raises(TimeError) as caught:
        times.parse_nanoseconds(text)
    assert str(caught.value) == message


def test_durations_are_timedeltas_where_microseconds_are_enough() -> None:
    assert times.parse_duration("1h0m0.5s") == timedelta(hours=1, milliseconds=500)
    assert times.format_duration(timedelta(minutes=5)) == "5m0s"


@pytest.mark.parametrize(
    ("seconds", "human"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (5, "5s"),
        (119, "119s"),
        (150, "2m30s"),
        (180, "3m"),
        (660, "11m"),
        (3 * 3600 + 12 * 60, "3h12m"),
        (9 * 3600 + 60, "9h"),
        (52 * 3600, "2d4h"),
        (45 * 86400, "45d"),
        ((3 * 365 + 100) * 86400, "3y100d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_print_as_kubectl_prints_them(seconds: int, human: str) -> None:
    assert times.human_duration(timedelta(seconds=seconds)) == human
