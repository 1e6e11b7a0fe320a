"""What an MPIJob makes: a Service, hosts and keys, worker pods, and the Job of its launcher."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import CONFIG_MAP, JOB, POD, SECRET, SERVICE
from fleetqueue.runtime.operators import ssh_keys
from fleetqueue.runtime.operators.mpi_job_spec import MpiJob, Replica

OPERATOR_KEY = "training.kubeflow.org/operator-name"
JOB_KEY = "training.kubeflow.org/job-name"
ROLE_KEY = "training.kubeflow.org/job-role"
INDEX_KEY = "training.kubeflow.org/replica-index"

_HOSTS = "/etc/mpi/hostfile"
_PATIENCE = "-o ConnectionAttempts=10"
_ROOT_KEYS_PATH = "/root/.ssh"
_PASSED_ON = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")


def make_service(job: MpiJob) -> Object:
    spec: Object = {
        "clusterIP": "None",
        "selector": {OPERATOR_KEY: "mpi-operator", JOB_KEY: job.name},
    }
    if job.launcher_works:
        # Else the launcher would wait for names that wait for the launcher.
        spec["publishNotReadyAddresses"] = True
    return child(SERVICE, job.obj, _metadata(job, job.name), spec=spec)


def make_config(job: MpiJob, workers: Iterable[Object]) -> Object:
    """All hosts for MPI, and a script that names those that run now."""
    running = sorted(
        pod["metadata"]["name"]
        for pod in workers
        if (pod.get("status") or {}).get("phase") == "Running"
    )
    own = [job.launcher_name] if job.launcher_works else []
    mark = " slots=" if job.implementation == "OpenMPI" else ":"
    lines = [f"{job.host(pod)}{mark}{job.slots}\n" for pod in (*own, *job.worker_names)]
    found = [f"echo {job.host(pod)}:{job.slots}\n" for pod in (*own, *running)]
    data = {"hostfile": "".join(lines), "discover_hosts.sh": "".join(["#!/bin/sh\n", *found])}
    return child(CONFIG_MAP, job.obj, _metadata(job, f"{job.name}-config"), data=data)


def make_secret(job: MpiJob) -> Object:
    """Without keys, which it gets when it is made."""
    return child(SECRET, job.obj, _metadata(job, f"{job.name}-ssh"), type=ssh_keys.SSH_AUTH)


def make_worker(job: MpiJob, index: int) -> Object:
    assert job.worker is not None
    name = job.worker_names[index]
    place = index + 1 if job.launcher_works else index
    metadata, spec = _pod(job, job.worker, "worker", name)
    metadata["labels"][INDEX_KEY] = str(place)
    search = f"{job.name}.{job.namespace}.svc.cluster.local"
    resolver = spec.get("dnsConfig") or {}
    spec["dnsConfig"] = {**resolver, "searches": [*(resolver.get("searches") or ()), search]}
    first = spec["containers"][0]
    if not first.get("command") and not first.get("args"):
        first["command"] = ["/usr/sbin/sshd", "-De"]
    _add(first, "env", {"name": "K_MPI_JOB_ROLE", "value": "worker"})
    _mount_keys(job, spec)
    return child(POD, job.obj, {"name": name, **metadata}, spec=spec)


def make_launcher(job: MpiJob) -> Object:
    spec: Object = {
        name: job.run_policy[name] for name in _PASSED_ON if job.run_policy.get(name) is not None
    }
    spec["podReplacementPolicy"] = "Failed"
    spec["template"] = launcher_template(job)
    if job.is_suspended:
        spec["suspend"] = True
    return child(JOB, job.obj, _metadata(job, job.launcher_name), spec=spec)


def launcher_template(job: MpiJob) -> Object:
    assert job.launcher is not None
    metadata, spec = _pod(job, job.launcher, "launcher", job.launcher_name)
    if job.launcher_works:
        metadata["labels"][INDEX_KEY] = "0"
    first = spec["containers"][0]
    variables = {"K_MPI_JOB_ROLE": "launcher", **_variables(job)}
    if not job.launcher_works:
        # A launcher that only launches must not take devices.
        variables |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    _add(first, "env", *({"name": name, "value": value} for name, value in variables.items()))
    _mount_keys(job, spec)
    items = [
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]
    source = {"name": f"{job.name}-config", "items": items}
    _add(spec, "volumes", {"name": "mpi-job-config", "configMap": source})
    _add(first, "volumeMounts", {"name": "mpi-job-config", "mountPath": "/etc/mpi"})
    return {"metadata": metadata, "spec": spec}


def resumed_template(job: MpiJob, launcher: Object) -> Object:
    """A patch with what may be set on the launcher's template while its Job is suspended."""
    old, new = launcher["spec"]["template"], launcher_template(job)
    patch: Object = {"metadata": {}, "spec": {}}
    for part in ("labels", "annotations"):
        if new["metadata"].get(part):
            patch["metadata"][part] = new["metadata"][part]
    wanted = new["spec"].get("nodeSelector") or {}
    gone = dict.fromkeys(old["spec"].get("nodeSelector") or {})
    patch["spec"]["nodeSelector"] = {**gone, **wanted} or None
    for part in ("tolerations", "schedulingGates"):
        patch["spec"][part] = new["spec"].get(part) or None
    return patch


def _metadata(job: MpiJob, name: str) -> Object:
    return {"name": name, "labels": {"app": job.name}}


def _pod(job: MpiJob, replica: Replica, role: str, host: str) -> tuple[Object, Object]:
    """Metadata and spec of a pod, whose first container may be changed."""
    given = replica.template.get("metadata") or {}
    marks = {OPERATOR_KEY: "mpi-operator", JOB_KEY: job.name, ROLE_KEY: role}
    metadata: Object = {"labels": {**(given.get("labels") or {}), **marks}}
    if given.get("annotations"):
        metadata["annotations"] = dict(given["annotations"])
    containers = [dict(each) for each in replica.pod["containers"]]
    spec: Object = {**replica.pod, "containers": containers, "hostname": host}
    spec |= {"subdomain": job.name, "restartPolicy": replica.restart_policy}
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return metadata, spec


def _variables(job: MpiJob) -> dict[str, str]:
    match job.implementation:
        case "OpenMPI":
            return {
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_default_hostfile": _HOSTS,
                "OMPI_MCA_plm_rsh_args": _PATIENCE,
                "OMPI_MCA_orte_set_default_slots": str(job.slots),
            }
        case "Intel":
            return {
                "I_MPI_HYDRA_HOST_FILE": _HOSTS,
                "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _PATIENCE,
                "I_MPI_PERHOST": str(job.slots),
            }
        case _:
            return {"HYDRA_HOST_FILE": _HOSTS, "HYDRA_LAUNCH_EXTRA_ARGS": _PATIENCE}


def _mount_keys(job: MpiJob, spec: Object) -> None:
    secret: Object = {"secretName": f"{job.name}-ssh", "items": ssh_keys.volume_items()}
    if job.keys_path == _ROOT_KEYS_PATH:
        secret["defaultMode"] = 0o600
    _add(spec, "volumes", {"name": "ssh-auth", "secret": secret})
    mount = {"name": "ssh-auth", "mountPath": job.keys_path}
    _add(spec["containers"][0], "volumeMounts", mount)


def _add(obj: Object, part: str, *items: Any) -> None:
    obj[part] = [*(obj.get(part) or ()), *items]
