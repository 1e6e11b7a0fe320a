"""What of an object belongs to the hub alone, and is taken off before it goes to members."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.kueue import labels as queueing

Json = dict[str, Any]
_METADATA = frozenset(
    {
        "resourceVersion",
        "generation",
        "uid",
        "selfLink",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "ownerReferences",
    }
)
_ANNOTATIONS = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        labels.PLACED,
    }
)
_JOB_LABELS = frozenset({"controller-uid", "batch.kubernetes.io/controller-uid"})
_ADMITTED = frozenset({queueing.WORKLOAD, queueing.PODSET})
_HEADLESS = "None"


def strip(obj: Json, *, is_job_aware: bool) -> Json:
    """The object as a member gets it; what is handed in stays as it is, and is shared.

    `is_job_aware`: maps of a Job that become empty go too, so that a member's own selector and
    labels are not compared with nothing.
    """
    stripped = {key: value for key, value in obj.items() if key != "status"}
    stripped["metadata"] = _metadata(obj["metadata"])
    special = _KINDS.get((obj.get("apiVersion", ""), obj.get("kind", "")))
    if special is not None and isinstance(obj.get("spec"), dict):
        stripped["spec"] = special(obj["spec"], is_job_aware)
    return stripped


def _metadata(metadata: Json) -> Json:
    kept = {key: value for key, value in metadata.items() if key not in _METADATA}
    if "annotations" in kept:
        annotations = _without(kept["annotations"] or {}, _ANNOTATIONS)
        if annotations:
            kept["annotations"] = annotations
        else:
            del kept["annotations"]
    return kept


def _service(spec: Json, is_job_aware: bool) -> Json:
    kept = _without(spec, frozenset({"healthCheckNodePort"}))
    if kept.get("clusterIP") != _HEADLESS:
        kept.pop("clusterIP", None)
        kept.pop("clusterIPs", None)
    if kept.get("ports"):
        kept["ports"] = [_without(port, frozenset({"nodePort"})) for port in kept["ports"]]
    return kept


def _job(spec: Json, is_job_aware: bool) -> Json:
    if spec.get("managedBy") == labels.JOB_MANAGER:
        spec = _without(spec, frozenset({"managedBy"}))
    if spec.get("manualSelector"):
        return spec
    kept = dict(spec)
    if spec.get("selector") is not None:
        selector = _with(spec["selector"], "matchLabels", _job_labels)
        kept["selector"] = _without_empty(selector, "matchLabels") if is_job_aware else selector
        if is_job_aware:
            kept = _without_empty(kept, "selector")
    if spec.get("template") is not None:
        kept["template"] = _template(spec["template"], is_job_aware)
    return kept


def _template(template: Json, is_job_aware: bool) -> Json:
    if template.get("metadata") is None:
        return template
    metadata = _without(template["metadata"], frozenset({"creationTimestamp"}))
    metadata = _with(metadata, "labels", _job_labels)
    if is_job_aware:
        metadata = _without_admission(metadata)
        metadata = _without_empty(_without_empty(metadata, "annotations"), "labels")
    kept = {**template, "metadata": metadata}
    return _without_empty(kept, "metadata") if is_job_aware else kept


def _without_admission(metadata: Json) -> Json:
    """Without what the hub's own queue wrote into a job that it had started: the queue of a member
    could not start it with that.
    """
    changed = _with(metadata, "annotations", lambda found: _without(found, _ADMITTED))
    return _with(changed, "labels", lambda found: _without(found, _ADMITTED))


def _job_labels(found: Mapping[str, Any]) -> Json:
    return _without(found, _JOB_LABELS)


def _with(parent: Json, field: str, change: Callable[[Mapping[str, Any]], Json]) -> Json:
    return {**parent, field: change(parent[field])} if parent.get(field) is not None else parent


def _without(found: Mapping[str, Any], fields: frozenset[str]) -> Json:
    return {key: value for key, value in found.items() if key not in fields}


def _without_empty(parent: Json, field: str) -> Json:
    return parent if parent.get(field) else _without(parent, frozenset({field}))


_KINDS: Mapping[tuple[str, str], Callable[[Json, bool], Json]] = {
    ("v1", "Service"): _service,
    ("batch/v1", "Job"): _job,
}
