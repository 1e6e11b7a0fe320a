"""Ray without Ray: how the pods of Ray kinds are run on a machine that does not have it, and what
their pods then say of a job. What the API shows of the pods stays as it is.
"""

import copy
import sys
from collections.abc import Sequence
from typing import Any

from fleetqueue.api.times import parse_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.operators import ray_names as names
from fleetqueue.runtime.ray_dashboard import JobInfo

IDLE = "exec sleep 2147483647"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_MESSAGES = {
    "PENDING": "Job has not started yet.",
    "RUNNING": "Job is currently running.",
    "SUCCEEDED": "Job finished successfully.",
}


def without_ray(pod_spec: Object, python: str = sys.executable) -> Object:
    """The spec as it is run where there is no Ray: nodes idle and are ready, whoever would submit a
    job runs it. Pods that have nothing to do with Ray are given back as they are.
    """
    listed = (*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ()))
    if not any(map(_uses_ray, listed)):
        return pod_spec
    spec = copy.deepcopy(pod_spec)
    for container in spec.get("initContainers") or ():
        if container["name"] == names.WAIT_CONTAINER:
            _run(container, "echo 'There is no Ray to wait for.'")
    for container in spec.get("containers") or ():
        _replace(container, python)
    return spec


def job_seen(pods: Sequence[Object], container: str = "") -> JobInfo:
    """What is known of a job that a container of the newest of these pods runs; without a name it
    is the first container.
    """
    if not pods:
        return _info("PENDING")
    pod = max(pods, key=lambda each: (pod_facts.created_at(each), each["metadata"]["name"]))
    status = pod.get("status") or {}
    name = container or pod["spec"]["containers"][0]["name"]
    listed = status.get("containerStatuses") or ()
    state = next((each.get("state") or {} for each in listed if each["name"] == name), {})
    ending = state.get("terminated")
    if ending:
        return _ended(ending)
    if pod_facts.is_terminal(pod):
        return _ended({"exitCode": int(pod_facts.phase(pod) == "Failed")})
    started = (state.get("running") or {}).get("startedAt")
    if started or (pod_facts.phase(pod) == "Running" and not state):
        return _info("RUNNING", start=_milliseconds(started))
    return _info("PENDING")


def _ended(ending: Object) -> JobInfo:
    times = {
        "start": _milliseconds(ending.get("startedAt")),
        "end": _milliseconds(ending.get("finishedAt")),
    }
    code = ending.get("exitCode") or 0
    if code == 0:
        return _info("SUCCEEDED", **times)
    text = f"Job entrypoint command failed with exit code {code}"
    return JobInfo("FAILED", text, times["start"], times["end"])


def _info(status: str, start: int = 0, end: int = 0) -> JobInfo:
    return JobInfo(status, _MESSAGES[status], start, end)


def _milliseconds(moment: Any) -> int:
    return int(parse_time(moment).timestamp() * 1000) if moment else 0


def _replace(container: Object, python: str) -> None:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if _submits(words):
        container["command"] = [python, "-m", "fleetqueue.runtime.ray_submit", *words]
        container.pop("args", None)
    elif container["name"] == names.AUTOSCALER and "kuberay-autoscaler" in " ".join(words):
        _run(container, IDLE)
    elif "cleanup_redis_storage" in " ".join(words):
        _run(container, "echo 'There is no Redis to clean up.'")
    elif names.has_env(container, names.START_COMMAND):
        _idle_instead_of_start(container)


def _idle_instead_of_start(container: Object) -> None:
    """What the user wants to run before the node starts is run."""
    for field in ("command", "args"):
        container[field] = [_before_start(word) for word in container.get(field) or ()]
    container["env"] = [
        {**each, "value": IDLE} if each["name"] == names.START_COMMAND else each
        for each in container["env"]
    ]
    for probe in _PROBES:
        container.pop(probe, None)
    lifecycle = container.get("lifecycle") or {}
    if "ray stop" in str(lifecycle.get("preStop")):
        container["lifecycle"] = {k: v for k, v in lifecycle.items() if k != "preStop"}


def _before_start(word: str) -> str:
    before, found, _ = word.partition("ray start")
    return f"{before}{IDLE}" if found else word


def _run(container: Object, script: str) -> None:
    container["command"], container["args"] = ["/bin/sh", "-c"], [script]
    for probe in _PROBES:
        container.pop(probe, None)


def _uses_ray(container: Object) -> bool:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return names.has_env(container, names.START_COMMAND) or _submits(words)


def _submits(words: list[str]) -> bool:
    return "ray job submit" in " ".join(words)
