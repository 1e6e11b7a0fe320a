"""JAXJob: equal processes; the first worker coordinates."""

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JAX_JOB
from fleetqueue.runtime.operators.training_jobs import operator_of
from fleetqueue.runtime.operators.training_kinds import Family, TrainingJob
from fleetqueue.runtime.operators.training_verdicts import judge
from fleetqueue.runtime.operators.training_webhook import webhook_of


def environment(job: TrainingJob, role: str, index: int) -> list[Object]:
    values = {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": str(job.port("Worker")),
        "COORDINATOR_ADDRESS": job.pod_name("Worker", 0),
        "NUM_PROCESSES": str(job.total),
        "PROCESS_ID": str(index),
    }
    return [{"name": name, "value": value} for name, value in values.items()]


FAMILY = Family(
    JAX_JOB,
    specs="jaxReplicaSpecs",
    container="jax",
    port_name="jaxjob-port",
    port=6666,
    restart_policy="Never",
    roles=("Worker",),
    leaders=(),
    environment=environment,
    judge=judge(),
)
OPERATOR = operator_of(FAMILY)
WEBHOOK = webhook_of(FAMILY)
