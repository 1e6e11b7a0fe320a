"""Variants of one workload, each for a flavor: which may be admitted while another one is."""

from fleetqueue.queueing.model import ClusterQueue
from fleetqueue.queueing.state import State
from fleetqueue.queueing.workload import Workload

BETTER_IS_ADMITTED = "A more favorable variant is already admitted"
OTHER_IS_ADMITTED = "Another variant is already admitted"
BELOW_ACCEPTABLE = "Target flavor is below LastAcceptableFlavorName"


def obstacle(state: State, workload: Workload) -> str:
    """Why a variant is not admitted though it could be; "" where nothing is in the way."""
    admitted = _rivals(state, workload)
    if not admitted:
        return ""
    queue = state.queues[workload.cluster_queue]
    if queue.concurrent is not None and queue.concurrent.mode == "RetainFirstAdmission":
        return OTHER_IS_ADMITTED
    own = place(queue, workload)
    rivals = [place(queue, each) for each in admitted]
    if any(rival < own for rival in rivals):
        return BETTER_IS_ADMITTED
    if any(rival > own for rival in rivals) and own > _last_acceptable(queue):
        return BELOW_ACCEPTABLE
    return ""


def to_leave(state: State, workload: Workload) -> Workload | None:
    """The variant that holds quota on a less wanted flavor, and has to go first."""
    return next(iter(_rivals(state, workload)), None)


def migration_message(workload: Workload) -> str:
    return (
        f"Evicted to accommodate a workload (UID: {workload.uid}) due to migration to more "
        "favorable resource flavor"
    )


def place(queue: ClusterQueue, workload: Workload) -> int:
    """The place of its flavor among those of the queue, the most wanted first."""
    allowed = workload.allowed_flavors or frozenset()
    places = [at for at, flavor in enumerate(_flavors(queue)) if flavor in allowed]
    return min(places, default=len(_flavors(queue)))


def _rivals(state: State, workload: Workload) -> list[Workload]:
    """The other variants that are admitted, in a fixed order."""
    if not state.settings.admits_concurrently or not workload.parent_uid:
        return []
    # Anybody may claim a parent in another namespace.
    near = [
        each
        for each in state.variants_of(workload.parent_uid)
        if each.key.namespace == workload.key.namespace and each.key != workload.key
    ]
    return sorted((each for each in near if each.is_admitted), key=lambda each: each.key)


def _last_acceptable(queue: ClusterQueue) -> int:
    flavors = _flavors(queue)
    last = queue.concurrent.last_acceptable if queue.concurrent is not None else ""
    return flavors.index(last) if last in flavors else len(flavors)


def _flavors(queue: ClusterQueue) -> tuple[str, ...]:
    return tuple(flavor for group in queue.groups for flavor in group.flavors)
