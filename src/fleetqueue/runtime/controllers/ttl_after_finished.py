"""Deletes finished Jobs once their `ttlSecondsAfterFinished` is over."""

from datetime import timedelta

from fleetqueue.api.times import parse_time
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.plan import Delete, Look, Plan
from fleetqueue.runtime.controllers.job_outcome import finished_condition
from fleetqueue.runtime.kinds import JOB


def decide(look: Look) -> Plan:
    ttl = look.parent["spec"].get("ttlSecondsAfterFinished")
    finished = finished_condition(look.parent)
    if ttl is None or finished is None or not finished.get("lastTransitionTime"):
        return Plan()
    expires_at = parse_time(finished["lastTransitionTime"]) + timedelta(seconds=ttl)
    left = (expires_at - look.now).total_seconds()
    if left > 0:
        return Plan(after=left)
    return Plan([Delete(look.parent, "Foreground")])


OPERATOR = Operator("ttl-after-finished-controller", JOB, decide, manager="kube-controller-manager")
