"""Stories of CronJobs. Nobody waits: the test says that the last start was years ago."""

from collections.abc import Callable
from typing import Any

from differential.harness import Object, Side, Story
from differential.job_stories import events, job, one

STORIES: dict[str, Callable[[Story], None]] = {}
NAME = "work"
LONG_AGO = {"status": {"lastScheduleTime": "2023-06-01T00:00:00Z"}}


def story(told: Callable[[Story], None]) -> Callable[[Story], None]:
    STORIES[told.__name__] = told
    return told


def cron_job(**spec: Any) -> Object:
    template = {
        "metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}},
        "spec": job(backoffLimit=0)["spec"],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": NAME},
        "spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template, **spec},
    }


def seen(side: Side) -> Any:
    found = side.get("CronJob", NAME) or {"status": {}}
    status = dict(found["status"])
    status["active"] = [
        {key: value for key, value in each.items() if key not in ("uid", "resourceVersion")}
        for each in status.get("active") or ()
    ]
    status["lastSuccessfulTime"] = "lastSuccessfulTime" in status
    jobs = [
        (
            each["metadata"]["name"],
            {k: v for k, v in each["metadata"].get("labels", {}).items() if "uid" not in k},
            each["metadata"].get("annotations"),
            [owner["name"] for owner in each["metadata"].get("ownerReferences", ())],
            [condition["type"] for condition in each["status"].get("conditions") or ()],
        )
        for each in side.all("Job")
    ]
    return status, jobs


def begin(story: Story, made: Object) -> None:
    story.both(lambda side: side.create(made))
    story.both(lambda side: side.patch("CronJob", NAME, LONG_AGO, "status"))
    story.agree(seen, "created")
    move(story, edit(suspend=False), "started")


def move(story: Story, act: Callable[[Side], Any], what: str) -> None:
    story.both(act)
    story.agree(seen, what)


def edit(**spec: Any) -> Callable[[Side], Any]:
    return lambda side: side.patch("CronJob", NAME, {"spec": spec})


def another_start(side: Side) -> None:
    """Another time of the year that is over, and a nudge: a new schedule alone wakes nobody now."""
    side.patch("CronJob", NAME, {"spec": {"schedule": "30 0 1 1 *"}})
    side.patch("CronJob", NAME, {"metadata": {"annotations": {"nudge": "1"}}})


@story
def a_start_is_due(story: Story) -> None:
    begin(story, cron_job())
    move(story, lambda side: side.succeed(one(side)), "it succeeded")
    story.agree(events, "events")


@story
def a_start_is_due_in_a_time_zone(story: Story) -> None:
    begin(story, cron_job(timeZone="Europe/Berlin", schedule="30 12 1 JAN ?"))
    story.agree(events, "events")


@story
def a_start_is_too_late(story: Story) -> None:
    begin(story, cron_job(startingDeadlineSeconds=60))
    story.agree(events, "events")


@story
def two_run_at_once(story: Story) -> None:
    begin(story, cron_job())
    move(story, another_start, "and another")
    story.agree(events, "events")


@story
def the_former_still_runs(story: Story) -> None:
    begin(story, cron_job(concurrencyPolicy="Forbid"))
    move(story, another_start, "forbidden")


@story
def the_former_is_replaced(story: Story) -> None:
    begin(story, cron_job(concurrencyPolicy="Replace"))
    move(story, another_start, "replaced")
    story.agree(events, "events")


@story
def no_history_is_kept(story: Story) -> None:
    begin(story, cron_job(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0))
    move(story, lambda side: side.fail(one(side)), "it failed, and is gone")
    move(story, another_start, "another")
    # No events: the real one, with an old look at its own status, sometimes misses what it deleted.
    move(story, lambda side: side.succeed(one(side)), "it succeeded, and is gone")


@story
def an_active_job_goes_missing(story: Story) -> None:
    begin(story, cron_job())

    def delete(side: Side) -> None:
        name = side.all("Job")[0]["metadata"]["name"]
        side.delete("Job", name, propagationPolicy="Background")

    move(story, delete, "gone")
    story.agree(events, "events")


@story
def a_schedule_without_a_day(story: Story) -> None:
    begin(story, cron_job(schedule="59 23 31 2 *"))
