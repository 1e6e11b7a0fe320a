"""The Job controller: runs pods until enough of them succeed, or too many fail."""

from dataclasses import dataclass, field

from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Plan, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import ownership
from fleetqueue.runtime.controllers import job_tracking, pod_notes
from fleetqueue.runtime.controllers.job_backoff import Backoff, Failures
from fleetqueue.runtime.controllers.job_orphans import MANAGED_BY, ORPHANS
from fleetqueue.runtime.controllers.job_outcome import is_finished
from fleetqueue.runtime.controllers.job_sight import FINALIZER, Sight, is_tracked
from fleetqueue.runtime.controllers.job_sync import Sync
from fleetqueue.runtime.kinds import JOB, POD


def job_operator(backoff: Backoff | None = None) -> Operator:
    """A Job controller of its own, with other delays where tests or users want them."""
    syncs = Syncs(backoff or Backoff())
    return Operator(
        "job-controller",
        JOB,
        syncs.decide,
        owns=(POD,),
        follows=(Follow(POD, ownership.adopters(JOB)),),
        managed_by=("spec", "managedBy"),
        own_name=MANAGED_BY,
        decides_deletion=True,
        created=pod_notes.created,
        refused=syncs.refused,
        manager="kube-controller-manager",
    )


@dataclass(slots=True)
class Syncs:
    """Decides for one Job at a time; remembers nothing but which pods failed when."""

    backoff: Backoff
    failures: Failures = field(default_factory=Failures)

    def decide(self, look: Look) -> Plan:
        if not is_finished(look.parent):
            return self._sync(look)
        return Plan([job_tracking.release(pod) for pod in look.owned(POD) if is_tracked(pod)])

    def refused(self, look: Look, step: Step, error: KubeError) -> Plan:
        """It is told, and the pods that were made until then are counted all the same."""
        if isinstance(step, Delete):
            return Plan([pod_notes.refused(step, error)])
        plan = self._sync(look, makes_pods=False)
        if isinstance(step, Create) and not pod_notes.is_namespace_ending(error):
            plan.steps.insert(0, pod_notes.refused(step, error))
        return plan

    def _sync(self, look: Look, *, makes_pods: bool = True) -> Plan:
        selector = look.parent["spec"].get("selector")
        claimed = ownership.claim(look, POD, selector, finalizer=FINALIZER)
        pods = [_taken_in(pod) for pod in claimed.objects]
        sight = Sight(look.parent, pods, look.now)
        failures = self.failures.look(look.uid, pods, sight.new_succeeded, sight.new_failed)
        return Sync(sight, self.backoff, failures, makes_pods, Plan(claimed.steps)).run()


def _taken_in(pod: Object) -> Object:
    """An orphan as it will be once it is adopted."""
    if controller_uid(pod) or is_tracked(pod):
        return pod
    finalizers = [*(pod["metadata"].get("finalizers") or ()), FINALIZER]
    return {**pod, "metadata": {**pod["metadata"], "finalizers": finalizers}}


OPERATOR = job_operator()
OPERATORS = (OPERATOR, ORPHANS)
