"""CronJobs: schedules, time zones, and the template they repeat."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies
from fleetqueue.apiserver.builtin.cron_schedules import ScheduleError, check_schedule

Object = dict[str, Any]
Make = Callable[..., Object]

CRON = strategies()["batch", "CronJob"]
PODS = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def spec(**fields: Any) -> Object:
    return {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": PODS}}} | fields


def test_a_cron_job_of_one_line_becomes_whole(stored: Make) -> None:
    cron = stored("batch", "CronJob", spec())
    own = {name: value for name, value in cron["spec"].items() if name != "jobTemplate"}
    assert own == {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    assert "completions" not in cron["spec"]["jobTemplate"]["spec"]
    assert CRON.validate_create(cron) == []


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-6,12 1 JAN-mar SUN",
        "? * * * *",
        "@daily",
        "@every 1h30m",
        "1,,2 * * * *",
    ],
)
def test_a_schedule_is_read(schedule: str) -> None:
    check_schedule(schedule, lambda _: True)


# fmt: off
UNREADABLE = {
    "* * * *":        "expected exactly 5 fields, found 4: [* * * *]",
    "60 * * * *":     "end of range (60) above maximum (59): 60",
    "* * 0 * *":      "beginning of range (0) below minimum (1): 0",
    "a * * * *":      'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
    "*/0 * * * *":    "step of range should be a positive number: */0",
    "1-2-3 * * * *":  "too many hyphens: 1-2-3",
    "5-1 * * * *":    "beginning of range (5) beyond end of range (1): 5-1",
    "*/2/3 * * * *":  "too many slashes: */2/3",
    "@often":         "unrecognized descriptor: @often",
    "@every soon":    'failed to parse duration @every soon: time: invalid duration "soon"',
    "TZ=No/Where * * * * *": "provided bad location No/Where: unknown time zone No/Where",
}
# fmt: on


@pytest.mark.parametrize(("schedule", "message"), UNREADABLE.items())
def test_a_schedule_is_not_read(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError) as problem:
        check_schedule(schedule, lambda zone: zone == "UTC")
    assert str(problem.value) == message


REFUSED: dict[str, tuple[Object, list[str]]] = {
    "no schedule": ({"schedule": ""}, ["spec.schedule: Required value"]),
    "a zone in the schedule": (
        {"schedule": "TZ=UTC * * * * *"},
        [
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": '
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        ],
    ),
    "an empty zone": (
        {"timeZone": ""},
        ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
    ),
    "a zone that climbs": (
        {"timeZone": "../etc"},
        ['spec.timeZone: Invalid value: "../etc": unknown time zone ../etc'],
    ),
    "the server's own zone": (
        {"timeZone": "Local"},
        [
            'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as '
            "defined in https://www.iana.org/time-zones"
        ],
    ),
    "an unknown policy": (
        {"concurrencyPolicy": "Maybe"},
        [
            'spec.concurrencyPolicy: Unsupported value: "Maybe": '
            'supported values: "Allow", "Forbid", "Replace"'
        ],
    ),
    "a selector in the template": (
        {"jobTemplate": {"spec": {"template": PODS, "selector": {"matchLabels": {"a": "b"}}}}},
        [
            'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: '
            "`selector` will be auto-generated"
        ],
    ),
}


@pytest.mark.parametrize(("given", "errors"), REFUSED.values(), ids=REFUSED.keys())
def test_a_cron_job_is_refused(stored: Make, given: Object, errors: list[str]) -> None:
    cron = stored("batch", "CronJob", spec(**given))
    assert [str(error) for error in CRON.validate_create(cron)] == errors


def test_a_name_must_leave_room_for_the_jobs(stored: Make) -> None:
    cron = stored("batch", "CronJob", spec(), name="a" * 53)
    assert [error.detail for error in CRON.validate_create(cron)] == [
        "must be no more than 52 characters"
    ]


def test_a_zone_in_an_old_schedule_is_suffered_and_warned_of(stored: Make) -> None:
    old = stored("batch", "CronJob", spec(schedule="TZ=UTC 0 * * * *"))
    new = {**old, "spec": old["spec"] | {"schedule": "TZ=UTC 1 * * * *"}}
    assert CRON.validate_update(new, old) == []
    assert CRON.warnings(new, old) == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
