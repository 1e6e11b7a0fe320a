"""Tables of jobs and cron jobs."""

from datetime import datetime

from fleetqueue.api import times
from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, at, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

JOB = ("spec", "jobTemplate", "spec")


def _state(job: Object) -> str:
    """The condition that says most about the job; an ended job is never called terminating."""
    for kind, shown in (("Complete", "Complete"), ("Failed", "Failed")):
        if cells.has_condition(job, kind):
            return shown
    if dig(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if cells.has_condition(job, kind):
            return kind
    return "Running"


def _suspended(obj: Object) -> str:
    return cells.truth(dig(obj, "spec", "suspend"))


def _completions(job: Object) -> str:
    succeeded = dig(job, "status", "succeeded") or 0
    wanted = dig(job, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = dig(job, "spec", "parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: datetime) -> str:
    started, ended = dig(job, "status", "startTime"), dig(job, "status", "completionTime")
    if not started:
        return ""
    end = times.parse_time(ended) if ended else now
    return times.human_duration(end - times.parse_time(started))


LAYOUTS = {
    ("batch", "Job"): Layout(
        (
            NAME,
            Column("Status", only(_state)),
            Column("Completions", only(_completions)),
            Column("Duration", _duration),
            AGE,
            *cells.containers_at("spec", "template", "spec"),
            Column("Selector", cells.selector_at("spec", "selector"), priority=1),
        )
    ),
    ("batch", "CronJob"): Layout(
        (
            NAME,
            Column("Schedule", at("spec", "schedule")),
            Column("Timezone", at("spec", "timeZone", default=NONE)),
            Column("Suspend", only(_suspended), "boolean"),
            Column("Active", cells.count_at("status", "active"), "integer"),
            Column("Last Schedule", cells.age_at("status", "lastScheduleTime", default=NONE)),
            AGE,
            *cells.containers_at(*JOB, "template", "spec"),
            Column("Selector", cells.selector_at(*JOB, "selector"), priority=1),
        )
    ),
}
