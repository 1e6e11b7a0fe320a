"""What a Workload's status becomes when quota is reserved, given back or taken away, and the patch
that writes it.

Each function takes a Workload as plain JSON and returns the one that it becomes; the one given is
never changed. What several field managers own goes by server-side apply, and an apply that leaves
a field out gives it up: so `admission_patch` always carries all that `MANAGER` owns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.times import format_time, parse_time

Json = dict[str, Any]

MANAGER = "kueue-admission"
RECLAIMABLE_PODS_MANAGER = "kueue-reclaimable-pods"

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"
EVICTED = "Evicted"
PREEMPTED = "Preempted"
REQUEUED = "Requeued"
FINISHED = "Finished"
PODS_READY = "PodsReady"
DEACTIVATION_TARGET = "DeactivationTarget"
BLOCKED_ON_PREEMPTION_GATES = "BlockedOnPreemptionGates"
WAITING_FOR_REPLACEMENT_PODS = "WaitingForReplacementPods"

CONDITIONS = (
    QUOTA_RESERVED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    ADMITTED,
    PREEMPTED,
    REQUEUED,
    DEACTIVATION_TARGET,
    FINISHED,
    PODS_READY,
)
"""The conditions that `MANAGER` owns, in the order in which it writes them."""

_NOMINATED = "nominatedClusterNames"
_UPDATES = "podSetUpdates"
FIELDS = (
    "admission",
    "requeueState",
    "admissionChecks",
    "resourceRequests",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    _NOMINATED,
    "clusterName",
    "unhealthyNodes",
    "preemptionGates",
)
"""The other fields that it owns."""

DEACTIVATED = "Deactivated"
REASONS_TO_QUEUE_AGAIN = frozenset({"Preempted", "NodeFailures", "FlavorMigration"})
"""Evictions after which a workload waits for nothing but its turn."""

CONDITION_MESSAGE_BYTES_MAX = 32768
EVENT_MESSAGE_BYTES_MAX = 1024
_CUT = " ..."


@dataclass(frozen=True, slots=True)
class Wording:
    """The reasons whose names depend on the gate UnadmittedWorkloadsObservability."""

    pending: str = "PendingEvaluation"
    unsatisfied_checks: str = "UnsatisfiedAdmissionChecks"
    has_combined_reason: bool = False
    """Whether no reservation and unsatisfied checks together have a reason of their own."""


EXPLICIT = Wording()
LEGACY = Wording("Pending", "UnsatisfiedChecks", has_combined_reason=True)


# Patches


def admission_patch(workload: Json, *, is_strict: bool = True, **changes: Any) -> Json:
    """The body that `MANAGER` applies to the status, after `changes` of single fields.

    A strict one is refused if the workload was written since it was read. Names of workers that
    somebody else nominated would outlive an apply that leaves them out: they are cleared by taking
    them over.
    """
    status = _status(changed(workload, **changes))
    held = {name: status[name] for name in FIELDS if status.get(name) is not None}
    if _NOMINATED not in held and _others_own(workload, _NOMINATED):
        held[_NOMINATED] = []
    conditions = [each for type in CONDITIONS if (each := _find(status, type)) is not None]
    if conditions:
        held["conditions"] = conditions
    return _body(workload, held, is_strict)


def condition_patch(workload: Json, type: str) -> Json:
    """The body that a job's controller applies for a condition of its own."""
    found = find_condition(workload, type)
    return _body(workload, {"conditions": [] if found is None else [found]}, is_strict=True)


def condition_manager(type: str) -> str:
    return f"kueue-job-controller-{type}"


def owners_of(workload: Json, field: str) -> list[Json]:
    """The entries of managedFields that own a field of the status."""
    return [
        entry
        for entry in workload["metadata"].get("managedFields") or ()
        if f"f:{field}" in ((entry.get("fieldsV1") or {}).get("f:status") or {})
    ]


def lean(obj: Json) -> Json:
    """Any object as a cache may hold it, in place: without managed fields, but for those of a
    workload with nominated workers, since they tell who named them and when.
    """
    if _NOMINATED not in (obj.get("status") or {}):
        obj["metadata"].pop("managedFields", None)
    return obj


