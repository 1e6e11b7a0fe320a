"""The training jobs of kubeflow.org/v1: TFJob, PyTorchJob, XGBoostJob, PaddleJob and JAXJob."""

from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.replicas import (
    METRICS,
    REPLICA_SPECS,
    RUN_POLICY_WITH_FIXED_QUEUE,
    STATUS,
)
from fleetqueue.api.foreign.schema import Schema, boolean, int32, list_of, obj, string
from fleetqueue.api.kinds import AGE, Column, Kind, Scale

ELASTIC_POLICY: Schema = {
    "minReplicas": int32("As few workers as the job can run with."),
    "maxReplicas": int32("As many workers as the job can use."),
    "maxRestarts": int32(),
    "metrics": METRICS,
}

TORCH_ELASTIC_POLICY: Schema = ELASTIC_POLICY | {
    "rdzvBackend": string("How the workers meet: c10d, etcd or etcd-v2."),
    "rdzvPort": int32(),
    "rdzvHost": string(),
    "rdzvId": string(),
    "rdzvConf": list_of(obj({"key": string(), "value": string()})),
    "standalone": boolean("Whether one node meets itself and needs no backend."),
    "nProcPerNode": int32(),
}


def training_job(
    name: str, role_field: str, *, more: Schema | None = None, scales: bool = False
) -> Version:
    """A kind whose replica specs stand in `role_field`; some scale by their Worker role."""
    fields = {f"{role_field}!": REPLICA_SPECS, "runPolicy": RUN_POLICY_WITH_FIXED_QUEUE}
    worker = ".status.replicaStatuses.Worker"
    by_worker = Scale(
        f".spec.{role_field}.Worker.replicas", f"{worker}.active", f"{worker}.selector"
    )
    return Version(
        kind=Kind(
            "kubeflow.org",
            "v1",
            f"{name.lower()}s",
            name=name,
            storage=True,
            scale=by_worker if scales else None,
            columns=(Column("State", ".status.conditions[-1:].type"), AGE),
        ),
        about="A distributed training job, by the roles of its pods.",
        spec=obj(fields | (more or {})),
        status=STATUS,
    )


TRAINING_JOBS = (
    training_job(
        "TFJob",
        "tfReplicaSpecs",
        more={
            "successPolicy": string("Empty: the chief or first worker decides; or AllWorkers."),
            "enableDynamicWorker": boolean("Whether workers may come and go."),
        },
    ),
    training_job(
        "PyTorchJob",
        "pytorchReplicaSpecs",
        scales=True,
        more={
            "nprocPerNode": string("Processes per node: auto, cpu, gpu or a number."),
            "elasticPolicy": obj(TORCH_ELASTIC_POLICY),
        },
    ),
    training_job("XGBoostJob", "xgbReplicaSpecs"),
    training_job(
        "PaddleJob",
        "paddleReplicaSpecs",
        scales=True,
        more={"elasticPolicy": obj(ELASTIC_POLICY)},
    ),
    training_job("JAXJob", "jaxReplicaSpecs", scales=True),
)
