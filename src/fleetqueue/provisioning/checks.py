"""What an answer of the autoscaler means for the check: its state, its message, its updates."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.times import format_time
from fleetqueue.provisioning.kinds import CLASS_NAME, CONSUME
from fleetqueue.provisioning.requests import Needed

Json = dict[str, Any]


def with_state(check: Json, state: str, message: str, now: datetime, **more: Any) -> Json:
    """The check as it is now; its time moves with its state alone."""
    since = check["lastTransitionTime"] if check["state"] == state else format_time(now)
    made = {**check, "state": state, "message": message, "lastTransitionTime": since}
    made.pop("podSetUpdates", None)
    made |= {name: value for name, value in more.items() if value is not None}
    return made


def judge(
    check: Json,
    workload: Json,
    config: Json,
    request: Json,
    attempt: int,
    sets: Sequence[Needed],
    now: datetime,
) -> Json:
    """The first condition of the request that says something decides."""
    conditions = {
        each["type"]: each for each in (request.get("status") or {}).get("conditions") or ()
    }

    def true(type: str) -> Json | None:
        found = conditions.get(type)
        return found if found is not None and found["status"] == "True" else None

    if failed := true("Failed"):
        return _again(check, config, attempt, failed, "Retrying after failure: ", now)
    if revoked := true("CapacityRevoked"):
        if status.is_active(workload) and not status.is_finished(workload):
            return with_state(check, "Rejected", revoked.get("message") or "", now)
        return check
    if expired := true("BookingExpired"):
        if status.is_admitted(workload):
            return check
        return _again(check, config, attempt, expired, "Retrying after booking expired: ", now)
    if provisioned := true("Provisioned"):
        if check["state"] == "Ready":
            return check
        updates = [_update(name, request, config) for each in sets for name in each.members[:1]]
        text = provisioned.get("message") or ""
        return with_state(check, "Ready", text, now, podSetUpdates=updates)
    if true("Accepted") and "Provisioned" in conditions:
        return with_state(check, "Pending", conditions["Provisioned"].get("message") or "", now)
    return with_state(check, "Pending", "", now)


def _again(
    check: Json, config: Json, attempt: int, condition: Json, prefix: str, now: datetime
) -> Json:
    """Another attempt after a while, or none."""
    text = condition.get("message") or ""
    rules = (config.get("spec") or {}).get("retryStrategy") or {}
    if attempt > rules.get("backoffLimitCount", 3):
        return with_state(check, "Rejected", text, now)
    tries = check.get("retryCount") or 0
    if attempt <= tries:
        return {**check, "message": prefix + text}
    seconds = min(
        rules.get("backoffBaseSeconds", 60) * 2**tries, rules.get("backoffMaxSeconds", 1800)
    )
    return with_state(check, "Retry", prefix + text, now, requeueAfterSeconds=int(seconds))


def _update(pod_set: str, request: Json, config: Json) -> Json:
    details = (request.get("status") or {}).get("provisioningClassDetails") or {}
    wanted = ((config.get("spec") or {}).get("podSetUpdates") or {}).get("nodeSelector") or ()
    selector = {
        each["key"]: details[each["valueFromProvisioningClassDetail"]]
        for each in wanted
        if each["valueFromProvisioningClassDetail"] in details
    }
    made: Json = {
        "name": pod_set,
        "annotations": {
            CONSUME: request["metadata"]["name"],
            CLASS_NAME: request["spec"]["provisioningClassName"],
        },
    }
    if selector:
        made["nodeSelector"] = selector
    return made


def activity(check: Json, config: Json | None) -> tuple[bool, str, str]:
    """Whether an AdmissionCheck of ours can be used: its condition Active."""
    parameters = (check.get("spec") or {}).get("parameters")
    if parameters is None:
        return False, "BadParametersRef", "missing parameters reference"
    bad = "bad parameters reference"
    group, kind, name = (parameters.get(field) or "" for field in ("apiGroup", "kind", "name"))
    if not name:
        return False, "BadParametersRef", f"empty name: {bad}"
    if group != "kueue.x-k8s.io":
        text = f'wrong group "{group}", expecting "kueue.x-k8s.io": {bad}'
        return False, "BadParametersRef", text
    if kind != "ProvisioningRequestConfig":
        text = f'wrong kind "{kind}", expecting "ProvisioningRequestConfig": {bad}'
        return False, "BadParametersRef", text
    if config is None:
        text = f'ProvisioningRequestConfig.kueue.x-k8s.io "{name}" not found'
        return False, "BadParametersRef", text
    return True, "Active", "The admission check is active"