def _others_own(workload: Json, field: str) -> bool:
    """Whether anybody does whose hold an apply by `MANAGER` leaves alone. Who patched under its
    name, or applied another version of the API, is somebody else.
    """
    ours = (MANAGER, "Apply", workload["apiVersion"])
    return any(
        (entry.get("manager"), entry.get("operation"), entry.get("apiVersion")) != ours
        for entry in owners_of(workload, field)
    )


def reclaimable_patch(workload: Json, reclaimable: Iterable[Json]) -> Json:
    return _body(workload, {"reclaimablePods": list(reclaimable)}, is_strict=True)


def _body(workload: Json, status: Json, is_strict: bool) -> Json:
    known = workload["metadata"]
    kept = ("name", "namespace", "uid", "labels", "annotations")
    names = (*kept, "resourceVersion") if is_strict else kept
    return {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "metadata": {name: known[name] for name in names if known.get(name)},
        "status": status,
    }


# Reading


def cluster_of(workload: Json) -> str:
    """The worker that has it; "" where none has."""
    return str((workload.get("status") or {}).get("clusterName") or "")


def runs_here(workload: Json) -> bool:
    """Whether it was admitted without any worker, and is not on its way out."""
    return is_admitted(workload) and not is_evicted(workload) and not cluster_of(workload)


def was_put_out(workload: Json) -> bool:
    """Whether it lost its quota after it had been admitted, however long ago. One that was put on
    hold was never evicted; that its time there counts tells of it.
    """
    has_ended = "accumulatedPastExecutionTimeSeconds" in _status(workload)
    return has_ended or find_condition(workload, EVICTED) is not None


def find_condition(workload: Json, type: str) -> Json | None:
    return _find(_status(workload), type)


def is_true(workload: Json, type: str) -> bool:
    found = find_condition(workload, type)
    return found is not None and found["status"] == "True"


def has_quota(workload: Json) -> bool:
    return is_true(workload, QUOTA_RESERVED)


def is_admitted(workload: Json) -> bool:
    return is_true(workload, ADMITTED)


def is_finished(workload: Json) -> bool:
    return is_true(workload, FINISHED)


def is_evicted(workload: Json) -> bool:
    return is_true(workload, EVICTED)


def is_active(workload: Json) -> bool:
    return (workload.get("spec") or {}).get("active") is not False


def has_all_checks_ready(workload: Json) -> bool:
    return all(check["state"] == "Ready" for check in checks_of(workload))


def checks_of(workload: Json) -> list[Json]:
    found: list[Json] = _status(workload).get("admissionChecks") or []
    return found


def assignments_of(workload: Json) -> list[Json]:
    admission = _status(workload).get("admission") or {}
    found: list[Json] = admission.get("podSetAssignments") or []
    return found


def waits_for_topology(workload: Json) -> bool:
    assignments = assignments_of(workload)
    return any(each.get("delayedTopologyRequest") == "Pending" for each in assignments)


# Changes


def changed(workload: Json, **fields: Any) -> Json:
    """The workload with these fields in its status; those given as None are taken away."""
    status = {**_status(workload), **fields}
    return {**workload, "status": {k: v for k, v in status.items() if v is not None}}


def with_condition(
    workload: Json, type: str, value: bool, reason: str, message: str, now: datetime
) -> Json:
    generation = int(workload["metadata"].get("generation") or 0)
    status = set_condition(_status(workload), type, value, reason, message, generation, now)
    return {**workload, "status": status}


def without_condition(workload: Json, type: str) -> Json:
    kept = [each for each in _conditions(_status(workload)) if each["type"] != type]
    return changed(workload, conditions=kept)


