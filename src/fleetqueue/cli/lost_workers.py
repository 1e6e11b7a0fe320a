"""What is told of a worker that has a job, and that its manager has lost: since when, and when the
job is moved.
"""

from fleetqueue.api.kueue.admission_status import find_condition
from fleetqueue.api.kueue.config.reading import read_configuration
from fleetqueue.base import documents
from fleetqueue.errors import FleetqueueError
from fleetqueue.installation import CONFIG_KEY, CONFIG_MAP
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, NotFound
from fleetqueue.kube.resources import CONFIG_MAPS, Object
from fleetqueue.multikueue import kinds

UNKNOWN = "15 minutes unless configured otherwise"


async def told_of(manager: Client, worker: str, system_namespace: str) -> list[str]:
    """Nothing where the manager reaches the worker, or does not say."""
    try:
        cluster = await manager.get(kinds.CLUSTER, worker)
    except (Forbidden, NotFound):
        return []
    if (lost := lost_by(cluster)) is None:
        return []
    timeout = await _timeout(manager, system_namespace)
    return [
        f'The manager has lost worker "{worker}" since {lost["lastTransitionTime"]}: see the'
        f' condition Active of MultiKueueCluster "{worker}".',
        f"Unless it comes back, the job is moved after workerLostTimeout ({timeout}).",
    ]


def lost_by(cluster: Object) -> Object | None:
    """The condition by which a manager says that it does not reach the worker of a
    MultiKueueCluster; nothing where it does, or does not say.
    """
    active = find_condition(cluster, "Active")
    return None if active is None or active["status"] == "True" else active


async def _timeout(manager: Client, system_namespace: str) -> str:
    """As the configuration says it, where that is on the cluster and may be read."""
    try:
        found = await manager.get(CONFIG_MAPS, CONFIG_MAP, system_namespace)
        text = (found.get("data") or {}).get(CONFIG_KEY) or ""
        return str(read_configuration(documents.load(text)).multi_kueue.worker_lost_timeout)
    except (FleetqueueError, ValueError):
        return UNKNOWN
