"""What becomes of the Workloads of a job that goes away, or that other clusters run."""

from collections.abc import Iterable

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.owners import controller_uid
from fleetqueue.jobs import starting
from fleetqueue.jobs.choosing import apply_status, release_finalizer
from fleetqueue.jobs.kind import JobKind, Sight
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Delete, Look, Plan, Step
from fleetqueue.kube.resources import Object

OWNER_NOT_FOUND = "The workload's owner no longer exists"
PLACED = "The job is placed on members of the fleet"


def decide_gone(settings: JobSettings, look: Look) -> Plan:
    """All that say they belong to a job of that name, which is no more."""
    return Plan(let_go(look.left(WORKLOAD), settings, look))


def decide_deleting(settings: JobSettings, look: Look) -> Plan:
    return Plan(let_go(_own(look), settings, look))


def decide_placed(kind: JobKind, sight: Sight, look: Look) -> Plan:
    """It holds no quota here and, if it was started here, is stopped."""
    own = sorted(_own(look), key=lambda each: str(each["metadata"]["name"]))
    if not own:
        return Plan()
    plan = Plan(starting.stop(kind, sight, own[0], PLACED, "Placed"))
    for workload in own:
        steps = release_finalizer(workload) if is_deleting(workload) else [Delete(workload)]
        plan.add(*steps)
    return plan


def _own(look: Look) -> list[Object]:
    return [each for each in look.left(WORKLOAD) if controller_uid(each) == look.uid]


def let_go(found: Iterable[Object], settings: JobSettings, look: Look) -> list[Step]:
    """First finished, so that their quota is free; then nothing holds them any more."""
    steps: list[Step] = []
    for workload in found:
        is_over = status_of.is_finished(workload) or is_deleting(workload)
        if not is_over and settings.gates.finish_orphans:
            over = status_of.finish(workload, "OwnerNotFound", OWNER_NOT_FOUND, look.now)
            steps += [apply_status(over), *release_finalizer(workload, is_strict=False)]
        else:
            steps += release_finalizer(workload)
    return steps