def set_condition(
    status: Json, type: str, value: bool, reason: str, message: str, generation: int, now: datetime
) -> Json:
    """The status with the condition in place of its like; its time moves with its status alone.

    A generation of 0 is not written, as Go would leave it out.
    """
    wanted = "True" if value else "False"
    new: Json = {
        "type": type,
        "status": wanted,
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": cut(message, CONDITION_MESSAGE_BYTES_MAX),
    }
    if generation:
        new["observedGeneration"] = generation
    old = _find(status, type)
    if old is None:
        return {**status, "conditions": [*_conditions(status), new]}
    if old["status"] == wanted:
        new["lastTransitionTime"] = old["lastTransitionTime"]
    replaced = [new if each is old else each for each in _conditions(status)]
    return {**status, "conditions": replaced}


def reserve(
    workload: Json,
    admission: Json,
    now: datetime,
    *,
    checks: Iterable[str] = (),
    wording: Wording = EXPLICIT,
) -> Json:
    """Quota is held in the admission's ClusterQueue; admitted at once where the status has all
    `checks` that the assigned flavors ask for.
    """
    made = changed(workload, admission=admission, resourceRequests=None)
    message = f"Quota reserved in ClusterQueue {admission['clusterQueue']}"
    made = with_condition(made, QUOTA_RESERVED, True, "QuotaReserved", message, now)
    for type in (EVICTED, PREEMPTED, BLOCKED_ON_PREEMPTION_GATES):
        old = find_condition(made, type)
        if old is not None and old["status"] == "True":
            previously = f"Previously: {old['message']}"
            made = with_condition(made, type, False, "QuotaReserved", previously, now)
    listed = {check["name"] for check in checks_of(made)}
    return settle_admitted(made, now, wording) if listed.issuperset(checks) else made


def release(
    workload: Json, reason: str, message: str, now: datetime, wording: Wording = EXPLICIT
) -> Json:
    """No quota is held any more."""
    made = with_condition(workload, QUOTA_RESERVED, False, reason, message, now)
    if checks := checks_of(made):
        made = changed(made, admissionChecks=[_without_emptied(check) for check in checks])
    return settle_admitted(changed(made, admission=None), now, wording)


def release_evicted(
    workload: Json, now: datetime, *, may_queue_again: bool = True, wording: Wording = EXPLICIT
) -> Json:
    """Its job has stopped: the quota goes back, and Requeued says whether it waits again."""
    evicted = find_condition(workload, EVICTED)
    assert evicted is not None, "only an evicted workload gives its quota back this way"
    reason, message = evicted["reason"], evicted["message"]
    again = may_queue_again and reason in REASONS_TO_QUEUE_AGAIN
    made = with_condition(workload, REQUEUED, again, reason, message, now)
    return release(made, wording.pending, message, now, wording)


def settle_admitted(workload: Json, now: datetime, wording: Wording = EXPLICIT) -> Json:
    """Admitted as quota, checks and topology say; while quota is held it never becomes False.

    The time it was admitted is added up when it ends.
    """
    was = find_condition(workload, ADMITTED)
    was_admitted = was is not None and was["status"] == "True"
    value, reason, message = _admitted(workload, wording)
    if was_admitted and (value or has_quota(workload)):
        return workload
    if was_admitted and was is not None:
        spent = int((now - parse_time(was["lastTransitionTime"])).total_seconds())
        before = _status(workload).get("accumulatedPastExecutionTimeSeconds") or 0
        workload = changed(workload, accumulatedPastExecutionTimeSeconds=before + spent)
    return with_condition(workload, ADMITTED, value, reason, message, now)


def _admitted(workload: Json, wording: Wording) -> tuple[bool, str, str]:
    are_ready = has_all_checks_ready(workload)
    if not has_quota(workload):
        if wording.has_combined_reason and not are_ready:
            message = "The workload has no reservation and not all checks ready"
            return False, "NoReservationUnsatisfiedChecks", message
        return False, "NoReservation", "The workload has no reservation"
    if not are_ready:
        return False, wording.unsatisfied_checks, "The workload has not all checks ready"
    if waits_for_topology(workload):
        message = "There are pending delayed topology requests"
        return False, "PendingDelayedTopologyRequests", message
    return True, "Admitted", "The workload is admitted"


