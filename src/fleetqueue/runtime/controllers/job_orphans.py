"""Frees pods that no Job counts any more: the finalizer of one that is gone, or has finished, would
keep them for ever."""

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, nobody
from fleetqueue.kube.plan import Look, Plan
from fleetqueue.runtime.controllers import job_tracking
from fleetqueue.runtime.controllers.job_outcome import is_finished
from fleetqueue.runtime.controllers.job_sight import is_tracked
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.ownership import controller_of

MANAGED_BY = "kubernetes.io/job-controller"
LOOK_AGAIN_SECONDS = 5.0
"""For a pod that is deleted while its Job seems to be there still: the news of it may be late."""


def decide(look: Look) -> Plan:
    pod = look.parent
    if not is_tracked(pod):
        return Plan()
    owner = controller_of(pod)
    if owner is None:
        return Plan([job_tracking.release(pod)])
    if (owner.get("apiVersion"), owner.get("kind")) != (JOB.api_version, JOB.kind):
        return Plan()
    job = look.find(JOB, owner["name"])
    if job is None or job["metadata"]["uid"] != owner["uid"]:
        return Plan([job_tracking.release(pod)])
    if is_finished(job) and (job["spec"].get("managedBy") or MANAGED_BY) == MANAGED_BY:
        return Plan([job_tracking.release(pod)])
    return Plan(after=LOOK_AGAIN_SECONDS if is_deleting(pod) else None)


ORPHANS = Operator(
    "job-controller",
    POD,
    decide,
    reads=(nobody(JOB),),
    decides_deletion=True,
    manager="kube-controller-manager",
)
