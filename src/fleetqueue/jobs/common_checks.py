"""What is refused of any kind of job: bad names, and changes that come too late."""

from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError, forbidden, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.admission_gates import check_gates, check_gates_update
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.base import paths
from fleetqueue.jobs import identity
from fleetqueue.jobs.batch_job_rules import not_a_number
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.managing import has_default_queue
from fleetqueue.jobs.topology import read_int
from fleetqueue.kube.resources import Object

QUEUE_PATH = f"metadata.labels[{labels.QUEUE_NAME}]"
PRIORITY_PATH = f"metadata.labels[{labels.PRIORITY_CLASS}]"
MAX_EXEC_PATH = f"metadata.labels[{labels.MAX_EXEC_TIME_SECONDS}]"
ELASTIC_PATH = f"metadata.annotations[{labels.ELASTIC_JOB}]"


def check_new(kind: JobKind, sight: Sight) -> list[FieldError]:
    errors = _check_name(identity.queue_of(sight.job), QUEUE_PATH)
    errors += _check_prebuilt(kind, sight)
    errors += _check_max_seconds(sight)
    if identity.is_elastic(sight.job, sight.settings) and not kind.supports_slices:
        errors.append(forbidden(ELASTIC_PATH, f'elastic job is not supported for "{kind.title}"'))
    if sight.settings.gates.admission_gated_by:
        errors += check_gates(sight.annotations)
    return errors


def check_manager(kind: JobKind, sight: Sight, old: Object | None) -> list[FieldError]:
    """Who runs a job is said when it is made, if at all."""
    if not kind.managed_by:
        return []
    said = paths.get(sight.job, kind.managed_by)
    if old is not None:
        return check_immutable(said or "", paths.get(old, kind.managed_by) or "", kind.managed_by)
    if not said or kind.hands_over(sight.settings):
        return []
    return [forbidden(kind.managed_by, "may be set only with the feature gate JobManagedBy")]


def check_change(kind: JobKind, sight: Sight, old: Object) -> list[FieldError]:
    is_suspended = kind.suspends(sight.job)
    errors = check_queue_change(sight, old, is_suspended)
    if not is_suspended and not identity.is_elastic(sight.job, sight.settings):
        errors += _check_prebuilt_change(sight, old)
    if not (is_suspended and kind.suspends(old)):
        key = labels.MAX_EXEC_TIME_SECONDS
        new, was = (identity.labels_of(each).get(key) or "" for each in (sight.job, old))
        errors += check_immutable(new, was, MAX_EXEC_PATH)
    errors += check_priority_change(sight, old, is_suspended)
    elastic = [identity.is_elastic(each, sight.settings) for each in (sight.job, old)]
    errors += check_immutable(elastic[0], elastic[1], ELASTIC_PATH)
    if sight.settings.gates.admission_gated_by:
        errors += check_gates_update(sight.annotations, identity.annotations_of(old))
    return errors


def check_queue_change(sight: Sight, old: Object, is_suspended: bool) -> list[FieldError]:
    new, was = identity.queue_of(sight.job), identity.queue_of(old)
    errors = [] if is_suspended else check_immutable(new, was, QUEUE_PATH)
    if was and not new and has_default_queue(sight):
        detail = "queue-name must not be empty in namespace with default queue"
        errors.append(wrong(QUEUE_PATH, "", detail))
    return errors


def check_priority_change(sight: Sight, old: Object, is_suspended: bool) -> list[FieldError]:
    new, was = identity.priority_class_of(sight.job), identity.priority_class_of(old)
    if new and not was and not is_suspended:
        detail = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        return [wrong(PRIORITY_PATH, new, detail)]
    if was and not new:
        detail = "WorkloadPriorityClass cannot be removed from a workload"
        return [wrong(PRIORITY_PATH, new, detail)]
    return []


def _check_name(name: str, path: str) -> list[FieldError]:
    problems = names.dns1123_subdomain(name) if name else []
    return [wrong(path, name, ",".join(problems))] if problems else []


def _check_prebuilt(kind: JobKind, sight: Sight) -> list[FieldError]:
    name = identity.prebuilt_of(sight.job, sight.settings)
    if not name:
        return []
    path = _prebuilt_path(sight.job)
    errors = _check_name(name, path)
    if not kind.supports_prebuilt:
        errors.append(forbidden(path, f'Is not supported for "{kind.title}"'))
    return errors


def _check_prebuilt_change(sight: Sight, old: Object) -> list[FieldError]:
    new, was = (identity.prebuilt_of(each, sight.settings) for each in (sight.job, old))
    return check_immutable(new, was, _prebuilt_path(sight.job if new else old))


def _prebuilt_path(job: Object) -> str:
    key = labels.PREBUILT_WORKLOAD_NAME
    where = "annotations" if key in identity.annotations_of(job) else "labels"
    return f"metadata.{where}[{key}]"


def _check_max_seconds(sight: Sight) -> list[FieldError]:
    text = sight.labels.get(labels.MAX_EXEC_TIME_SECONDS)
    if text is None:
        return []
    value = read_int(text)
    if value is None:
        return [wrong(MAX_EXEC_PATH, text, not_a_number(text))]
    return [] if value > 0 else [wrong(MAX_EXEC_PATH, value, "should be greater than 0")]
