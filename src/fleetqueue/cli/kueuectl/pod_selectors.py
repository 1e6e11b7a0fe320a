"""The selector that finds the pods of a job, or why there is none."""

from typing import Any

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.jobs import pod_selectors
from fleetqueue.kube.resources import PODS, Resource

Object = dict[str, Any]
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"


def selector_of(kind: Resource, job: Object) -> str:
    if (kind.group, kind.kind) == (PODS.group, PODS.kind):
        return _of_pod(job)
    found = pod_selectors.selector_of(kind, job)
    if found is None:
        raise Failure(f"unsupported kind: {kind.kind}")
    return found


def _of_pod(pod: Object) -> str:
    """The whole group, where it belongs to one."""
    group = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
    if group:
        return f"{GROUP_LABEL}={group}"
    raise Failure("unsupported kind: Pod", "only pods of a group have others beside them")
