"""What a binding says: its state, whether what it delivers is ready, failed, or may yet be ready.

A condition counts only while it speaks of the binding's present generation.
"""

from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.times import parse_time

Json = dict[str, Any]

UNTRACKABLE = frozenset({"NotAllWorkAreAvailabilityTrackable", "WorkNotTrackable"})
"""Reasons of an Available condition that stands for a wait; the second is of older releases."""
PENDING = frozenset(
    {"OverriddenPending", "WorkNotSynchronizedYet", "ApplyPending", "ResourceNotAvailableYet"}
)
"""Reasons of a False condition that are no failure."""
_FAILING = (
    PlacementAspect.OVERRIDDEN,
    PlacementAspect.WORK_SYNCHRONIZED,
    PlacementAspect.APPLIED,
    PlacementAspect.AVAILABLE,
)


def state(binding: Json) -> str:
    return str(binding["spec"].get("state") or "")


def target_cluster(binding: Json) -> str:
    return str(binding["spec"].get("targetCluster") or "")


def policy_snapshot(binding: Json) -> str:
    """The name of the policy snapshot that the binding rests on."""
    return str(binding["spec"].get("schedulingPolicySnapshotName") or "")


def resource_snapshot(binding: Json) -> str:
    """The name of the master snapshot that it delivers; "" while nothing is delivered."""
    return str(binding["spec"].get("resourceSnapshotName") or "")


def previous_state(binding: Json) -> str:
    """Of an unscheduled binding: what it was before; "" where nothing says so."""
    annotations = binding["metadata"].get("annotations") or {}
    return str(annotations.get(labels.PREVIOUS_BINDING_STATE) or "")


def is_deleting(binding: Json) -> bool:
    return bool(binding["metadata"].get("deletionTimestamp"))


def condition(binding: Json, type: str) -> Json | None:
    """The condition of that type, if it speaks of the binding's generation."""
    generation = binding["metadata"].get("generation") or 0
    for each in (binding.get("status") or {}).get("conditions") or ():
        if each["type"] == type:
            found: Json = each
            return found if (found.get("observedGeneration") or 0) == generation else None
    return None


def is_rolled_out(binding: Json) -> bool:
    """Whether the hub has begun to deliver it as it is now, and nobody has said so yet."""
    annotations = binding["metadata"].get("annotations") or {}
    generation = binding["metadata"].get("generation") or 0
    is_marked = annotations.get(labels.ROLLED_OUT) == str(generation)
    return is_marked and condition(binding, PlacementAspect.ROLLOUT_STARTED) is None


def is_true(binding: Json, type: str) -> bool:
    found = condition(binding, type)
    return found is not None and found["status"] == "True"


def is_available(binding: Json) -> bool:
    return is_true(binding, PlacementAspect.AVAILABLE)


def is_diff_reported(binding: Json) -> bool:
    """Whether there is any word on diffs, good or bad."""
    return condition(binding, PlacementAspect.DIFF_REPORTED) is not None


def seconds_until_ready(binding: Json, now: datetime, unavailable_seconds: float) -> float | None:
    """0.0: it is ready. None: nobody knows when it will be."""
    if is_true(binding, PlacementAspect.DIFF_REPORTED):
        return 0.0
    available = condition(binding, PlacementAspect.AVAILABLE)
    if available is None or available["status"] != "True":
        return None
    if available.get("reason") not in UNTRACKABLE:
        return 0.0
    since = parse_time(str(available["lastTransitionTime"]))
    ready_at = since + timedelta(seconds=unavailable_seconds)
    return max(0.0, (ready_at - now).total_seconds())


def is_ready(binding: Json, now: datetime, unavailable_seconds: float) -> bool:
    return seconds_until_ready(binding, now, unavailable_seconds) == 0.0


def has_failed(binding: Json) -> bool:
    """Whether some step of the delivery says no, and does not merely ask for patience."""
    for type in _FAILING:
        found = condition(binding, type)
        if found is not None and found["status"] == "False" and found["reason"] not in PENDING:
            return True
    return False


def can_be_ready(binding: Json) -> bool:
    """Whether what it delivers may be ready at some moment, as far as the hub can know."""
    if state(binding) not in (BindingState.BOUND, BindingState.UNSCHEDULED):
        return False
    return not has_failed(binding) and not is_diff_reported(binding)


def locked(binding: Json) -> Json:
    """The metadata of a merge patch that holds only for the version that was read."""
    metadata = binding["metadata"]
    return {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
