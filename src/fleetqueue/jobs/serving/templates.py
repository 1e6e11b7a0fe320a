"""What is written into the pod templates of what serves, and which changes of them are refused."""

from collections.abc import Mapping

from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation.common import check_immutable
from fleetqueue.base import paths
from fleetqueue.jobs import identity
from fleetqueue.jobs.common_checks import QUEUE_PATH
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.pods.shapes import shape_of
from fleetqueue.kube.resources import Object


def stamp(
    job: Object,
    template: str,
    framework: str,
    *,
    labels_too: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> None:
    """Pods of the template will wait; in place."""
    found = paths.get(job, template)
    if found is None:
        return
    metadata = found.setdefault("metadata", {})
    parent = {labels.POD_SUSPENDING_PARENT: framework}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        **parent,
        **(annotations or {}),
    }
    if labels_too:
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels_too}


def queue_labels(job: Object) -> dict[str, str]:
    """What pods inherit of the queue and class of their parent."""
    made = {
        labels.QUEUE_NAME: identity.queue_of(job),
        labels.PRIORITY_CLASS: identity.priority_class_of(job),
    }
    return {key: value for key, value in made.items() if value}


def parent_of(job: Object, template: str) -> str:
    """The framework that has pods of the template wait; "" where none does."""
    annotations = paths.get(job, f"{template}.metadata.annotations") or {}
    return str(annotations.get(labels.POD_SUSPENDING_PARENT) or "")


def has_ready_pods(job: Object) -> bool:
    return bool((job.get("status") or {}).get("readyReplicas"))


def check_removed_queue(sight: Sight, old: Object) -> list[FieldError]:
    """Also of one without ready pods; of others no change is possible at all."""
    new, was = identity.queue_of(sight.job), identity.queue_of(old)
    if new or has_ready_pods(sight.job):
        return []
    return check_immutable(new, was, QUEUE_PATH)


def check_shape(new: Object, old: Object, template: str) -> list[FieldError]:
    """What decides where pods can run and how much they take."""
    path = f"{template}.spec"
    now, was = (shape_of(paths.get(each, path) or {}) for each in (new, old))
    names = dict.fromkeys((*now, *was))
    errors: list[FieldError] = []
    for name in names:
        errors += check_immutable(now.get(name), was.get(name), f"{path}.{name}")
    return errors