def evict(workload: Json, reason: str, message: str, now: datetime, *, cause: str = "") -> Json:
    """It must stop: the quota stays held until its job has. With a cause, a deactivation names it
    in the reason of the condition.
    """
    made = with_condition(workload, EVICTED, True, evicted_reason(reason, cause), message, now)
    made = changed(made, clusterName=None, nominatedClusterNames=None, unhealthyNodes=None)
    if checks := checks_of(made):
        made = changed(made, admissionChecks=[_reset_check(check, now) for check in checks])
    if is_true(made, BLOCKED_ON_PREEMPTION_GATES):
        told = evicted_reason(reason, cause)
        made = with_condition(made, BLOCKED_ON_PREEMPTION_GATES, False, told, message, now)
    if gates := _status(made).get("preemptionGates"):
        made = changed(made, preemptionGates=[_closed(gate, now) for gate in gates])
    return changed(made, schedulingStats=_counted(made, reason, cause))


def preempt(workload: Json, reason: str, message: str, now: datetime) -> Json:
    """Evicted to make room; `reason` says for whom. Upstream notes no generation here."""
    status = set_condition(_status(workload), PREEMPTED, True, reason, message, 0, now)
    return evict({**workload, "status": status}, "Preempted", message, now)


def evicted_reason(reason: str, cause: str) -> str:
    return f"{reason}DueTo{cause}" if reason == DEACTIVATED and cause else reason


def eviction_event(reason: str, cause: str) -> str:
    """The reason of the event that tells of an eviction."""
    return f"EvictedDueTo{evicted_reason(reason, cause)}"


def finish(workload: Json, reason: str, message: str, now: datetime) -> Json:
    """Finished for good; who says so first is right, so a finished workload comes back as it is."""
    if is_finished(workload):
        return workload
    return with_condition(workload, FINISHED, True, reason, message, now)


# Texts


def cut(text: str, bytes_max: int) -> str:
    """The text in so many bytes, with dots at the end where some is missing."""
    raw = text.encode()
    if len(raw) <= bytes_max:
        return text
    return raw[: bytes_max - len(_CUT)].decode(errors="ignore") + _CUT


def event_message(text: str) -> str:
    return cut(text, EVENT_MESSAGE_BYTES_MAX)


def _reset_check(check: Json, now: datetime) -> Json:
    state = check["state"]
    if state == "Pending":
        return check
    reset: Json = {
        "name": check["name"],
        "state": "Pending",
        "lastTransitionTime": format_time(now),
        "message": f"Reset to Pending after eviction. Previously: {state}",
    }
    if check.get("requeueAfterSeconds") is not None:
        reset["requeueAfterSeconds"] = check["requeueAfterSeconds"]
    if state == "Retry":
        reset["retryCount"] = (check.get("retryCount") or 0) + 1
    if check.get(_UPDATES):
        # The check's own controller wrote them: they go by being taken over, empty.
        reset[_UPDATES] = []
    return reset


def _without_emptied(check: Json) -> Json:
    """What was taken over by an eviction is left out, now that it is nobody else's."""
    kept = {name: value for name, value in check.items() if name != _UPDATES}
    return check if check.get(_UPDATES) else kept


def _closed(gate: Json, now: datetime) -> Json:
    if gate["position"] == "Closed":
        return gate
    return {**gate, "position": "Closed", "lastTransitionTime": format_time(now)}


def _counted(workload: Json, reason: str, cause: str) -> Json:
    stats = _status(workload).get("schedulingStats") or {}
    found = {(each["reason"], each["underlyingCause"]): each for each in stats.get("evictions", ())}
    count = found.get((reason, cause), {"count": 0})["count"] + 1
    found[reason, cause] = {"reason": reason, "underlyingCause": cause, "count": count}
    return {**stats, "evictions": list(found.values())}


def _status(workload: Json) -> Json:
    status: Json = workload.get("status") or {}
    return status


def _conditions(status: Json) -> list[Json]:
    found: list[Json] = status.get("conditions") or []
    return found


def _find(status: Json, type: str) -> Json | None:
    for each in status.get("conditions") or ():
        if each["type"] == type:
            found: Json = each
            return found
    return None
