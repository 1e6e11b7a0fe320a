"""What all mirrors have in common: their metadata, and what tells whose they are."""

from fleetqueue.api import names
from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.multikueue.settings import DispatchSettings

_LEFT_OUT = ("apiVersion", "kind", "metadata", "status")


def bare(
    job: Object,
    resource: Resource,
    settings: DispatchSettings,
    *,
    prebuilt: str = "",
    notes_uid: bool = False,
) -> Object:
    """The job as it would be created anew, with our origin.

    `prebuilt`: the Workload that waits for it; `notes_uid`: names of Workloads are computed from
    the job's uid, so its mirror says that.
    """
    key = key_of(job)
    metadata: Object = {
        "name": key.name,
        "namespace": key.namespace,
        "labels": {
            **identity.labels_of(job),
            **(prebuilt_labels(prebuilt) if prebuilt else {}),
            labels.MULTIKUEUE_ORIGIN: settings.origin,
        },
    }
    annotations = {
        **identity.annotations_of(job),
        **({labels.PREBUILT_WORKLOAD_NAME: prebuilt} if prebuilt else {}),
        **({labels.MULTIKUEUE_ORIGIN_UID: uid_of(job)} if notes_uid else {}),
    }
    annotations.pop(labels.STOPPING, None)
    if annotations:
        metadata["annotations"] = annotations
    rest = {name: value for name, value in job.items() if name not in _LEFT_OUT}
    named = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return {**named, **rest}


def prebuilt_labels(name: str) -> dict[str, str]:
    """For those who look for a label; not every name of a Workload may be one's value."""
    return {} if names.label_value(name) else {labels.PREBUILT_WORKLOAD_NAME: name}


def prebuilt_patch(mirror: Object, name: str) -> Object:
    """The change of metadata that makes a mirror stand for another Workload; {}: it does."""
    kept = prebuilt_labels(name)
    wanted: dict[str, str | None] = {labels.PREBUILT_WORKLOAD_NAME: None, **kept}
    changed = {
        key: value for key, value in wanted.items() if identity.labels_of(mirror).get(key) != value
    }
    made: Object = {"labels": changed} if changed else {}
    key = labels.PREBUILT_WORKLOAD_NAME
    if identity.annotations_of(mirror).get(key) != name:
        made["annotations"] = {key: name}
    return made
