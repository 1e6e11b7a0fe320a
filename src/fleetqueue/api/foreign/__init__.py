"""CustomResourceDefinitions of the kinds that other projects own and embedded clusters serve.

Objects of these kinds stay raw JSON in memory; only their schemas are declared here.
"""

from typing import Any

from fleetqueue.api.foreign.app_wrapper import APP_WRAPPER
from fleetqueue.api.foreign.cluster_profile import CLUSTER_PROFILE
from fleetqueue.api.foreign.definition import Version, crd
from fleetqueue.api.foreign.job_set import JOB_SET
from fleetqueue.api.foreign.leader_worker_set import LEADER_WORKER_SET
from fleetqueue.api.foreign.mpi_job import MPI_JOB
from fleetqueue.api.foreign.ray_cluster import RAY_CLUSTER
from fleetqueue.api.foreign.ray_job import RAY_JOB
from fleetqueue.api.foreign.ray_service import RAY_SERVICE
from fleetqueue.api.foreign.train_job import TRAIN_JOB
from fleetqueue.api.foreign.training_job import TRAINING_JOBS
from fleetqueue.api.foreign.training_runtime import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from fleetqueue.base import codec

KINDS: tuple[tuple[Version, ...], ...] = (
    (APP_WRAPPER,),
    (CLUSTER_PROFILE,),
    (JOB_SET,),
    (LEADER_WORKER_SET,),
    (MPI_JOB,),
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    (TRAIN_JOB,),
    *((job,) for job in TRAINING_JOBS),
    (TRAINING_RUNTIME,),
    (CLUSTER_TRAINING_RUNTIME,),
)
"""Each kind with its versions."""


def crds() -> list[dict[str, Any]]:
    """All foreign CustomResourceDefinitions in order of their names; the caller owns the result."""
    made: list[dict[str, Any]] = codec.copy([crd(versions) for versions in KINDS])
    return sorted(made, key=lambda each: str(each["metadata"]["name"]))
