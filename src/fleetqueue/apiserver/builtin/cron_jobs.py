"""CronJobs: Jobs by the clock."""

import re
import zoneinfo
from collections.abc import Mapping
from functools import cache
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import selectors
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, required_one_of, same
from fleetqueue.apiserver.builtin.cron_schedules import ScheduleError, check_schedule
from fleetqueue.apiserver.builtin.job_specs import (
    default_job_spec_template,
    validate_job_spec,
    warn_of_job_spec,
)
from fleetqueue.apiserver.builtin.jobs import warn_of_name
from fleetqueue.apiserver.builtin.objectmeta import (
    validate_builtin_meta_update,
    validate_finalizers_qualified,
)
from fleetqueue.apiserver.builtin.pod_preparation import drop_disabled
from fleetqueue.apiserver.strategy import Strategy

Object = dict[str, Any]

NAME_LENGTH_MAX = 52
"""A Job's name is the CronJob's with eleven more letters."""

_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_IANA = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
_ZONE_ADVICE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


def default_cron_job(cron_job: Object) -> None:
    spec = cron_job.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    default_job_spec_template(template.setdefault("spec", {}))


def validate_cron_job(cron_job: Object) -> Errors:
    meta = cron_job["metadata"]
    errors = validate_finalizers_qualified(meta)
    errors += _validate_spec(cron_job["spec"], None)
    if len(meta.get("name", "")) > NAME_LENGTH_MAX:
        why = f"must be no more than {NAME_LENGTH_MAX} characters"
        errors.append(fields.wrong("metadata.name", meta["name"], why))
    return errors


def validate_cron_job_update(cron_job: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(cron_job["metadata"], old["metadata"])
    return errors + _validate_spec(cron_job["spec"], old["spec"])


def _validate_spec(spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> Errors:
    errors = _validate_schedule(spec, old)
    deadline = spec.get("startingDeadlineSeconds")
    errors += nonnegative(deadline, "spec.startingDeadlineSeconds")
    if old is None or old.get("timeZone") != spec.get("timeZone"):
        errors += _validate_zone(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    errors += required_one_of(spec.get("concurrencyPolicy"), policies, "spec.concurrencyPolicy")
    errors += _validate_template(spec["jobTemplate"], old and old["jobTemplate"])
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += nonnegative(spec.get(name), f"spec.{name}")
    return errors


def _validate_schedule(spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> Errors:
    path, schedule = "spec.schedule", spec.get("schedule", "")
    if not schedule:
        return [fields.required(path)]
    errors: Errors = []
    try:
        check_schedule(schedule, _is_zone)
    except ScheduleError as problem:
        errors.append(fields.wrong(path, schedule, str(problem)))
    if "TZ" in schedule:
        had_zone = old is not None and "TZ" in old.get("schedule", "")
        if not had_zone:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(fields.wrong(path, schedule, why))
        elif spec.get("timeZone") is not None:
            why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            errors.append(fields.wrong(path, schedule, why))
    return errors


def _validate_zone(zone: str | None) -> Errors:
    path = "spec.timeZone"
    if zone is None:
        return []
    if not zone:
        return [fields.wrong(path, zone, "timeZone must be nil or non-empty string")]
    unknown = fields.wrong(path, zone, f"unknown time zone {zone}")
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            return [unknown]
    if zone.lower() == "local":
        found = [fields.wrong(path, zone, _IANA)]
        return found if zone == "Local" else [*found, unknown]
    return [] if _is_zone(zone) else [unknown]


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _is_zone(zone: str) -> bool:
    """Where the machine has no list of zones, any name passes."""
    return not _zones() or zone in _zones() or zone == "UTC"


def _validate_template(template: Mapping[str, Any], old: Mapping[str, Any] | None) -> Errors:
    path, spec = "spec.jobTemplate.spec", template["spec"]
    errors = validate_job_spec(spec, path, old and old["spec"]["template"])
    if (selector := spec.get("selector")) is not None:
        shown = selectors.shown(selector)
        errors.append(fields.wrong(f"{path}.selector", shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(fields.unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    return errors


def _pod(cron_job: Object) -> Object:
    pod: Object = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def _prepare(cron_job: Object) -> None:
    cron_job["status"] = {}
    drop_disabled(_pod(cron_job))


def _prepare_update(cron_job: Object, old: Object) -> None:
    drop_disabled(_pod(cron_job), _pod(old))


def _warn(cron_job: Object, old: Object | None) -> list[str]:
    spec = cron_job["spec"]
    warnings = [] if old is not None else warn_of_name(cron_job["metadata"].get("name", ""))
    if old is None or not same(spec, old["spec"]):
        warnings += warn_of_job_spec(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    if old is not None and "TZ" in spec.get("schedule", ""):
        warnings.append(_ZONE_ADVICE)
    return warnings


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("batch", "CronJob"): Strategy(
        default=default_cron_job,
        prepare_create=_prepare,
        prepare_update=_prepare_update,
        validate_create=validate_cron_job,
        validate_update=validate_cron_job_update,
        warnings=_warn,
    )
}
