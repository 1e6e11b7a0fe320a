"""Rules for the status of a Job: a finished Job stays finished, and its numbers add up.

Most rules bind only a change of what they speak of, so that a status written by an older
controller can still be updated.
"""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.job_policies import IndexesError, count_indexes, find_overlap
from fleetqueue.apiserver.builtin.objectmeta import validate_builtin_meta_update

Object = Mapping[str, Any]

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL = ("Failed", "Complete", "FailureTarget")
_PATH = "status.conditions"


def validate_job_status(job: Object, old: Object) -> Errors:
    errors = validate_builtin_meta_update(job["metadata"], old["metadata"])
    status, before = job.get("status") or {}, old.get("status") or {}
    for name in _COUNTS:
        errors += nonnegative(status.get(name), f"status.{name}")
    errors += _validate_uncounted(status.get("uncountedTerminatedPods"))
    check = _Check(job, status, before)
    errors += check.outcome()
    errors += check.finish()
    errors += check.indexes()
    errors += check.success()
    return errors + _validate_change(job, status, before)


class _Check:
    """The rules that look at a new status and know what it changes."""

    def __init__(self, job: Object, status: Object, before: Object) -> None:
        self.spec = job.get("spec") or {}
        self.status = status
        self.before = before
        self.complete = is_true(status, "Complete")
        self.failed = is_true(status, "Failed")
        self.finished = self.complete or self.failed
        was_finished = is_true(before, "Complete") or is_true(before, "Failed")
        self.ended = self.finished != was_finished
        self.met = is_true(status, "SuccessCriteriaMet")
        self.failing = is_true(status, "FailureTarget")

    def outcome(self) -> Errors:
        errors: Errors = []
        complete_changed, failed_changed = self.turned("Complete"), self.turned("Failed")
        time = self.status.get("completionTime")
        if (complete_changed or failed_changed) and self.complete and self.failed:
            errors.append(_condition("cannot set Complete=True and Failed=true conditions"))
        changed = complete_changed or self.turned("FailureTarget")
        if changed and self.complete and self.failing:
            errors.append(_condition("cannot set Complete=True and FailureTarget=true conditions"))
        if complete_changed or self.changed("completionTime"):
            if time and not self.complete:
                why = "cannot set completionTime when there is no Complete=True condition"
                errors.append(fields.wrong("status.completionTime", time, why))
            if not time and self.complete:
                why = "completionTime is required for Complete jobs"
                errors.append(fields.required("status.completionTime", why))
        start = self.status.get("startTime")
        if self.changed("startTime", "completionTime") and start and time and time < start:
            why = "must be equal to or after `startTime`"
            errors.append(fields.wrong("status.completionTime", time, why))
        if (failed_changed or self.changed("failedIndexes")) and self.failed and not self.failing:
            why = "cannot set Failed=True condition without the FailureTarget=true condition"
            errors.append(_condition(why))
        changed = complete_changed or self.turned("SuccessCriteriaMet")
        if changed and self.complete and not self.met:
            why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            errors.append(_condition(why))
        return errors

    def finish(self) -> Errors:
        errors: Errors = []
        active = self.status.get("active") or 0
        if (self.ended or self.changed("active")) and active > 0 and self.finished:
            why = "active>0 is invalid for finished job"
            errors.append(fields.wrong("status.active", active, why))
        never_ran = self.spec.get("suspend") is True and self.spec.get("completions") == 0
        started = self.status.get("startTime")
        if (
            (self.ended or self.changed("startTime"))
            and not never_ran
            and self.finished
            and not started
        ):
            why = "startTime is required for finished job"
            errors.append(fields.required("status.startTime", why))
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        pending = uncounted.get("failed") or uncounted.get("succeeded")
        if (self.ended or self.changed("uncountedTerminatedPods")) and self.finished and pending:
            shown = show_internal("UncountedTerminatedPods", uncounted)
            why = "must be empty for finished job"
            errors.append(fields.wrong("status.uncountedTerminatedPods", shown, why))
        return errors

    def indexes(self) -> Errors:
        errors: Errors = []
        done, lost = self.status.get("completedIndexes", ""), self.status.get("failedIndexes")
        completions = self.spec.get("completions")
        has_limit = self.spec.get("backoffLimitPerIndex") is not None
        if self.changed("completedIndexes") and completions is not None:
            errors += _validate_format("completedIndexes", done, completions)
        if self.changed("failedIndexes") and None not in (completions, lost) and has_limit:
            errors += _validate_format("failedIndexes", lost or "", completions or 0)
        is_indexed = self.spec.get("completionMode") == "Indexed"
        if self.changed("completedIndexes") and done and not is_indexed:
            why = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(fields.wrong("status.completedIndexes", done, why))
        if self.changed("failedIndexes") and not has_limit and lost is not None:
            why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(fields.wrong("status.failedIndexes", lost, why))
        if self.changed("completedIndexes", "failedIndexes") and None not in (completions, lost):
            overlap = find_overlap(done, lost or "", completions or 0)
            if overlap is not None:
                why = f"failedIndexes and completedIndexes overlap at index: {overlap}"
                errors.append(fields.wrong("status.failedIndexes", lost, why))
        return errors

    def success(self) -> Errors:
        errors: Errors = []
        terminating = self.status.get("terminating") or 0
        if (self.ended or self.changed("terminating")) and terminating > 0 and self.finished:
            why = "terminating>0 is invalid for finished job"
            errors.append(fields.wrong("status.terminating", terminating, why))
        ready, active = self.status.get("ready"), self.status.get("active") or 0
        if self.changed("ready", "active") and ready is not None and ready > active:
            why = "cannot set more ready pods than active"
            errors.append(fields.wrong("status.ready", ready, why))
        if self.met and self.failed:
            why = "cannot set SuccessCriteriaMet=True and Failed=true conditions"
            errors.append(_condition(why))
        if self.met and self.failing:
            why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
            errors.append(_condition(why))
        has_policy = self.spec.get("successPolicy") is not None
        if has_policy and not self.met and self.complete:
            why = (
                "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            )
            errors.append(_condition(why))
        return errors

    def turned(self, condition: str) -> bool:
        return is_true(self.status, condition) != is_true(self.before, condition)

    def changed(self, *keys: str) -> bool:
        return any(self.status.get(key) != self.before.get(key) for key in keys)


def is_true(status: Object, condition: str) -> bool:
    return _has(status, condition, "True")


def _has(status: Object, condition: str, value: str) -> bool:
    return any(
        found.get("type") == condition and found.get("status") == value
        for found in status.get("conditions") or ()
    )


def _condition(why: str) -> fields.FieldError:
    return fields.wrong(_PATH, fields.OMITTED, why)


def _validate_change(job: Object, status: Object, before: Object) -> Errors:
    errors: Errors = []
    spec = job.get("spec") or {}
    for condition in _TERMINAL:
        if is_true(before, condition) and not is_true(status, condition):
            errors.append(_condition(f"cannot disable the terminal {condition}=True condition"))
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    )
    for name in ("failed",) if is_elastic else ("failed", "succeeded"):
        after = status.get(name) or 0
        if after < (before.get(name) or 0):
            why = f"cannot decrease the {name} counter"
            errors.append(fields.wrong(f"status.{name}", after, why))
    done, was_done = status.get("completionTime"), before.get("completionTime")
    if done and was_done and done != was_done:
        errors.append(fields.wrong("status.completionTime", done, "field is immutable"))
    resumes = is_true(before, "Suspended") and _has(status, "Suspended", "False")
    started = before.get("startTime")
    moved = started and started != status.get("startTime")
    if moved and not resumes and not spec.get("suspend"):
        why = "startTime cannot be removed for unsuspended job"
        errors.append(fields.required("status.startTime", why))
    if is_true(before, "SuccessCriteriaMet") and not is_true(status, "SuccessCriteriaMet"):
        errors.append(_condition("cannot disable the SuccessCriteriaMet=True condition"))
    was_met = is_true(before, "SuccessCriteriaMet")
    if is_true(before, "Complete") and not was_met and is_true(status, "SuccessCriteriaMet"):
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(_condition(why))
    return errors


def _validate_format(name: str, text: str, completions: int) -> Errors:
    try:
        count_indexes(text, completions)
    except IndexesError as problem:
        return [fields.wrong(f"status.{name}", text, f"error parsing {name}: {problem}")]
    return []


def _validate_uncounted(uncounted: Object | None) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for index, uid in enumerate((uncounted or {}).get(kind) or ()):
            path = f"status.uncountedTerminatedPods.{kind}[{index}]"
            if not uid:
                errors.append(fields.wrong(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(fields.duplicate(path, uid))
            seen.add(uid)
    return errors
