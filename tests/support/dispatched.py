"""Jobs that were handed over, their Workloads, and what a worker would hold of them."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support import train_jobs
from tests.support.job_looks import SETTINGS, admitted, flavor
from tests.support.queued_kinds import Example

from fleetqueue.api.patches import apply_merge_patch
from fleetqueue.base import paths
from fleetqueue.jobs import starting
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.pod_sets import pod_sets_of
from fleetqueue.kube.plan import Patch, Step
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.kinds import CONTROLLER
from fleetqueue.multikueue.settings import DispatchSettings

SETTINGS_OF_MANAGER = DispatchSettings(jobs=SETTINGS)
QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
HERE = flavor(
    "default",
    nodeLabels={"pool": "of-the-manager"},
    tolerations=[{"key": "of-the-manager", "operator": "Exists"}],
)


def with_gates(**gates: bool) -> DispatchSettings:
    made = replace(SETTINGS_OF_MANAGER.gates, **gates)
    return replace(SETTINGS_OF_MANAGER, gates=made)


def handed(kind: JobKind, job: Object, **metadata: Any) -> Object:
    """The job as the manager has it when it was made: suspended, and nobody's here."""
    known = {"namespace": "default", "uid": "uid-of-job", "resourceVersion": "7", "generation": 1}
    labels = {**(job["metadata"].get("labels") or {}), **QUEUE}
    made = {**job, "metadata": {**job["metadata"], **known, "labels": labels, **metadata}}
    made = copy.deepcopy(paths.with_value(made, kind.suspend, True))
    if kind.default is not None:
        kind.default(sight(made))
    return dict(paths.with_value(made, kind.managed_by, CONTROLLER))


def handed_example(example: Example) -> Object:
    return handed(example.kind, example.job(QUEUE))


def sight(job: Object) -> Sight:
    return Sight(job, Listed([HERE, train_jobs.runtime()]), SETTINGS)


def workload_of(kind: JobKind, job: Object, name: str = "workload-of-job", **more: Any) -> Object:
    reference = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": job["metadata"]["namespace"],
            "uid": "uid-of-workload",
            "resourceVersion": "9",
            "generation": 1,
            "labels": {"kueue.x-k8s.io/job-uid": job["metadata"]["uid"]},
            "ownerReferences": [reference],
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            **more,
        },
        "spec": {"podSets": pod_sets_of(kind, sight(job)), "priority": 0, "queueName": "lq"},
    }


def started(kind: JobKind, job: Object, workload: Object) -> Object:
    """The local job once its Workload is admitted, with all that admission puts into it."""
    return patched(job, starting.start(kind, sight(job), admitted(workload)))


def patched(job: Object, steps: Sequence[Step]) -> Object:
    for step in steps:
        if isinstance(step, Patch) and not step.subresource:
            job = apply_merge_patch(job, step.patch)
    return job
