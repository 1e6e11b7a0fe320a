"""The pods and Services of a training job, and what a pod says about itself."""

from collections.abc import Iterable

from fleetqueue.kube.plan import child
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.kinds import SERVICE
from fleetqueue.runtime.operators.training_kinds import Replica, TrainingJob, ports_of
from fleetqueue.runtime.templates import pod_from_template

PREFIX = "training.kubeflow.org/"
ROLE_KEY = f"{PREFIX}replica-type"
INDEX_KEY = f"{PREFIX}replica-index"

RETRIED_FROM = 128
"""Exit codes from here on are signals and the like: trying again may help."""
_NO_EXIT_CODE = 0xBEEF


def labels(job: TrainingJob, role: str, index: int | None = None) -> dict[str, str]:
    """What pods, Services and selectors have in common; all of a role where no index is given."""
    common = {
        f"{PREFIX}operator-name": job.family.controller,
        f"{PREFIX}job-name": job.name,
        ROLE_KEY: role.lower(),
    }
    return common if index is None else {**common, INDEX_KEY: str(index)}


def make_pod(job: TrainingJob, replica: Replica, index: int) -> Object:
    marks = labels(job, replica.role, index)
    if job.is_master(replica.role, index):
        marks[f"{PREFIX}job-role"] = "master"
    spec = _with_environment(job, replica, index)
    spec["restartPolicy"] = "Never" if replica.policy == "ExitCode" else replica.policy
    return pod_from_template(
        replica.template,
        job.obj,
        name=job.pod_name(replica.role, index),
        labels=marks,
        spec=job.family.prepare(job, replica.role, spec),
    )


def make_service(job: TrainingJob, replica: Replica, index: int) -> Object:
    """The pod's name resolves because this Service has it."""
    marks = labels(job, replica.role, index)
    ports = [
        {"name": port["name"], "port": port["containerPort"]}
        for port in ports_of(replica.template, job.family)
        if port.get("name")
    ]
    spec: Object = {"clusterIP": "None", "selector": marks, "ports": ports}
    metadata = {"name": job.pod_name(replica.role, index), "labels": marks}
    return child(SERVICE, job.obj, metadata, spec=spec)


def of_role(objects: Iterable[Object], role: str) -> list[Object]:
    return [obj for obj in objects if role_of(obj) == role.lower()]


def role_of(obj: Object) -> str:
    return str((obj["metadata"].get("labels") or {}).get(ROLE_KEY) or "")


def index_of(obj: Object) -> int:
    """-1 where the label is missing or no number."""
    text = str((obj["metadata"].get("labels") or {}).get(INDEX_KEY) or "")
    return int(text) if text.isdecimal() else -1


def indexes(objects: Iterable[Object]) -> set[int]:
    return set(map(index_of, objects))


def exit_code(pod: Object, container: str) -> int:
    """How the container ended; a pod that failed without saying so is worth another try."""
    found = ended_with(pod, container)
    return _NO_EXIT_CODE if found is None else found


def ended_with(pod: Object, container: str) -> int | None:
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (status.get("state") or {}).get("terminated")
        if status.get("name") == container and ended:
            return int(ended.get("exitCode") or 0)
    return None


def to_clean(pods: list[Object], policy: str) -> list[Object]:
    """The pods of a finished job that its policy takes away."""
    if policy == "All":
        return pods
    if policy != "Running":
        return []
    return [pod for pod in pods if pod_facts.phase(pod) in ("Running", "Pending", "")]


def _with_environment(job: TrainingJob, replica: Replica, index: int) -> Object:
    spec = dict(replica.template.get("spec") or {})
    added = job.family.environment(job, replica.role, index)
    spec["containers"] = [
        {**each, "env": [*(each.get("env") or ()), *added]}
        if added and (job.family.env_everywhere or each.get("name") == job.family.container)
        else each
        for each in spec.get("containers") or ()
    ]
    return spec
