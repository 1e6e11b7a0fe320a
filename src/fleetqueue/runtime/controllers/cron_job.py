"""The CronJob controller: makes Jobs by the clock, and keeps the last few of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.errors import AlreadyExists, KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Plan, Status, Step, child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import cron_times, pod_notes
from fleetqueue.runtime.controllers.cron_schedule import (
    Schedule,
    ScheduleError,
    find_zone,
    parse_schedule,
)
from fleetqueue.runtime.controllers.job_outcome import COMPLETE, FAILED, finished_condition
from fleetqueue.runtime.kinds import CRON_JOB, JOB
from fleetqueue.runtime.references import exact_reference

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_DOCS = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


def decide(look: Look) -> Plan:
    plan = Plan()
    books = Books(look, plan)
    books.clear_history()
    books.take_in()
    if not is_deleting(look.parent):
        schedule = _schedule(look, plan)
        if schedule is not None:
            _start(look, plan, books, schedule)
    plan.add(Status(books.status()))
    return plan


@dataclass
class Books:
    """What a CronJob knows of its Jobs: who is active, when the last began, when one succeeded."""

    look: Look
    plan: Plan
    jobs: Sequence[Object] = field(init=False)
    active: list[Object] = field(init=False)
    last_start: datetime | None = field(init=False)
    last_success: str | None = field(init=False)

    def __post_init__(self) -> None:
        status = self.look.parent.get("status") or {}
        self.jobs = self.look.owned(JOB)
        self.active = list(status.get("active") or ())
        self.last_start = _time(status.get("lastScheduleTime"))
        self.last_success = status.get("lastSuccessfulTime")

    def clear_history(self) -> None:
        spec = self.look.parent["spec"]
        for limit, type in (
            (spec.get("successfulJobsHistoryLimit"), COMPLETE),
            (spec.get("failedJobsHistoryLimit"), FAILED),
        ):
            ended = [job for job in self.jobs if _ending(job) == type and not is_deleting(job)]
            if limit is not None and len(ended) > limit:
                for job in sorted(ended, key=_by_start)[: len(ended) - limit]:
                    self.remove(job)

    def remove(self, job: Object) -> None:
        self.plan.add(Delete(job))
        self.plan.add(Note("SuccessfulDelete", f"Deleted job {job['metadata']['name']}"))
        self._strike(job["metadata"]["uid"])

    def take_in(self) -> None:
        """Jobs that began, ended or went away since the last time."""
        for job in self.jobs:
            self._take_in_one(job)
        here = {job["metadata"]["uid"] for job in self.jobs}
        for reference in list(self.active):
            if reference.get("uid") not in here:
                name = reference.get("name", "")
                self.plan.add(Note("MissingJob", f"Active job went missing: {name}"))
                self._strike(reference.get("uid"))

    def _take_in_one(self, job: Object) -> None:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        is_listed = any(each.get("uid") == uid for each in self.active)
        ending = _ending(job)
        began = _scheduled_at(job)
        if began is not None:
            self.last_start = max(began, self.last_start or began)
        if ending is None:
            if not is_listed and began is not None:
                self.active.append(exact_reference(JOB, job))
            elif not is_listed:
                text = f"Saw a job that the controller did not create or forgot: {name}"
                self.plan.add(Note("UnexpectedJob", text, "Warning"))
            return
        if is_listed:
            self._strike(uid)
            text = f"Saw completed job: {name}, condition: {ending}"
            self.plan.add(Note("SawCompletedJob", text))
        completed = (job.get("status") or {}).get("completionTime")
        if ending == COMPLETE and completed:
            self.last_success = max(completed, self.last_success or completed)

    def _strike(self, uid: Any) -> None:
        self.active = [each for each in self.active if each.get("uid") != uid]

    def status(self) -> Object:
        made: Object = {}
        if self.active:
            made["active"] = self.active
        if self.last_start is not None:
            made["lastScheduleTime"] = format_time(self.last_start)
        if self.last_success:
            made["lastSuccessfulTime"] = self.last_success
        return made


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    if isinstance(step, Delete):
        return Plan([Note("FailedDelete", f"Deleted job: {error}", "Warning")])
    if pod_notes.is_namespace_ending(error) or isinstance(error, AlreadyExists):
        return Plan()
    return Plan([Note("FailedCreate", f"Error creating job: {error}", "Warning")])


def created(look: Look, made: Object) -> Plan:
    return Plan([Note("SuccessfulCreate", f"Created job {made['metadata']['name']}")])


def _schedule(look: Look, plan: Plan) -> Schedule | None:
    """None, and a word why, where nothing is to be started by it."""
    spec = look.parent["spec"]
    text, zone = spec["schedule"], spec.get("timeZone")
    if zone is not None:
        try:
            find_zone(zone)
        except ScheduleError as error:
            said = f'invalid timeZone: "{zone}": {error}'
            plan.add(Note("UnknownTimeZone", said, "Warning"))
            return None
    if spec.get("suspend"):
        return None
    if "TZ" in text:
        said = f'CRON_TZ or TZ used in schedule "{text}" is not officially supported, see {_DOCS}'
        plan.add(Note("UnsupportedSchedule", f"{said} for more details", "Warning"))
    try:
        return parse_schedule(text, zone)
    except ScheduleError as error:
        said = f'unparseable schedule: "{text}" : {error}'
        plan.add(Note("UnparseableSchedule", said, "Warning"))
        return None


def _start(look: Look, plan: Plan, books: Books, schedule: Schedule) -> None:
    """Makes the Job that is due, if one is and nothing speaks against it."""
    spec, now = look.parent["spec"], look.now
    try:
        due = cron_times.find_due(look.parent, books.last_start, now, schedule, in_time=True)
    except ScheduleError as error:
        said = f"invalid schedule: {spec['schedule']} : {error}"
        plan.add(Note("InvalidSchedule", said, "Warning"))
        return
    left = cron_times.next_look(look.parent, books.last_start, now, schedule)
    if left is not None:
        plan.look_again(left)
    if due.latest is None:
        return
    if due.missed > cron_times.MISSED_STARTS_MAX:
        said = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds"
        plan.add(Note("TooManyMissedTimes", f"{said} or check clock skew", "Warning"))
    if _is_too_late(spec, due.latest, now):
        at = due.latest.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
        plan.add(Note("MissSchedule", f"Missed scheduled time to start a job: {at}", "Warning"))
        return
    if _is_done(look, books, due.latest):
        return
    if spec.get("concurrencyPolicy") == "Forbid" and books.active:
        said = "Not starting job because prior execution is running and concurrency policy is"
        plan.add(Note("JobAlreadyActive", f"{said} Forbid"))
        return
    if spec.get("concurrencyPolicy") == "Replace":
        for job in books.jobs:
            if any(each.get("uid") == job["metadata"]["uid"] for each in books.active):
                books.remove(job)
    plan.add(Create(_job(look, due.latest)))


def _is_too_late(spec: Object, at: datetime, now: datetime) -> bool:
    deadline = spec.get("startingDeadlineSeconds")
    return deadline is not None and at + timedelta(seconds=deadline) < now


def _is_done(look: Look, books: Books, at: datetime) -> bool:
    """Whether that start was made already, by us or by somebody who took the name."""
    return books.last_start == at or look.find(JOB, _job_name(look, at)) is not None


def _job(look: Look, at: datetime) -> Object:
    template = look.parent["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    zone = look.parent["spec"].get("timeZone")
    stamp = at.astimezone(find_zone(zone) if zone else UTC).isoformat()
    made: Object = {
        "name": _job_name(look, at),
        "annotations": {
            **(metadata.get("annotations") or {}),
            SCHEDULED_AT: stamp.replace("+00:00", "Z"),
        },
    }
    if metadata.get("labels"):
        made["labels"] = dict(metadata["labels"])
    return child(JOB, look.parent, made, spec=template["spec"])


def _job_name(look: Look, at: datetime) -> str:
    """By the minute, so that one start is never made twice."""
    return f"{look.name}-{int(at.timestamp()) // 60}"


def _scheduled_at(job: Object) -> datetime | None:
    return _time((job["metadata"].get("annotations") or {}).get(SCHEDULED_AT))


def _ending(job: Object) -> str | None:
    found = finished_condition(job)
    return None if found is None else str(found["type"])


def _by_start(job: Object) -> tuple[bool, str, str]:
    started = (job.get("status") or {}).get("startTime")
    return started is None, started or "", job["metadata"]["name"]


def _time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None


OPERATOR = Operator(
    "cronjob-controller",
    CRON_JOB,
    decide,
    owns=(JOB,),
    decides_deletion=True,
    created=created,
    refused=refused,
    manager="kube-controller-manager",
)
