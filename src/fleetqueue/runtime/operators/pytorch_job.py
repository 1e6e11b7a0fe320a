"""PyTorchJob: ranks and a rendezvous for torch.distributed and torchrun, elastic where asked."""

from dataclasses import replace
from functools import partial

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.kinds import PYTORCH_JOB
from fleetqueue.runtime.operators.pytorch_autoscaler import AUTOSCALER, autoscaler, bounds
from fleetqueue.runtime.operators.training_jobs import operator_of
from fleetqueue.runtime.operators.training_kinds import Family, TrainingJob
from fleetqueue.runtime.operators.training_verdicts import judge
from fleetqueue.runtime.operators.training_webhook import check_master, webhook_of

INIT_TRIES = 100


def environment(job: TrainingJob, role: str, index: int) -> list[Object]:
    values = {"PYTHONUNBUFFERED": "1"}
    if job.replica("Master"):
        values |= _meet_at_master(job, index if role == "Master" else index + 1)
    elastic = job.spec.get("elasticPolicy")
    processes = job.spec.get("nprocPerNode")
    if processes is None and (elastic or {}).get("nProcPerNode") is None:
        processes = "auto"
    if processes is not None:
        values["PET_NPROC_PER_NODE"] = processes
    if elastic is None:
        values["PET_NNODES"] = str(job.total)
    else:
        values |= _meet_elastically(job, elastic)
    return [{"name": name, "value": value} for name, value in values.items()]


def _meet_at_master(job: TrainingJob, rank: int) -> dict[str, str]:
    port, address = str(job.port("Master")), job.pod_name("Master", 0)
    processes = str(job.spec.get("nprocPerNode") or "")
    per_node = int(processes) if processes.isdecimal() else 1
    return {
        "MASTER_PORT": port,
        "PET_MASTER_PORT": port,
        "MASTER_ADDR": address,
        "PET_MASTER_ADDR": address,
        "WORLD_SIZE": str(job.total * per_node),
        "RANK": str(rank),
        "PET_NODE_RANK": str(rank),
    }


def _meet_elastically(job: TrainingJob, elastic: Object) -> dict[str, str]:
    host = elastic.get("rdzvHost") or job.pod_name("Worker", 0)
    values = {
        "PET_RDZV_ENDPOINT": f"{host}:{elastic.get('rdzvPort') or job.port('Worker')}",
        "PET_RDZV_BACKEND": elastic.get("rdzvBackend") or "c10d",
        "PET_NNODES": _nodes(job, elastic),
    }
    optional = {
        "PET_MAX_RESTARTS": elastic.get("maxRestarts"),
        "PET_NPROC_PER_NODE": elastic.get("nProcPerNode"),
        "PET_RDZV_ID": elastic.get("rdzvId"),
    }
    values |= {name: str(value) for name, value in optional.items() if value is not None}
    if elastic.get("rdzvConf"):
        pairs = (f"{each.get('key', '')}={each.get('value', '')}" for each in elastic["rdzvConf"])
        values["PET_RDZV_CONF"] = ",".join(pairs)
    if elastic.get("standalone"):
        values["PET_STANDALONE"] = ""
    return values


def _nodes(job: TrainingJob, elastic: Object) -> str:
    low, high = bounds(elastic)
    worker = job.replica("Worker")
    if low is None or high is None:
        return str(worker.count if worker else 0)
    return f"{low}:{high}"


def rules(asked: Asked, family: Family) -> list[FieldError]:
    errors = check_master(asked, family)
    elastic = asked.spec.get("elasticPolicy")
    if elastic is None:
        return errors
    if "Worker" not in map(family.canonical, asked.spec.get(family.specs) or {}):
        why = "must be configured if elastic policy is used"
        errors.append(fields.required(f"spec.{family.specs}[Worker]", why))
    if elastic.get("nProcPerNode") is not None:
        old, new = "spec.elasticPolicy.nProcPerNode", "spec.nprocPerNode"
        asked.warnings.append(f"{old} is deprecated, use {new} instead")
        if asked.spec.get("nprocPerNode") is not None:
            errors.append(fields.forbidden(old, f"must not be used with {new}"))
    return errors


def wait_for_master(image: str, tries: int, job: TrainingJob, role: str, pod: Object) -> Object:
    """A worker whose first container waits until the master's name resolves."""
    if role != "Worker" or not job.replica("Master"):
        return pod
    lookup = f"nslookup {job.pod_name('Master', 0)}"
    command = (
        f"for i in $(seq {tries}); do {lookup} && exit 0; echo waiting for master; sleep 2; done;"
        " exit 1"
    )
    container = {
        "name": "init-pytorch",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
    }
    return {**pod, "initContainers": [*(pod.get("initContainers") or ()), container]}


def family_of(*, init_image: str = "", init_tries: int = INIT_TRIES) -> Family:
    """Workers wait for their master in an init container where an image for it is given."""
    family = Family(
        PYTORCH_JOB,
        specs="pytorchReplicaSpecs",
        container="pytorch",
        port_name="pytorchjob-port",
        port=23456,
        restart_policy="OnFailure",
        roles=("Master", "Worker"),
        environment=environment,
        judge=judge(one_worker_is_enough=lambda job: job.spec.get("elasticPolicy") is not None),
        besides=autoscaler,
        further_rules=rules,
    )
    if not init_image:
        return family
    return replace(family, prepare=partial(wait_for_master, init_image, init_tries))


def pytorch_operator(*, init_image: str = "", init_tries: int = INIT_TRIES) -> Operator:
    family = family_of(init_image=init_image, init_tries=init_tries)
    return operator_of(family, owns=(AUTOSCALER,))


FAMILY = family_of()
OPERATOR = pytorch_operator()
WEBHOOK = webhook_of(FAMILY)
