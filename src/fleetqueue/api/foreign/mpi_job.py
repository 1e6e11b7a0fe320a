"""MPIJob (kubeflow.org/v2beta1): one launcher that drives many workers."""

from fleetqueue.api.foreign.definition import Version
from fleetqueue.api.foreign.replicas import (
    REPLICA_SPECS,
    RUN_POLICY,
    STATUS_WITH_KEYED_CONDITIONS,
)
from fleetqueue.api.foreign.schema import boolean, enum, int32, obj, string
from fleetqueue.api.kinds import Kind

SPEC = obj(
    {
        "mpiReplicaSpecs!": REPLICA_SPECS,
        "runPolicy": RUN_POLICY,
        "slotsPerWorker": int32("Processes per worker.", default=1),
        "runLauncherAsWorker": boolean("Whether the launcher does work as well.", default=False),
        "sshAuthMountPath": string("Where the keys are mounted.", default="/root/.ssh"),
        "launcherCreationPolicy": string("AtStartup or WaitForWorkersReady.", default="AtStartup"),
        "mpiImplementation": enum("OpenMPI", "Intel", "MPICH", default="OpenMPI"),
    }
)

MPI_JOB = Version(
    kind=Kind("kubeflow.org", "v2beta1", "mpijobs", name="MPIJob", storage=True),
    about="An MPI run: one launcher that drives many workers.",
    spec=SPEC,
    status=STATUS_WITH_KEYED_CONDITIONS,
)
