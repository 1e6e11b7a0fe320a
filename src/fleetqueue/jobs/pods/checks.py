"""What is refused of pods that are queued, alone or in a group."""

from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError, forbidden, required, wrong
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.jobs import identity
from fleetqueue.jobs.batch_job_rules import not_a_number
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.topology import read_int
from fleetqueue.kube.resources import Object

MANAGED_PATH = f"metadata.labels[{labels.MANAGED}]"
TOTAL_PATH = f"metadata.annotations[{labels.POD_GROUP_TOTAL_COUNT}]"
RETRIABLE_PATH = f"metadata.annotations[{labels.RETRIABLE_IN_GROUP}]"


def check(sight: Sight, old: Object | None) -> list[FieldError]:
    pod = sight.job
    errors = _check_label(sight)
    errors += _check_group(sight)
    errors += _check_prebuilt(sight)
    if old is None:
        return errors
    was = group_of(old)
    if was:
        errors += check_immutable(group_of(pod), was, _group_path(pod))
    return errors + _check_retriable(sight, old)


def _check_label(sight: Sight) -> list[FieldError]:
    if sight.labels.get(labels.MANAGED, "true") == "true":
        return []
    return [forbidden(MANAGED_PATH, "managed label value can only be 'true'")]


def _check_group(sight: Sight) -> list[FieldError]:
    name, total = group_of(sight.job), sight.annotations.get(labels.POD_GROUP_TOTAL_COUNT)
    path = _group_path(sight.job)
    errors: list[FieldError] = []
    if name and (problems := names.dns1123_subdomain(name)):
        errors.append(wrong(path, name, ",".join(problems)))
    if bool(name) == (total is not None):
        return errors + ([] if total is None else _check_total(total))
    what = "annotation" if labels.POD_GROUP_NAME in sight.annotations else "label"
    detail = (
        f"both the '{labels.POD_GROUP_TOTAL_COUNT}' annotation and the"
        f" '{labels.POD_GROUP_NAME}' {what} should be set"
    )
    return [*errors, required(TOTAL_PATH if total is None else path, detail)]


def _check_total(text: str) -> list[FieldError]:
    value = read_int(text)
    if value is None:
        return [wrong(TOTAL_PATH, text, not_a_number(text))]
    if value > 0:
        return []
    detail = (
        f"incorrect annotation value '{labels.POD_GROUP_TOTAL_COUNT}={text}':"
        " group total count should be greater than zero"
    )
    return [wrong(TOTAL_PATH, text, detail)]


def _check_prebuilt(sight: Sight) -> list[FieldError]:
    prebuilt, group = identity.prebuilt_of(sight.job, sight.settings), group_of(sight.job)
    if not prebuilt or not group or prebuilt == group:
        return []
    detail = "prebuilt workload and pod group should be equal"
    return [wrong(_path(sight.job, labels.PREBUILT_WORKLOAD_NAME), prebuilt, detail)]


def _check_retriable(sight: Sight, old: Object) -> list[FieldError]:
    key = labels.RETRIABLE_IN_GROUP
    was, new = identity.annotations_of(old).get(key), sight.annotations.get(key)
    if was != "false" or new == "false":
        return []
    return [forbidden(RETRIABLE_PATH, "unretriable pod group can't be converted to retriable")]


def _group_path(pod: Object) -> str:
    return _path(pod, labels.POD_GROUP_NAME)


def _path(pod: Object, key: str) -> str:
    where = "annotations" if key in identity.annotations_of(pod) else "labels"
    return f"metadata.{where}[{key}]"
