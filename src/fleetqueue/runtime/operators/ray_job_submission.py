"""How a RayJob gets its entry point to Ray: the script of a submitter, its Job or container, or the
request to the dashboard; and the cluster that a RayJob makes for itself.
"""

import copy
import json
from typing import Any

from fleetqueue.api.field_errors import quoted
from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB, RAY_CLUSTER
from fleetqueue.runtime.operators import ray_names as names

MODE_KEY = "ray.io/job-submission-mode"
K8S_JOB, SIDECAR, HTTP, INTERACTIVE = "K8sJobMode", "SidecarMode", "HTTPMode", "InteractiveMode"

_RETRIES = 2
_SHELL = ["/bin/bash", "-ce", "--"]
_RESOURCES = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}


class RuntimeEnvError(ValueError):
    """The runtime environment is not YAML."""


def mode_of(job: Object) -> str:
    return str(job["spec"].get("submissionMode") or K8S_JOB)


def runtime_env(spec: Object) -> Any:
    """What `runtimeEnvYAML` says; None where it says nothing."""
    text = spec.get("runtimeEnvYAML") or ""
    if not text:
        return None
    import yaml  # slow to load, and seldom needed

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RuntimeEnvError(f"failed to unmarshal RuntimeEnvYAML: {text}: {error}") from error


def make_cluster(job: Object, status: Object) -> Object:
    """The cluster of a job: the spec as written, all labels and annotations of the job with it."""
    metadata = {
        "name": status["rayClusterName"],
        "labels": {
            **names.labels_of(job),
            names.FROM_NAME_KEY: job["metadata"]["name"],
            names.FROM_KIND_KEY: "RayJob",
            MODE_KEY: mode_of(job),
        },
        "annotations": names.annotations_of(job),
    }
    spec = copy.deepcopy(job["spec"]["rayClusterSpec"])
    if mode_of(job) == SIDECAR:
        metadata["annotations"][names.NO_HEAD_RESTART_KEY] = "true"
        pod = spec["headGroupSpec"]["template"]["spec"]
        port = names.port_of(pod["containers"][0], "dashboard", names.DASHBOARD_PORT)
        container = _default_container(spec)
        _configure(container, job, status, f"http://127.0.0.1:{port}")
        pod["containers"] = [*pod["containers"], container]
        pod["restartPolicy"] = "Never"
    return child(RAY_CLUSTER, job, metadata, spec=spec)


def make_submitter(job: Object, status: Object, cluster: Object, *, runs_it: bool) -> Object:
    """The Job that submits. One that runs the entry point itself must not do so again."""
    spec = job["spec"]
    template = copy.deepcopy(spec.get("submitterPodTemplate")) or {
        "spec": {"containers": [_default_container(cluster["spec"])], "restartPolicy": "Never"}
    }
    container = template["spec"]["containers"][0]
    _configure(container, job, status, "http://$RAY_DASHBOARD_ADDRESS")
    labels = {
        names.FROM_NAME_KEY: job["metadata"]["name"],
        names.FROM_KIND_KEY: "RayJob",
        names.CREATED_BY_KEY: names.COMPONENT,
    }
    limit = (spec.get("submitterConfig") or {}).get("backoffLimit")
    whole: Object = {"backoffLimit": _RETRIES if limit is None else limit, "template": template}
    if runs_it and template["spec"].get("restartPolicy") == "Never":
        codes = {"containerName": container["name"], "operator": "NotIn", "values": [0]}
        whole["podFailurePolicy"] = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
    return child(JOB, job, {"name": job["metadata"]["name"], "labels": labels}, spec=whole)


def make_request(job: Object, status: Object) -> Object:
    """What the dashboard is sent where nobody else submits."""
    spec = job["spec"]
    asked = {
        "runtime_env": runtime_env(spec),
        "metadata": spec.get("metadata"),
        "submission_id": status.get("jobId"),
        "entrypoint_num_cpus": spec.get("entrypointNumCpus"),
        "entrypoint_num_gpus": spec.get("entrypointNumGpus"),
        "entrypoint_resources": json.loads(spec.get("entrypointResources") or "null"),
    }
    told = {key: value for key, value in asked.items() if value}
    return {"entrypoint": spec.get("entrypoint") or "", **told}


def submit_script(job: Object, status: Object, address: str) -> str:
    """Waits for the dashboard, submits unless that was done before, and follows the log."""
    id, is_job = status.get("jobId") or "", mode_of(job) != SIDECAR
    where = f"--address {address}"
    check = f"import urllib.request as r; r.urlopen('{address}/api/gcs_healthz', timeout=10)"
    waiting = f'echo "Waiting for Ray Dashboard GCS to become healthy at {address} ..."'
    words = [
        f'until python -c "{check}" >/dev/null 2>&1 ; do {waiting} ; sleep 2 ; done ;',
        *([f"if ! ray job status {where} {id} >/dev/null 2>&1 ; then"] if is_job else []),
        f"ray job submit {where}",
        *(["--no-wait"] if is_job else []),
        *([f"--submission-id {id}"] if id else []),
        *_options(job["spec"]),
        f"-- {str(job['spec'].get('entrypoint') or '').strip()} ;",
        *([f"fi ; ray job logs {where} --follow {id}"] if is_job else []),
    ]
    return " ".join(words)


def _options(spec: Object) -> list[str]:
    runtime, options = runtime_env(spec), []
    if runtime is not None:
        options.append(f"--runtime-env-json {quoted(_json(runtime))}")
    if spec.get("metadata") and spec.get("rayClusterSpec") is not None:
        options.append(f"--metadata-json {quoted(_json(spec['metadata']))}")
    for field, flag in (("entrypointNumCpus", "cpus"), ("entrypointNumGpus", "gpus")):
        if (spec.get(field) or 0) > 0:
            options.append(f"--entrypoint-num-{flag} {float(spec[field]):f}")
    if spec.get("entrypointResources"):
        options.append(f"--entrypoint-resources {quoted(spec['entrypointResources'])}")
    return options


def _configure(container: Object, job: Object, status: Object, address: str) -> None:
    """A command that the user gives stays."""
    if not container.get("command") or mode_of(job) == SIDECAR:
        container["command"] = list(_SHELL)
        container["args"] = [submit_script(job, status, address)]
    container["env"] = [
        *(container.get("env") or ()),
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", "value": status.get("dashboardURL") or ""},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": status.get("jobId") or ""},
    ]


def _default_container(cluster_spec: Object) -> Object:
    return {
        "name": names.SUBMITTER,
        "image": names.head_image(cluster_spec),
        "resources": copy.deepcopy(_RESOURCES),
    }


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
