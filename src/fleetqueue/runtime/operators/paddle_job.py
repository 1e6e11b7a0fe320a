"""PaddleJob: parameter servers where it has a master, collective training where it has none."""

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import PADDLE_JOB
from fleetqueue.runtime.operators.training_jobs import operator_of
from fleetqueue.runtime.operators.training_kinds import Family, TrainingJob
from fleetqueue.runtime.operators.training_verdicts import judge
from fleetqueue.runtime.operators.training_webhook import webhook_of


def environment(job: TrainingJob, role: str, index: int) -> list[Object]:
    variables: list[Object] = [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "PADDLE_JOB_ID", "value": job.name},
        {"name": "PADDLE_NNODES", "value": str(job.total)},
        {"name": "POD_IP_DUMMY", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    first = "Master" if job.replica("Master") else "Worker"
    is_first = (role, index) == (first, 0)
    host = "$(POD_IP_DUMMY)" if is_first else job.pod_name(first, 0)
    variables.append({"name": "PADDLE_MASTER", "value": f"{host}:{job.port(first)}"})
    if first == "Master":
        counter = "PADDLE_SERVER_NUM" if role == "Master" else "PADDLE_TRAINER_NUM"
        variables.append({"name": counter, "value": "1"})
    return variables


FAMILY = Family(
    PADDLE_JOB,
    specs="paddleReplicaSpecs",
    container="paddle",
    port_name="master",
    port=36543,
    restart_policy="OnFailure",
    roles=("Master", "Worker"),
    environment=environment,
    judge=judge(),
)
OPERATOR = operator_of(FAMILY)
WEBHOOK = webhook_of(FAMILY)
