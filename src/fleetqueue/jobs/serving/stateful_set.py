"""Queues StatefulSets: one Workload for all pods, which are made members of its group."""

from functools import partial

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue import labels
from fleetqueue.jobs import choosing, identity, managing
from fleetqueue.jobs.controller import MANAGER, RETRY_SECONDS
from fleetqueue.jobs.kind import NotYet, Sight
from fleetqueue.jobs.kinds.stateful_set import (
    FRAMEWORK,
    JOB,
    is_idle,
    is_managed,
    is_on_hold,
    replicas_of,
    workload_name,
)
from fleetqueue.jobs.pods import gates, states
from fleetqueue.jobs.priorities import ClassMissing
from fleetqueue.jobs.resources import (
    ADMISSION_CHECK,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    STATEFUL_SET,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.serving import workloads
from fleetqueue.jobs.serving.templates import queue_labels
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name, nobody
from fleetqueue.kube.plan import NOTHING, Look, Note, Patch, Plan, Step
from fleetqueue.kube.resources import Object

WORKLOADS = workloads.owner_index(STATEFUL_SET)
MADE_FOR = workloads.made_for_index(STATEFUL_SET)
REVISION = "controller-revision-hash"
ON_HOLD = "StatefulSet scaled to zero; workload on hold"
OFF_HOLD = "Workload no longer on hold; waiting for quota reservation"
FIXED = {
    labels.POD_GROUP_FAST_ADMISSION: "true",
    labels.POD_GROUP_SERVING: "true",
    labels.POD_GROUP_POD_INDEX_LABEL: "apps.kubernetes.io/pod-index",
}


def operator(settings: JobSettings) -> Operator:
    read = (NAMESPACE, PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS, ADMISSION_CHECK)
    return Operator(
        f"{FRAMEWORK}-kueue-controller",
        STATEFUL_SET,
        partial(decide, settings),
        owns=(POD,),
        reads=(
            by_name(WORKLOAD, lambda workload: workloads.owners_of(workload, STATEFUL_SET)),
            *(nobody(kind) for kind in read),
        ),
        indexes=(
            WORKLOADS,
            MADE_FOR,
        ),
        manager=MANAGER,
        decides_deletion=True,
        gone=partial(decide_gone, settings),
        tells_action=True,
    )


def decide_gone(settings: JobSettings, look: Look) -> Plan:
    return workloads.let_go(workloads.owned_by(look, MADE_FOR), settings, look)


def decide(settings: JobSettings, look: Look) -> Plan:
    sight = Sight(look.parent, look.source, settings, now=look.now)
    pods, owned = look.owned(POD), workloads.owned_by(look, WORKLOADS)
    if is_deleting(look.parent):
        return NOTHING if pods else workloads.let_go(owned, settings, look)
    if not is_managed(sight):
        return NOTHING
    if not settings.has_namespace(look.source.get(NAMESPACE, "", look.namespace)):
        return NOTHING
    if old := [each for each in owned if not workloads.is_of(each, look.parent)]:
        return workloads.let_go(old, settings, look)
    try:
        return Plan(_workload_steps(sight, pods, look) or _pod_steps(sight, pods))
    except ClassMissing as error:
        told = Note("WorkloadPriorityClassNotFound", str(error), "Warning")
        return Plan([told], after=RETRY_SECONDS)
    except NotYet:
        return Plan(after=RETRY_SECONDS)


def _workload_steps(sight: Sight, pods: list[Object], look: Look) -> list[Step]:
    name, replicas = workload_name(sight), replicas_of(sight.job)
    workload = sight.source.get(WORKLOAD, sight.namespace, name)
    if workload is None:
        is_copy = bool(sight.labels.get(labels.MULTIKUEUE_ORIGIN))
        return [] if not replicas or is_copy else workloads.created(JOB, sight, name)
    if is_deleting(workload) or status_of.is_finished(workload):
        return []
    wording = sight.settings.wording
    if not replicas:
        if pods or is_idle(workload):
            return []
        held = status_of.release(workload, "OnHold", ON_HOLD, look.now, wording)
        return [choosing.apply_status(held)]
    if steps := workloads.renewed(JOB, sight, workload):
        return steps
    if is_on_hold(workload):
        back = status_of.release(workload, wording.pending, OFF_HOLD, look.now, wording)
        return [choosing.apply_status(back)]
    return []


def _pod_steps(sight: Sight, pods: list[Object]) -> list[Step]:
    name, replicas = workload_name(sight), replicas_of(sight.job)
    steps: list[Step] = []
    for pod in pods:
        if identity.annotations_of(pod).get(labels.POD_SUSPENDING_PARENT) != FRAMEWORK:
            continue
        steps += (
            workloads.joined(pod, name, replicas, "main", more=FIXED, **queue_labels(sight.job))
            or _let_old_go(sight, pod)
            or _follow(sight, pod)
        )
    return steps


def _let_old_go(sight: Sight, pod: Object) -> list[Step]:
    """An update goes on only when pods of the old revision have started."""
    current, new = sight.status.get("currentRevision"), sight.status.get("updateRevision")
    is_old = current != new and identity.labels_of(pod).get(REVISION) == current
    if managing.runs_elsewhere(sight, workload_name(sight)):
        return []
    return gates.ungated(pod) if is_old and states.is_gated(pod) and not is_deleting(pod) else []


def _follow(sight: Sight, pod: Object) -> list[Step]:
    queue = identity.queue_of(sight.job)
    if not queue or identity.queue_of(pod) == queue or not states.is_gated(pod):
        return []
    return [Patch(pod, {"metadata": {"labels": {labels.QUEUE_NAME: queue}}})]
