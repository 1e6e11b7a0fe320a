"""MPIJob (kubeflow.org/v2beta1): refusals call its field by the name that it has."""

from fleetqueue.jobs.kinds.mpi_job import JOB
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.managed import managed


def adapter() -> Adapter:
    return managed(JOB, managed_by_title=JOB.managed_by)
