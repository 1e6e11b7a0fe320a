"""XGBoostJob: a tracker on the master, ranks, and the workers' addresses for LightGBM."""

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.kube.resources import Object
from fleetqueue.kube.webhook_rules import Asked
from fleetqueue.runtime.kinds import XGBOOST_JOB
from fleetqueue.runtime.operators.training_jobs import operator_of
from fleetqueue.runtime.operators.training_kinds import Family, TrainingJob
from fleetqueue.runtime.operators.training_verdicts import judge
from fleetqueue.runtime.operators.training_webhook import check_master, webhook_of


def environment(job: TrainingJob, role: str, index: int) -> list[Object]:
    master = job.replica("Master")
    masters = master.count if master else 0
    values = {
        "MASTER_PORT": str(job.port("Master")),
        "MASTER_ADDR": job.pod_name("Master", 0),
        "WORLD_SIZE": str(job.total),
        "RANK": str(index + masters if role == "Worker" else index),
        "PYTHONUNBUFFERED": "1",
    }
    if job.total > 1:
        workers = (job.pod_name("Worker", each) for each in range(job.total - 1))
        values["WORKER_PORT"] = str(job.port("Worker"))
        values["WORKER_ADDRS"] = ",".join(workers)
    return [{"name": name, "value": value} for name, value in values.items()]


def rules(asked: Asked, family: Family) -> list[FieldError]:
    if "Master" not in map(family.canonical, asked.spec.get(family.specs) or {}):
        return [fields.required(f"spec.{family.specs}[Master]", "must be present")]
    return check_master(asked, family)


FAMILY = Family(
    XGBOOST_JOB,
    specs="xgbReplicaSpecs",
    container="xgboost",
    port_name="xgboostjob-port",
    port=9999,
    restart_policy="Never",
    roles=("Master", "Worker"),
    environment=environment,
    judge=judge(any_runs=True),
    further_rules=rules,
)
OPERATOR = operator_of(FAMILY)
WEBHOOK = webhook_of(FAMILY)
