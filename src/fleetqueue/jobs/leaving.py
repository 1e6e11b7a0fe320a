"""What becomes of the Workloads of a job that goes away."""

from collections.abc import Iterable

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs.choosing import apply_status, release_finalizer
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Look, Plan, Step
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import controller_uid

OWNER_NOT_FOUND = "The workload's owner no longer exists"


def decide_gone(settings: JobSettings, look: Look) -> Plan:
    """All that say they belong to a job of that name, which is no more."""
    return Plan(let_go(look.left(WORKLOAD), settings, look))


def decide_deleting(settings: JobSettings, look: Look) -> Plan:
    own = [each for each in look.left(WORKLOAD) if controller_uid(each) == look.uid]
    return Plan(let_go(own, settings, look))


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
