"""Why a workload that holds no quota waits: the reason and message of its QuotaReserved condition,
with Admitted in step.
"""

from typing import Any

from fleetqueue.admission.admissible import gated_by
from fleetqueue.admission.turn import Turn
from fleetqueue.api.kueue import admission_status as status

Json = dict[str, Any]
GATED = "Admission is gated by: "
BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
PENDING = "Workload is pending evaluation in the scheduling queue"
BY_SCHEDULER = {
    "WaitingForQuota",
    "NoMatchingFlavor",
    "ExceedsMaxQuota",
    "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads",
    "WaitingForPodsReady",
    "PendingEvaluation",
    "AdmissionGated",
    "Pending",
    "Waiting",
}
BYPASSABLE = {"Deactivated", "PendingEvaluation", "Suspended", "Pending"}


def explain(turn: Turn) -> bool:
    """One who waits says why; whether something had to be written."""
    workload = turn.workload
    if status.has_quota(workload) or status.is_finished(workload):
        return False
    found = _why(turn)
    if found is None:
        return False
    reason, message = found
    known = turn.condition(status.QUOTA_RESERVED)
    reserved = status.QUOTA_RESERVED
    made = status.with_condition(workload, reserved, False, reason, message, turn.now)
    is_written = turn.write(status.settle_admitted(made, turn.now, turn.settings.wording))
    if message.startswith(GATED) and (known is None or known["message"] != message):
        turn.note("AdmissionGated", f"Workload admission is gated by: {gated_by(workload)}")
    return is_written


def gate_message(workload: Json) -> str | None:
    """What was told of the annotation, if that is the last thing told."""
    known = status.find_condition(workload, status.QUOTA_RESERVED)
    if known is None or not str(known["message"]).startswith(GATED):
        return None
    return str(known["message"])


def _why(turn: Turn) -> tuple[str, str] | None:
    """None: nothing is said."""
    known = turn.condition(status.QUOTA_RESERVED)
    blocked = _blocker(turn)
    if blocked is not None:
        return blocked if blocked[0] != "OnHold" else None
    reason = "" if known is None else str(known["reason"])
    if reason == "OnHold":
        return None
    if turn.facts.bypassed is not None and reason in BYPASSABLE:
        return turn.facts.bypassed, BYPASSED
    if known is not None and reason in BY_SCHEDULER and gate_message(turn.workload) is None:
        return reason, str(known["message"])
    if known is None and not turn.settings.says_at_once:
        return None
    return turn.settings.wording.pending, PENDING


def _blocker(turn: Turn) -> tuple[str, str] | None:
    """The first thing that keeps it from being tried."""
    workload, local, queue = turn.workload, turn.facts.local, turn.facts.queue
    if not status.is_active(workload):
        return _worded(turn, "Deactivated", "The workload is deactivated")
    known = turn.condition(status.QUOTA_RESERVED)
    if known is not None and known["reason"] == "OnHold":
        return "OnHold", ""
    if not local.exists:
        return _worded(turn, "Misconfigured", f"LocalQueue {local.name} doesn't exist")
    if not local.is_active:
        return _worded(turn, "Suspended", f"LocalQueue {local.name} is inactive")
    if not queue.exists:
        return _worded(turn, "Misconfigured", f"ClusterQueue {queue.name} doesn't exist")
    if not queue.is_active:
        return _worded(turn, "Suspended", f"ClusterQueue {queue.name} is inactive")
    if turn.facts.problem:
        return _worded(turn, "Misconfigured", turn.facts.problem)
    if turn.settings.honors_gates and (gates := gated_by(workload)):
        return _worded(turn, "AdmissionGated", f"{GATED}{gates}")
    return None


def _worded(turn: Turn, reason: str, message: str) -> tuple[str, str]:
    return (reason if turn.settings.explains_waiting else "Inadmissible"), message
