"""MPIJob (kubeflow.org/v2beta1): one launcher that drives many workers."""

from fleetqueue.api.kueue import labels
from fleetqueue.base import paths
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.training import training_job

LAUNCHER = "spec.mpiReplicaSpecs.Launcher.template"
WORKER = "spec.mpiReplicaSpecs.Worker.template"


def default(sight: Sight) -> None:
    """Workers are counted from one where the launcher is the first of them."""
    both = [paths.get(sight.job, path) for path in (LAUNCHER, WORKER)]
    if not sight.settings.gates.topology or not sight.spec.get("runLauncherAsWorker"):
        return
    if None in both or labels.PODSET_GROUP_NAME in _annotations(both[0]):
        return
    metadata = both[1].setdefault("metadata", {})
    metadata["annotations"] = {**_annotations(both[1]), labels.POD_INDEX_OFFSET: "1"}


def _annotations(template: dict[str, dict[str, dict[str, str]]]) -> dict[str, str]:
    return (template.get("metadata") or {}).get("annotations") or {}


JOB = training_job(
    "MPIJob",
    "mpiReplicaSpecs",
    ("Launcher", "Worker"),
    version="v2beta1",
    own_name="kubeflow.org/mpi-operator",
    hands_over=lambda settings: True,
    default=default,
    sorts_refusals=True,
)
