"""Tells a workload whose devices nobody can count that it is kept out of its queue for that."""

from fleetqueue.admission.turn import Turn
from fleetqueue.api.kueue import admission_status as status

INADMISSIBLE = "Inadmissible"


def refuse_claims(turn: Turn) -> bool:
    """A step of a workload's life. What makes the devices countable takes the refusal back."""
    told, workload = turn.facts.refusal, turn.workload
    if not status.is_active(workload) or status.has_quota(workload):
        return False
    if told is None:
        if turn.reason(status.REQUEUED, "False") != INADMISSIBLE:
            return False
        return turn.write(status.without_condition(workload, status.REQUEUED))
    reason = "Misconfigured" if turn.settings.explains_waiting else INADMISSIBLE
    why = (False, reason, told.message, turn.now)
    made = status.with_condition(workload, status.QUOTA_RESERVED, *why)
    made = status.settle_admitted(made, turn.now, turn.settings.wording)
    why = (False, INADMISSIBLE, told.requeued, turn.now)
    turn.write(status.with_condition(made, status.REQUEUED, *why))
    return True
