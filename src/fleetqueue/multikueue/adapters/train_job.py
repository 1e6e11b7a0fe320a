"""TrainJob (trainer.kubeflow.org/v1alpha1): the queue's patch of the runtime stays where it was
made; the worker's queue makes its own.
"""

from fleetqueue.jobs.kinds.train_job import JOB, MANAGER
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.adapter import Adapter
from fleetqueue.multikueue.adapters.managed import managed, unmanaged
from fleetqueue.multikueue.settings import DispatchSettings

PATCHES = "runtimePatches"


def mirror(job: Object, workload: Object, settings: DispatchSettings) -> Object:
    made = unmanaged(JOB, job, workload, settings)
    found = made["spec"].get(PATCHES) or ()
    kept = [each for each in found if each.get("manager") != MANAGER]
    spec = {name: value for name, value in made["spec"].items() if name != PATCHES}
    return {**made, "spec": {**spec, PATCHES: kept} if kept else spec}


def adapter() -> Adapter:
    return managed(JOB, mirror=mirror)
