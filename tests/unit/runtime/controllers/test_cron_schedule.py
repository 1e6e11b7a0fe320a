"""When a cron schedule is next due."""

from datetime import UTC, datetime

import pytest

from fleetqueue.runtime.controllers.cron_schedule import ScheduleError, parse_schedule

NEXT = {
    "every minute": ("* * * * *", None, "2026-01-01T00:00:30", "2026-01-01T00:01:00"),
    "never at the time itself": ("0 * * * *", None, "2026-01-01T01:00:00", "2026-01-01T02:00:00"),
    "a step": ("*/15 * * * *", None, "2026-01-01T00:16:00", "2026-01-01T00:30:00"),
    "from a number on by steps": (
        "5/20 * * * *",
        None,
        "2026-01-01T00:26:00",
        "2026-01-01T00:45:00",
    ),
    "a range by steps": ("0 9-17/4 * * *", None, "2026-01-01T13:30:00", "2026-01-01T17:00:00"),
    "a list": ("0 3,9 * * *", None, "2026-01-01T03:00:00", "2026-01-01T09:00:00"),
    "the end of a month": ("0 0 31 * *", None, "2026-01-31T00:00:00", "2026-03-31T00:00:00"),
    "a leap day": ("0 0 29 2 *", None, "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
    "names": ("0 0 ? JAN mon", None, "2026-01-06T00:00:00", "2026-01-12T00:00:00"),
    "either day, where both are told": (
        "0 0 13 * fri",
        None,
        "2026-01-01T00:00:00",
        "2026-01-02T00:00:00",
    ),
    "or the other": ("0 0 13 * fri", None, "2026-01-10T00:00:00", "2026-01-13T00:00:00"),
    "both days, where one is a star": (
        "0 0 * * fri",
        None,
        "2026-01-03T00:00:00",
        "2026-01-09T00:00:00",
    ),
    "a step is no star": ("0 0 */2 * mon", None, "2026-01-05T00:00:00", "2026-01-07T00:00:00"),
    "Sunday is zero": ("0 0 * * 0", None, "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
    "hourly": ("@hourly", None, "2026-01-01T00:20:00", "2026-01-01T01:00:00"),
    "daily": ("@daily", None, "2026-01-01T00:20:00", "2026-01-02T00:00:00"),
    "midnight": ("@midnight", None, "2026-01-01T00:20:00", "2026-01-02T00:00:00"),
    "weekly": ("@weekly", None, "2026-01-01T00:20:00", "2026-01-04T00:00:00"),
    "monthly": ("@monthly", None, "2026-01-01T00:20:00", "2026-02-01T00:00:00"),
    "yearly": ("@yearly", None, "2026-01-01T00:20:00", "2027-01-01T00:00:00"),
    "every so often": ("@every 1h30m", None, "2026-01-01T00:20:10", "2026-01-01T01:50:10"),
    "every moment at least a second": (
        "@every 1ms",
        None,
        "2026-01-01T00:20:10",
        "2026-01-01T00:20:11",
    ),
    "in a zone": ("0 9 * * *", "Europe/Berlin", "2026-01-01T00:00:00", "2026-01-01T08:00:00"),
    "in a zone, in summer": (
        "0 9 * * *",
        "Europe/Berlin",
        "2026-07-01T00:00:00",
        "2026-07-01T07:00:00",
    ),
    "a zone of half hours": (
        "0 9 * * *",
        "Asia/Kolkata",
        "2026-01-01T00:00:00",
        "2026-01-01T03:30:00",
    ),
    "the text's own zone counts": (
        "TZ=Asia/Tokyo 0 9 * * *",
        "Europe/Berlin",
        "2026-01-01T01:00:00",
        "2026-01-02T00:00:00",
    ),
    "CRON_TZ too": (
        "CRON_TZ=Asia/Tokyo 0 9 * * *",
        None,
        "2026-01-01T01:00:00",
        "2026-01-02T00:00:00",
    ),
    "an hour that is left out": (
        "30 2 * * *",
        "America/New_York",
        "2026-03-08T00:00:00",
        "2026-03-09T06:30:00",
    ),
    "an hour that comes twice": (
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T05:30:00",
        "2026-11-01T06:30:00",
    ),
    "a midnight that is left out": (
        "0 0 * * *",
        "America/Sao_Paulo",
        "2018-11-03T12:00:00",
        "2018-11-05T02:00:00",
    ),
    "a day that has no such midnight": (
        "30 12 4 11 *",
        "America/Sao_Paulo",
        "2018-11-01T12:00:00",
        "2018-11-04T14:30:00",
    ),
}


@pytest.mark.parametrize(("schedule", "zone", "start", "following"), NEXT.values(), ids=NEXT.keys())
def test_the_next_time(schedule: str, zone: str | None, start: str, following: str) -> None:
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC)
    found = parse_schedule(schedule, zone).after(moment)
    assert found == datetime.fromisoformat(following).replace(tzinfo=UTC)


def test_a_day_that_never_comes() -> None:
    assert parse_schedule("0 0 31 2 *").after(datetime(2026, 1, 1, tzinfo=UTC)) is None


WRONG = {
    "too few": "* * * *",
    "too many": "* * * * * *",
    "nothing": "",
    "a minute too far": "60 * * * *",
    "a range that goes back": "0 5-3 * * *",
    "no step at all": "*/0 * * * *",
    "a word": "0 0 * * noday",
    "a seventh day": "0 0 * * 7",
    "day zero": "0 0 0 * *",
    "an unknown descriptor": "@noon",
    "no duration": "@every now",
    "an unknown zone": "TZ=Nowhere/Land * * * * *",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)
