"""What a job says of itself to the queue in its metadata: its queue, class, limits and wishes."""

from fleetqueue.api.kueue import labels
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.resources import Object

LABEL_LENGTH_MAX = 63


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def queue_of(obj: Object) -> str:
    return labels_of(obj).get(labels.QUEUE_NAME) or ""


def priority_class_of(obj: Object) -> str:
    return labels_of(obj).get(labels.PRIORITY_CLASS) or ""


def prebuilt_of(obj: Object, settings: JobSettings) -> str:
    """The name of a Workload that exists; "" where the job wants one of its own."""
    said = annotations_of(obj).get(labels.PREBUILT_WORKLOAD_NAME) or ""
    labelled = labels_of(obj).get(labels.PREBUILT_WORKLOAD_NAME) or ""
    if settings.gates.identifier_annotations:
        return said or labelled
    return labelled or (said if len(said) > LABEL_LENGTH_MAX else "")


def max_seconds_of(obj: Object) -> int | None:
    """How long the job may run; what is no number says nothing, as webhooks refuse it."""
    text = labels_of(obj).get(labels.MAX_EXEC_TIME_SECONDS) or ""
    digits = text.removeprefix("+")
    return int(digits) if digits.isascii() and digits.isdigit() and int(digits) > 0 else None


def origin_uid(obj: Object) -> str:
    """Of a mirror that of the job on its manager, of all others their own."""
    is_mirror = bool(labels_of(obj).get(labels.MULTIKUEUE_ORIGIN))
    told = annotations_of(obj).get(labels.MULTIKUEUE_ORIGIN_UID) if is_mirror else ""
    return told or str(obj["metadata"].get("uid") or "")


def gated_by(obj: Object) -> str:
    return annotations_of(obj).get(labels.ADMISSION_GATED_BY) or ""


def is_elastic(obj: Object, settings: JobSettings) -> bool:
    return settings.gates.slices and annotations_of(obj).get(labels.ELASTIC_JOB) == "true"
