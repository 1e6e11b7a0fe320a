"""JobSets and their Jobs for tests, with the defaults that admission gives them."""

import copy
from typing import Any

from tests.support import operators

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.operators import job_set_children as children
from fleetqueue.runtime.operators.job_set_webhook import default

GROUP = "jobset.x-k8s.io"


def replicated(name: str, replicas: int = 1, *, pods: int = 1, **more: Any) -> Object:
    container = {"name": "main", "image": "busybox"}
    pod = {"spec": {"containers": [container]}, **more.pop("pod", {})}
    spec = {"parallelism": pods, "completions": pods, "template": pod, **more.pop("job", {})}
    template = {"spec": spec, **more.pop("template", {})}
    return {
        "name": name,
        "replicas": replicas,
        "groupName": "default",
        "template": template,
        **more,
    }


def job_set(*replicated_jobs: Object, name: str = "train", **spec: Any) -> Object:
    """As it is stored; `status` and `annotations` may be given too."""
    metadata: Object = {"name": name, "namespace": "default", "uid": "uid-1"}
    if "annotations" in spec:
        metadata["annotations"] = spec.pop("annotations")
    status = spec.pop("status", None)
    made: Object = {
        "apiVersion": f"{GROUP}/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": copy.deepcopy({"replicatedJobs": list(replicated_jobs), **spec}),
    }
    default(operators.asked(made))
    if status is not None:
        made["status"] = status
    return made


def jobs(parent: Object, **status: Any) -> list[Object]:
    """All Jobs of the current attempt, each with this status."""
    made = []
    for each in children.replicated_jobs(parent):
        for index in range(children.replicas_of(each)):
            job = children.make_job(parent, each, index)
            job["metadata"]["uid"] = f"uid-{job['metadata']['name']}"
            job["status"] = dict(status)
            made.append(job)
    return made


def ended(type: str, at: str = operators.TIME, reason: str = "", message: str = "") -> Object:
    condition = {
        "type": type,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": at,
    }
    return {"conditions": [condition]}
