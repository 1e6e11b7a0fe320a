"""Which pods on a worker belong to a mirror: where to look for them, and who is asked whether they
do. Labels say where to look; only owners, by their uids, prove anything.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fleetqueue.api import selectors
from fleetqueue.jobs import identity, pod_selectors
from fleetqueue.jobs.kinds import app_wrapper, batch_job, job_set, ray_cluster, stateful_set
from fleetqueue.jobs.pod_selectors import (
    JOB_NAME_LABEL,
    ORIGIN_LABEL,
    RAY_CLUSTER_LABEL,
    WRAPPER_LABEL,
)
from fleetqueue.kube.resources import PODS, Object, Resource, key_of, split_api_version, uid_of

WRAPPERS = app_wrapper.JOB.resource
INTERMEDIATE = (
    PODS,
    batch_job.JOB.resource,
    job_set.JOB.resource,
    ray_cluster.JOB.resource,
    stateful_set.JOB.resource,
)
"""What operators make between a job and its pods."""

Selectors = Callable[[Object], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Reference:
    """An owner as what it owns names it; where a label does, without its uid."""

    group: str
    kind: str
    name: str
    uid: str


def selectors_of(kind: Resource, mirror: Object) -> list[str]:
    """Each finds some of its pods, and maybe others; "" finds all of the namespace."""
    several = _SEVERAL.get((kind.group, kind.kind))
    if several is not None:
        return list(dict.fromkeys(several(mirror)))
    found = pod_selectors.selector_of(kind, mirror)
    if found is None:
        return [""]
    return [found] if found else []


def is_itself(kind: Resource) -> bool:
    """Whether the mirror is the pod."""
    return (kind.group, kind.kind) == (PODS.group, PODS.kind)


def owner_of(obj: Object) -> Reference | None:
    """Who controls it; where nobody does, the first of its owners."""
    references = obj["metadata"].get("ownerReferences") or []
    found = next((each for each in references if each.get("controller")), None)
    if found is None:
        found = next(iter(references), None)
    if found is None:
        return None
    group = split_api_version(str(found.get("apiVersion") or ""))[0]
    return Reference(group, str(found["kind"]), str(found["name"]), str(found.get("uid") or ""))


def itself(pod: Object) -> Reference:
    return Reference(PODS.group, PODS.kind, key_of(pod).name, uid_of(pod))


def wrapper_of(pod: Object) -> Reference | None:
    """The AppWrapper that a pod names: what lies between may be of any kind, and have no owner."""
    name = identity.labels_of(pod).get(WRAPPER_LABEL)
    return Reference(WRAPPERS.group, WRAPPERS.kind, name, "") if name else None


# What is shown here of a pod there


def shown(pod: Object, uids: Mapping[str, str]) -> Object:
    """The pod as the jobs here select it. `uids`: of mirrors, and the jobs that they stand for."""
    metadata: Object = {**pod["metadata"]}
    for name in ("resourceVersion", "managedFields"):
        metadata.pop(name, None)
    if metadata.get("labels"):
        metadata["labels"] = {
            key: uids.get(value, value) for key, value in metadata["labels"].items()
        }
    if metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {**each, "uid": uids.get(each.get("uid"), each.get("uid"))}
            for each in metadata["ownerReferences"]
        ]
    return {"kind": PODS.kind, "apiVersion": PODS.api_version, **pod, "metadata": metadata}


def asked_there(wanted: selectors.LabelSelector, uids: Mapping[str, str]) -> str:
    """A selector of this cluster in the words of a worker. `uids`: of jobs, and their mirrors."""
    made = [
        selectors.Requirement(
            each.key, each.operator, tuple(uids.get(value, value) for value in each.values)
        )
        for each in wanted.requirements
    ]
    return str(selectors.LabelSelector(tuple(made)))


def values_of(wanted: selectors.LabelSelector) -> list[str]:
    """Of the labels that a pod must have."""
    positive = ("=", "==", "in")
    return [
        value for each in wanted.requirements if each.operator in positive for value in each.values
    ]


# Kinds whose pods are found by more than the one selector that people are shown


def _of_batch_job(mirror: Object) -> Iterable[str]:
    """With a selector of its own, its pods need not have its name."""
    found = pod_selectors.selected(mirror)
    return [found] if found else []


def _of_ray_job(mirror: Object) -> Iterable[str]:
    """Its cluster, and the job that submits it, which has its name."""
    name, status = mirror["metadata"]["name"], mirror.get("status") or {}
    yield f"{ORIGIN_LABEL}={name}"
    if status.get("rayClusterName"):
        yield f"{RAY_CLUSTER_LABEL}={status['rayClusterName']}"
    yield f"{JOB_NAME_LABEL}={name}"


def _of_ray_service(mirror: Object) -> Iterable[str]:
    """The cluster that serves, and the one that is about to."""
    status = mirror.get("status") or {}
    yield f"{ORIGIN_LABEL}={mirror['metadata']['name']}"
    for name in ("activeServiceStatus", "pendingServiceStatus"):
        cluster = (status.get(name) or {}).get("rayClusterName")
        if cluster:
            yield f"{RAY_CLUSTER_LABEL}={cluster}"


_SEVERAL: dict[tuple[str, str], Selectors] = {
    ("batch", "Job"): _of_batch_job,
    ("ray.io", "RayJob"): _of_ray_job,
    ("ray.io", "RayService"): _of_ray_service,
}
