"""What the CronJob controller decides at one look."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.kube.errors import AlreadyExists, Forbidden
from fleetqueue.kube.plan import Create, Delete, Look, Note, Plan, Status, owner_reference
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.controllers.cron_job import SCHEDULED_AT, created, decide, refused

NOW = datetime(2026, 1, 1, 12, 30, 20, tzinfo=UTC)
MINUTES = int(datetime(2026, 1, 1, 12, 0, tzinfo=UTC).timestamp()) // 60


def cron_job(status: Object | None = None, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"template": {}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": "tick",
            "namespace": "ns",
            "uid": "u",
            "creationTimestamp": "2026-01-01T11:30:00Z",
        },
        "spec": {
            "schedule": "0 * * * *",
            "concurrencyPolicy": "Allow",
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": template,
            **spec,
        },
        "status": status or {},
    }


def job(name: str, ending: str = "", at: str = "2026-01-01T12:00:00Z", **more: Any) -> Object:
    """`at`: when it was due; "" for one that somebody else made."""
    ended = [{"type": ending, "status": "True"}] if ending else []
    status: Object = {"conditions": ended, "startTime": more.pop("startTime", at)}
    if ending == "Complete":
        status["completionTime"] = more.pop("completionTime", "2026-01-01T12:01:00Z")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "annotations": {SCHEDULED_AT: at} if at else {},
            "ownerReferences": [owner_reference(cron_job())],
        },
        "spec": {},
        "status": status,
    }


def listed(*names: str) -> Object:
    return {
        "active": [{"name": name, "namespace": "ns", "uid": f"uid-{name}"} for name in names],
        "lastScheduleTime": "2026-01-01T12:00:00Z",
    }


def look(parent: Object, *jobs: Object, now: datetime = NOW) -> Plan:
    return decide(Look(parent, now, Listed([parent, *jobs])))


def told(plan: Plan) -> list[str]:
    made = []
    for step in plan.steps:
        match step:
            case Create(obj):
                made.append(f"create {obj['metadata']['name']}")
            case Delete(obj):
                made.append(f"delete {obj['metadata']['name']}")
            case Note(reason):
                made.append(reason)
    return made


def status(plan: Plan) -> Object:
    found = plan.steps[-1]
    assert isinstance(found, Status)
    return found.status


def test_a_job_is_made_when_it_is_due() -> None:
    plan = look(cron_job())
    assert told(plan) == [f"create tick-{MINUTES}"]
    made = next(step.obj for step in plan.steps if isinstance(step, Create))
    assert made["metadata"]["labels"] == {"app": "x"}
    assert made["metadata"]["annotations"] == {SCHEDULED_AT: "2026-01-01T12:00:00Z"}
    assert plan.after == pytest.approx(29 * 60 + 40 + 0.1)


def test_what_was_made_is_listed_and_not_made_again() -> None:
    plan = look(cron_job(), job(f"tick-{MINUTES}"))
    assert told(plan) == []
    assert status(plan)["lastScheduleTime"] == "2026-01-01T12:00:00Z"
    assert [each["name"] for each in status(plan)["active"]] == [f"tick-{MINUTES}"]
    assert look(cron_job(status(plan)), job(f"tick-{MINUTES}")).steps == [Status(status(plan))]


def test_the_stamp_is_in_the_zone_of_the_schedule() -> None:
    plan = look(cron_job(timeZone="Asia/Kolkata", schedule="30 17 * * *"))
    made = next(step.obj for step in plan.steps if isinstance(step, Create))
    assert made["metadata"]["annotations"][SCHEDULED_AT] == "2026-01-01T17:30:00+05:30"


NOT_STARTED: dict[str, Any] = {
    "not due": ({"schedule": "0 0 1 2 *"}, []),
    "suspended": ({"suspend": True}, []),
    "too late": ({"startingDeadlineSeconds": 20}, []),
    "an unknown zone": ({"timeZone": "Nowhere/Land"}, ["UnknownTimeZone"]),
    "no schedule": ({"schedule": "x"}, ["UnparseableSchedule"]),
    "a day that never comes": ({"schedule": "0 0 31 2 *"}, ["InvalidSchedule"]),
}


@pytest.mark.parametrize(("spec", "notes"), NOT_STARTED.values(), ids=NOT_STARTED.keys())
def test_nothing_is_started(spec: Object, notes: list[str]) -> None:
    assert told(look(cron_job(**spec))) == notes


def test_a_zone_in_the_schedule_works_and_is_frowned_upon() -> None:
    plan = look(cron_job(schedule="TZ=Asia/Kolkata 30 17 * * *"))
    assert told(plan)[0] == "UnsupportedSchedule"
    assert told(plan)[1].startswith("create tick-")


def test_many_missed_starts_make_one_job_and_a_warning() -> None:
    parent = cron_job({"lastScheduleTime": "2025-01-01T12:00:00Z"})
    assert told(look(parent)) == ["TooManyMissedTimes", f"create tick-{MINUTES}"]


def test_a_few_missed_starts_make_one_job() -> None:
    assert told(look(cron_job({"lastScheduleTime": "2026-01-01T03:00:00Z"}))) == [
        f"create tick-{MINUTES}"
    ]


POLICIES: dict[str, Any] = {
    "Allow": [f"create tick-{MINUTES + 60}"],
    "Forbid": ["JobAlreadyActive"],
    "Replace": ["delete before", "SuccessfulDelete", f"create tick-{MINUTES + 60}"],
}


@pytest.mark.parametrize(("policy", "steps"), POLICIES.items())
def test_one_that_still_runs_is_kept_waited_for_or_replaced(policy: str, steps: list[str]) -> None:
    parent = cron_job(listed("before"), concurrencyPolicy=policy)
    later = NOW.replace(hour=13)
    assert told(look(parent, job("before"), now=later)) == steps


def test_only_the_last_few_are_kept() -> None:
    jobs = [job(f"s{n}", "Complete", f"2026-01-01T0{n}:00:00Z") for n in range(5)]
    jobs += [job(f"f{n}", "Failed", f"2026-01-01T0{n}:00:00Z") for n in range(2)]
    plan = look(cron_job(listed()), *jobs)
    assert [each for each in told(plan) if each.startswith("delete")] == [
        "delete s0",
        "delete s1",
        "delete f0",
    ]


def test_endings_are_noticed_and_the_last_success_is_kept() -> None:
    jobs = [
        job("a", "Complete", completionTime="2026-01-01T10:00:00Z"),
        job("b", "Complete", completionTime="2026-01-01T11:00:00Z"),
        job("c", "Failed"),
    ]
    plan = look(cron_job(listed("a", "b", "c", "lost")), *jobs)
    assert told(plan) == ["SawCompletedJob"] * 3 + ["MissingJob"]
    assert status(plan) == {
        "lastScheduleTime": "2026-01-01T12:00:00Z",
        "lastSuccessfulTime": "2026-01-01T11:00:00Z",
    }


def test_a_job_of_somebody_else_is_not_taken_in() -> None:
    plan = look(cron_job(listed()), job("manual", at=""))
    assert told(plan) == ["UnexpectedJob"]
    assert "active" not in status(plan)


def test_one_that_is_deleted_starts_nothing() -> None:
    parent = cron_job()
    parent["metadata"]["deletionTimestamp"] = "2026-01-01T12:10:00Z"
    assert told(look(parent)) == []


def test_refusals_and_creations_are_told() -> None:
    at = Look(cron_job(), NOW, Listed([]))
    why = Forbidden({"message": "no"})
    assert refused(at, Create({}), why).steps == [
        Note("FailedCreate", "Error creating job: no", "Warning")
    ]
    assert refused(at, Delete({}), why).steps == [
        Note("FailedDelete", "Deleted job: no", "Warning")
    ]
    assert refused(at, Create({}), AlreadyExists({"message": "there"})).steps == []
    assert created(at, job("x")).steps == [Note("SuccessfulCreate", "Created job x")]
