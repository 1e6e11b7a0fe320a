"""What the PodsReady condition of a job's Workload should say."""

from typing import NamedTuple

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.resources import Object

STARTED, RECOVERED = "Started", "Recovered"
WAIT_FOR_START, WAIT_FOR_RECOVERY = "WaitForStart", "WaitForRecovery"


class Readiness(NamedTuple):
    """The condition without its times."""

    value: bool
    reason: str
    message: str


NOT_STARTED = Readiness(False, WAIT_FOR_START, "Not all pods are ready or succeeded")
RECOVERING = Readiness(
    False, WAIT_FOR_RECOVERY, "At least one pod has failed, waiting for recovery"
)
READY_MESSAGE = "All pods reached readiness and the workload is running"


def readiness(workload: Object, pods_are_ready: bool) -> Readiness:
    before = status_of.find_condition(workload, status_of.PODS_READY)
    reason = "" if before is None else before["reason"]
    if not status_of.is_admitted(workload):
        return NOT_STARTED
    if pods_are_ready:
        has_recovered = reason in (WAIT_FOR_RECOVERY, RECOVERED)
        return Readiness(True, RECOVERED if has_recovered else STARTED, READY_MESSAGE)
    was_ready = before is not None and before["status"] == "True"
    return RECOVERING if was_ready or reason == WAIT_FOR_RECOVERY else NOT_STARTED


def is_told(workload: Object, told: Readiness) -> bool:
    """Whether the condition says so already; the message alone is not written again."""
    found = status_of.find_condition(workload, status_of.PODS_READY)
    wanted = ("True" if told.value else "False", told.reason)
    return found is not None and (found["status"], found["reason"]) == wanted
