"""TFJob: TF_CONFIG for TensorFlow's distribution strategies; a chief decides, or worker 0."""

from functools import partial
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.base import codec
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.kinds import TF_JOB
from fleetqueue.runtime.operators.training_jobs import operator_of
from fleetqueue.runtime.operators.training_kinds import Family, Replica, TrainingJob
from fleetqueue.runtime.operators.training_status import Draft
from fleetqueue.runtime.operators.training_webhook import webhook_of

_LEADERS = ("Chief", "Master")


def environment(cluster_domain: str, job: TrainingJob, role: str, index: int) -> list[Object]:
    """A job of a single replica trains alone, and is told nothing."""
    if job.total == 1:
        return []
    config = _config(job, role.lower(), index, cluster_domain)
    return [{"name": "TF_CONFIG", "value": codec.encode(config).decode()}]


def _config(job: TrainingJob, role: str, index: int, cluster_domain: str) -> Object:
    cluster = {
        replica.role.lower(): [_host(job, replica, each, cluster_domain) for each in _all(replica)]
        for replica in sorted(job.replicas, key=lambda replica: replica.role.lower())
        if replica.role != "Evaluator"
    }
    task = {"type": role, "index": index}
    if job.spec.get("enableDynamicWorker"):
        return {"cluster": _sparse(cluster, role, index), "task": task}
    return {"cluster": cluster, "task": task, "environment": "cloud"}


def _sparse(cluster: dict[str, list[str]], role: str, index: int) -> Object:
    """A worker knows itself and the parameter servers; such a server knows itself alone."""
    workers: dict[str, str] = {}
    servers: list[str] = []
    if role == "worker":
        workers, servers = {str(index): cluster[role][index]}, cluster.get("ps", [])
    elif role == "ps":
        servers = [cluster[role][index]]
    return {"worker": workers, "ps": servers}


def _all(replica: Replica) -> range:
    return range(replica.count)


def _host(job: TrainingJob, replica: Replica, index: int, cluster_domain: str) -> str:
    host = f"{job.pod_name(replica.role, index)}.{job.namespace}.svc"
    domain = f".{cluster_domain}" if cluster_domain else ""
    return f"{host}{domain}:{job.port(replica.role)}"


def judge(draft: Draft, job: TrainingJob) -> None:
    where = f"TFJob {job.namespace}/{job.name}"
    for replica in job.replicas:
        counts = draft.counts(replica.role)
        if job.leader is replica or (job.leader is None and replica.role == "Worker"):
            if _is_done(draft, job, replica, counts):
                draft.finish("Succeeded", f"{where} successfully completed.")
                return
            if counts["active"]:
                draft.set("Running", "Running", f"{where} is running.")
        if not counts["failed"] or _may_come_and_go(job, replica):
            continue
        why = f"because {counts['failed']} {replica.role} replica(s) failed."
        if replica.is_retried:
            text = f"job {job.name} is restarting because {replica.role} replica(s) failed."
            draft.set("Restarting", "Restarting", text, event="Warning")
        else:
            draft.finish("Failed", f"{where} has failed {why}")


def _is_done(draft: Draft, job: TrainingJob, replica: Replica, counts: dict[str, int]) -> bool:
    if counts["succeeded"] == replica.count:
        return True
    needs_all = job.leader is not None or job.spec.get("successPolicy") == "AllWorkers"
    return not needs_all and draft.first_succeeded(replica.role)


def _may_come_and_go(job: TrainingJob, replica: Replica) -> bool:
    return bool(job.spec.get("enableDynamicWorker")) and replica.role == "Worker"


def rules(asked: Asked, family: Family) -> list[FieldError]:
    given: Any = asked.spec.get(family.specs) or {}
    if sum(family.canonical(role) in _LEADERS for role in given) > 1:
        why = "must not have more than 1 Chief or Master role"
        return [fields.forbidden(f"spec.{family.specs}", why)]
    return []


def family_of(*, cluster_domain: str = "") -> Family:
    """`cluster_domain`, such as cluster.local, follows the hosts of TF_CONFIG where it is given."""
    return Family(
        TF_JOB,
        specs="tfReplicaSpecs",
        container="tensorflow",
        port_name="tfjob-port",
        port=2222,
        restart_policy="Never",
        roles=("Chief", "Evaluator", "Master", "PS", "Worker"),
        leaders=_LEADERS,
        environment=partial(environment, cluster_domain),
        env_everywhere=False,
        judge=judge,
        further_rules=rules,
    )


def tf_operator(*, cluster_domain: str = "") -> Operator:
    return operator_of(family_of(cluster_domain=cluster_domain))


FAMILY = family_of()
OPERATOR = tf_operator()
WEBHOOK = webhook_of(FAMILY)
