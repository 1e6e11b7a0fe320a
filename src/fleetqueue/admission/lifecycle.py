"""What is to be done with a workload next, by its conditions and its queues; one thing at a time.

The order of the steps is a promise: the first that has something to write ends the pass, and what
it wrote starts the next one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from fleetqueue.admission import refusing, waiting
from fleetqueue.admission.admissible import gated_by
from fleetqueue.admission.facts import Facts
from fleetqueue.admission.life_settings import LifeSettings, PodsReadyRules
from fleetqueue.admission.turn import Turn
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, workloads
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.kube.plan import Delete, Patch, Plan

Json = dict[str, Any]
JITTER = 0.0001


def decide(workload: Json, facts: Facts, settings: LifeSettings, now: datetime) -> Plan:
    turn = Turn(workload, facts, settings, now)
    for step in STEPS:
        if step(turn):
            break
    return turn.plan


# The steps: each says whether the pass ends with it.


def finish_orphan(turn: Turn) -> bool:
    metadata = turn.workload["metadata"]
    is_deleting = bool(metadata.get("deletionTimestamp"))
    has_job = labels.JOB_UID in (metadata.get("labels") or {}) and turn.settings.finishes_orphans
    if metadata.get("ownerReferences") or not (is_deleting or has_job):
        return False
    if not is_deleting:
        message = "The workload's owner no longer exists"
        turn.write(status.finish(turn.workload, "OwnerNotFound", message, turn.now))
    _drop_finalizer(turn)
    return bool(turn.plan.steps) or is_deleting


def retain_finished(turn: Turn) -> bool:
    finished = turn.condition(status.FINISHED)
    if finished is None or finished["status"] != "True":
        return False
    span, metadata = turn.settings.after_finished, turn.workload["metadata"]
    # The copy of a manager's workload is the manager's to delete, once it knows of the end.
    is_copy = labels.MULTIKUEUE_ORIGIN in (metadata.get("labels") or {})
    if span is None or is_copy or metadata.get("deletionTimestamp"):
        return True
    ends_at = parse_time(finished["lastTransitionTime"]) + span
    if turn.now < ends_at:
        turn.look_again_at(ends_at)
        return True
    _drop_finalizer(turn)
    turn.plan.add(Delete(turn.workload))
    turn.note("Deleted", "Deleted finished workload due to elapsed retention")
    return True


def take_over_retry_time(turn: Turn) -> bool:
    times = [
        parse_time(check["lastTransitionTime"]) + timedelta(seconds=check["requeueAfterSeconds"])
        for check in status.checks_of(turn.workload)
        if check["state"] == "Retry" and check.get("requeueAfterSeconds") is not None
    ]
    latest = max(times, default=turn.now)
    known = turn.requeue_at()
    if latest <= turn.now or (known is not None and latest <= known):
        return False
    state = dict((turn.workload.get("status") or {}).get("requeueState") or {})
    state["requeueAt"] = format_time(latest)
    return turn.write(status.changed(turn.workload, requeueState=state))


def deactivate(turn: Turn) -> bool:
    is_target = status.is_true(turn.workload, status.DEACTIVATION_TARGET)
    if not status.is_active(turn.workload) or not is_target:
        return False
    turn.plan.add(Patch(turn.workload, {"spec": {"active": False}}))
    return True


def back_off(turn: Turn) -> bool:
    until = turn.requeue_at()
    if until is None or not status.is_active(turn.workload) or status.has_quota(turn.workload):
        return False
    if turn.now < until:
        turn.look_again_at(until)
        # What keeps it waiting may have changed meanwhile.
        waiting.explain(turn)
        return True
    state = dict(turn.workload["status"]["requeueState"])
    state.pop("requeueAt")
    made = status.changed(turn.workload, requeueState=state or None)
    told = _requeued(turn, made)
    return turn.update(made) if told is made else turn.write(told)


def come_back(turn: Turn) -> bool:
    return status.is_active(turn.workload) and turn.write(_requeued(turn, turn.workload))


def _requeued(turn: Turn, made: Json) -> Json:
    """Requeued again, where what kept it out is over."""
    reason = turn.reason(status.REQUEUED, "False")
    told = ("", "")
    if reason.startswith(status.DEACTIVATED):
        told = ("Reactivated", "The workload was reactivated")
    elif reason in ("PodsReadyTimeout", "AdmissionCheck"):
        told = ("BackoffFinished", "The workload backoff was finished")
    return status.with_condition(made, status.REQUEUED, True, *told, turn.now) if told[0] else made


def evict_inactive(turn: Turn) -> bool:
    if status.is_active(turn.workload):
        return False
    target = turn.condition(status.DEACTIVATION_TARGET)
    made = status.changed(turn.workload, requeueState=None)
    made = status.without_condition(made, status.DEACTIVATION_TARGET)
    if status.is_evicted(turn.workload):
        return turn.update(made)
    message, cause = "The workload is deactivated", ""
    if target is not None and target["status"] == "True":
        message, cause = f"{message} due to {target['message']}", str(target["reason"])
    return turn.evict(status.DEACTIVATED, message, cause=cause, made=made)


def _restarted(reason: str, told: str, kind: str, runs: Callable[[Facts], bool]) -> Any:
    def restart(turn: Turn) -> bool:
        if turn.reason(status.REQUEUED, "False") != reason or not runs(turn.facts):
            return False
        message = f"The {kind} was restarted after being stopped"
        made = turn.workload
        return turn.write(
            status.with_condition(made, status.REQUEUED, True, told, message, turn.now)
        )

    return restart


restart_local_queue = _restarted(
    "LocalQueueStopped", "LocalQueueRestarted", "LocalQueue", lambda facts: facts.local.runs
)
restart_cluster_queue = _restarted(
    "ClusterQueueStopped", "ClusterQueueRestarted", "ClusterQueue", lambda facts: facts.queue.runs
)


def follow_gates(turn: Turn) -> bool:
    """The annotation that keeps a workload out of its queue."""
    if status.has_quota(turn.workload) or not status.is_active(turn.workload):
        return False
    gates = turn.settings.honors_gates and gated_by(turn.workload)
    told = waiting.gate_message(turn.workload)
    reserved, pending = status.QUOTA_RESERVED, turn.settings.wording.pending
    if not gates and told is not None:
        message = "AdmissionGatedBy cleared, waiting for quota reservation"
        made = status.with_condition(turn.workload, reserved, False, pending, message, turn.now)
        turn.write(status.settle_admitted(made, turn.now, turn.settings.wording))
        turn.note("AdmissionGateCleared", "Admission gate cleared, workload is now admissible")
        return True
    return False


def follow_checks(turn: Turn) -> bool:
    """The checks that the queue asks for, and no others; those that stay keep their state.

    The list alone is written, as an update, so that what is applied later takes each entry over.
    """
    wanted = turn.facts.checks
    if wanted is None:
        return False
    if sorted(check["name"] for check in status.checks_of(turn.workload)) == sorted(wanted):
        return False
    checks = listed(turn.workload, wanted, turn.now)
    return turn.update(status.changed(turn.workload, admissionChecks=checks or None))


def listed(workload: Json, wanted: Iterable[str], now: datetime) -> list[Json]:
    """These checks, each with the state that it has, or new."""
    known = {check["name"]: check for check in status.checks_of(workload)}
    fresh = {"state": "Pending", "lastTransitionTime": format_time(now), "message": ""}
    return [known.get(name, {"name": name, **fresh}) for name in sorted(wanted)]


def drop_left_admission(turn: Turn) -> bool:
    """Quota was given back, but somebody else had written where it was held."""
    is_left = bool((turn.workload.get("status") or {}).get("admission"))
    if not is_left or status.has_quota(turn.workload):
        return False
    return turn.update(status.changed(turn.workload, admission=None))


def mirror_preemption_gates(turn: Turn) -> bool:
    if not turn.settings.mirrors_preemption_gates:
        return False
    names = [each["name"] for each in (turn.workload["spec"].get("preemptionGates") or ())]
    known = {
        each["name"]: each
        for each in (turn.workload.get("status") or {}).get("preemptionGates") or ()
    }
    if sorted(known) == sorted(names):
        return False
    closed = {"position": "Closed", "lastTransitionTime": format_time(turn.now)}
    gates = [known.get(name, {"name": name, **closed}) for name in names]
    return turn.write(status.changed(turn.workload, preemptionGates=gates or None))


def admit(turn: Turn) -> bool:
    """Quota is held: admitted as soon as the checks are ready."""
    if not status.has_quota(turn.workload) or status.is_admitted(turn.workload):
        return False
    if status.is_evicted(turn.workload):
        return False
    made = status.settle_admitted(turn.workload, turn.now, turn.settings.wording)
    is_written = turn.write(made)
    if status.is_admitted(made):
        turn.note(status.ADMITTED, admitted_text(turn.workload, turn.now))
    return is_written


def admitted_text(workload: Json, now: datetime) -> str:
    """What is told when one that holds quota is admitted."""
    reserved = status.find_condition(workload, status.QUOTA_RESERVED)
    assert reserved is not None
    waited = (now - parse_time(reserved["lastTransitionTime"])).total_seconds()
    queue = workload["status"]["admission"]["clusterQueue"]
    return f"Admitted by ClusterQueue {queue}, wait time since reservation was {waited:.0f}s"


def judge_checks(turn: Turn) -> bool:
    if not _holds(turn):
        return False
    rejected = _in_state(turn.workload, "Rejected")
    if rejected:
        message = _told(rejected, "Rejected")
        is_written = _target(turn, "AdmissionCheck", message)
        turn.note("AdmissionCheckRejected", f"Deactivated due to {message}", "Warning")
        return is_written
    retry = _in_state(turn.workload, "Retry")
    return bool(retry) and turn.evict("AdmissionCheck", f"Evicted due to {_told(retry, 'Retry')}")


def _in_state(workload: Json, state: str) -> list[Json]:
    found = [check for check in status.checks_of(workload) if check["state"] == state]
    return sorted(found, key=lambda check: str(check["name"]))


def _told(checks: Sequence[Mapping[str, Any]], state: str) -> str:
    parts = []
    for check in checks:
        message = f" ({check['message']})" if check.get("message") else ""
        parts.append(f'"{check["name"]}"{message}')
    word = "AdmissionCheck" if len(checks) == 1 else "AdmissionChecks"
    return f"{word} in {state} state: {'; '.join(parts)}"


def leave_stopped(turn: Turn) -> bool:
    """Its queue stopped, or is gone: what is not admitted gives its quota back, the rest may have
    to stop.
    """
    if not _holds(turn):
        return False
    places = (("LocalQueue", turn.facts.local), ("ClusterQueue", turn.facts.queue))
    for kind, place in places:
        if status.is_admitted(turn.workload):
            if place.stop_policy == "HoldAndDrain":
                return turn.evict(f"{kind}Stopped", f"The {kind} is stopped")
        elif not place.exists or place.is_terminating:
            text = f"{kind} {place.name} is terminating or missing"
            return _give_back(turn, "Misconfigured", text)
        elif place.stop_policy != "None":
            return _give_back(turn, "Suspended", f"{kind} {place.name} is stopped")
    return False


def _give_back(turn: Turn, reason: str, message: str) -> bool:
    told = reason if turn.settings.explains_waiting else "Inadmissible"
    made = status.release(turn.workload, told, message, turn.now, turn.settings.wording)
    return turn.write(made)


def await_pods(turn: Turn) -> bool:
    rules = turn.settings.pods_ready
    if rules is None or not _runs(turn):
        return False
    ends_at, cause = _ready_by(turn, rules)
    if ends_at is None:
        return False
    if turn.now < ends_at:
        turn.look_again_at(ends_at)
        return False
    state = dict(turn.workload["status"].get("requeueState") or {})
    count = int(state.get("count") or 0) + 1
    if rules.retries_max is not None and count > rules.retries_max:
        message = "exceeding the maximum number of re-queuing retries"
        return _target(turn, "RequeuingLimitExceeded", message)
    state["count"] = count
    at = turn.now + timedelta(seconds=_backoff_seconds(rules, count, turn.workload))
    known = turn.requeue_at()
    state["requeueAt"] = format_time(at if known is None else max(at, known))
    metadata = turn.workload["metadata"]
    message = f"Exceeded the PodsReady timeout {metadata['namespace']}/{metadata['name']}"
    made = status.changed(turn.workload, requeueState=state)
    return turn.evict("PodsReadyTimeout", message, cause=cause, made=made)


def _ready_by(turn: Turn, rules: PodsReadyRules) -> tuple[datetime | None, str]:
    ready, admitted = turn.condition(status.PODS_READY), turn.condition(status.ADMITTED)
    assert admitted is not None
    if ready is not None and ready["status"] == "True":
        return None, ""
    if ready is not None and ready["reason"] == "WaitForRecovery":
        since, span = parse_time(ready["lastTransitionTime"]), rules.recovery_timeout
        return (None if span is None else since + span), "WaitForRecovery"
    return parse_time(admitted["lastTransitionTime"]) + rules.timeout, "WaitForStart"


def _backoff_seconds(rules: PodsReadyRules, count: int, workload: Json) -> float:
    """Grows with every try; a little off, so that workloads evicted together come back apart."""
    seconds = min(rules.backoff_base_seconds * 2.0 ** (count - 1), rules.backoff_seconds_max)
    part = crc32(f"{workload['metadata'].get('uid')}/{count}".encode()) / 2**32
    return float(seconds * (1 + JITTER * part))


def end_in_time(turn: Turn) -> bool:
    """The maximum execution time, over all admissions."""
    limit = (turn.workload.get("spec") or {}).get("maximumExecutionTimeSeconds")
    if limit is None or not _runs(turn):
        return False
    if status.is_true(turn.workload, status.DEACTIVATION_TARGET):
        return False
    admitted = turn.condition(status.ADMITTED)
    assert admitted is not None
    past = turn.workload["status"].get("accumulatedPastExecutionTimeSeconds") or 0
    ends_at = parse_time(admitted["lastTransitionTime"]) + timedelta(seconds=limit - past)
    if turn.now < ends_at:
        turn.look_again_at(ends_at)
        return False
    made = status.changed(turn.workload, accumulatedPastExecutionTimeSeconds=None)
    message = "exceeding the maximum execution time"
    is_written = _target(turn, "MaximumExecutionTimeExceeded", message, made)
    text = f"The maximum execution time ({limit}s) exceeded"
    turn.note("MaximumExecutionTimeExceeded", text, "Warning")
    return is_written


def _target(turn: Turn, reason: str, message: str, made: Json | None = None) -> bool:
    """It is to be deactivated; a write of the spec follows."""
    start = made or turn.workload
    return turn.write(
        status.with_condition(start, status.DEACTIVATION_TARGET, True, reason, message, turn.now)
    )


def _holds(turn: Turn) -> bool:
    """Whether it holds quota and is not on its way out."""
    return status.has_quota(turn.workload) and not status.is_evicted(turn.workload)


def _runs(turn: Turn) -> bool:
    """Whether its job runs, and no other workload is there for its times."""
    is_admitted = _holds(turn) and status.is_admitted(turn.workload)
    return is_admitted and not workloads.is_variant(turn.workload)


def _drop_finalizer(turn: Turn) -> None:
    finalizers = turn.workload["metadata"].get("finalizers") or []
    kept = [each for each in finalizers if each != labels.RESOURCE_IN_USE_FINALIZER]
    if len(kept) != len(finalizers):
        turn.plan.add(Patch(turn.workload, {"metadata": {"finalizers": kept or None}}))


STEPS: tuple[Callable[[Turn], bool], ...] = (
    finish_orphan,
    retain_finished,
    take_over_retry_time,
    refusing.refuse_claims,
    deactivate,
    back_off,
    come_back,
    evict_inactive,
    restart_local_queue,
    follow_gates,
    restart_cluster_queue,
    follow_checks,
    drop_left_admission,
    mirror_preemption_gates,
    waiting.explain,
    admit,
    judge_checks,
    leave_stopped,
    await_pods,
    end_in_time,
)
