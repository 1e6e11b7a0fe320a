"""The objects that the benchmarks write, as JSON; `%d` stands for the number of the request."""

import json
from typing import Any

from fleetqueue.api.crds import all_crds

Object = dict[str, Any]


def workload_crd() -> Object:
    """Kueue's Workload. One version is all that is used, and nobody answers conversion webhooks."""
    crds = all_crds("kueue.x-k8s.io")
    crd = next(crd for crd in crds if crd["spec"]["names"]["kind"] == "Workload")
    crd["spec"]["conversion"] = {"strategy": "None"}
    return crd


def config_map(name: str) -> str:
    data = {"settings": "x" * 600, "more": "z" * 300}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    )


def workload(name: str) -> str:
    pod_set = {
        "name": "main",
        "count": 4,
        "template": {"metadata": {}, "spec": _pod_spec()},
    }
    return json.dumps(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/job-uid": "0000"}},
            "spec": {"queueName": "user-queue", "podSets": [pod_set]},
        }
    )


def admitted() -> str:
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "message": "Quota reserved in ClusterQueue %d",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return json.dumps({"status": {"conditions": [condition]}})


def pod(name: str) -> str:
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": _gpu_spec()}
    )


def job(name: str) -> str:
    spec = {"parallelism": 4, "completions": 4, "template": {"spec": _gpu_spec()}}
    return json.dumps(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    )


def _gpu_spec() -> Object:
    """A Pod, unlike a Workload, is checked: a GPU that is asked for must be a limit too."""
    spec = _pod_spec()
    spec["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    return spec


def _pod_spec() -> Object:
    container = {
        "name": "main",
        "image": "registry.example.com/train:1",
        "command": ["python", "train.py"],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
        "env": [{"name": f"V{n}", "value": "x" * 20} for n in range(8)],
    }
    return {"containers": [container], "restartPolicy": "Never"}
