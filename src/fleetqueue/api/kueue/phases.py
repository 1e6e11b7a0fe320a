"""How far a Workload is, in the one word that people are told."""

from typing import Any

from fleetqueue.api.kueue import admission_status as status

PENDING, RESERVED, ADMITTED, FINISHED = "PENDING", "QUOTARESERVED", "ADMITTED", "FINISHED"
PHASES = (PENDING, RESERVED, ADMITTED, FINISHED)


def phase_of(workload: dict[str, Any]) -> str:
    if status.is_finished(workload):
        return FINISHED
    if status.is_admitted(workload):
        return ADMITTED
    return RESERVED if status.has_quota(workload) else PENDING
