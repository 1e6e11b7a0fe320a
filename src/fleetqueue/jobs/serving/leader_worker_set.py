"""Queues LeaderWorkerSets: a Workload for each replica, whose pods become members of its group."""

from collections.abc import Iterable, Sequence
from functools import partial

from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.base import paths
from fleetqueue.jobs import choosing, identity, managing
from fleetqueue.jobs.controller import MANAGER, RETRY_SECONDS
from fleetqueue.jobs.kind import NotYet, Sight
from fleetqueue.jobs.kinds.leader_worker_set import (
    FRAMEWORK,
    JOB,
    NAME_KEY,
    PREFIX,
    has_leader,
    is_managed,
    replicas_of,
    size_of,
    workload_name,
)
from fleetqueue.jobs.pods import gates, states
from fleetqueue.jobs.priorities import ClassMissing
from fleetqueue.jobs.resources import (
    ADMISSION_CHECK,
    LEADER_WORKER_SET,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    STATEFUL_SET,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from fleetqueue.jobs.serving import workloads
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.topology import read_int
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name, nobody
from fleetqueue.kube.plan import NOTHING, Look, Note, Plan, Step
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Index, Source

WORKLOADS = workloads.owner_index(LEADER_WORKER_SET)
MADE_FOR = workloads.made_for_index(LEADER_WORKER_SET)
GROUP_INDEX = f"{PREFIX}/group-index"
REVISION = f"{PREFIX}/template-revision-hash"
LEADER_NAME = f"{PREFIX}/leader-name"


def _set_key(obj: Object) -> list[Key]:
    """The set whose pod or StatefulSet it is."""
    name = identity.labels_of(obj).get(NAME_KEY)
    return [Key(key_of(obj).namespace, name)] if name else []


PODS = Index(POD, "LeaderWorkerSet", _set_key)


def operator(settings: JobSettings) -> Operator:
    read = (NAMESPACE, PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS, ADMISSION_CHECK)
    return Operator(
        f"{FRAMEWORK}-kueue-controller",
        LEADER_WORKER_SET,
        partial(decide, settings),
        reads=(
            by_name(WORKLOAD, lambda workload: workloads.owners_of(workload, LEADER_WORKER_SET)),
            by_name(POD, _set_key),
            by_name(STATEFUL_SET, _set_key),
            *(nobody(kind) for kind in read),
        ),
        indexes=(WORKLOADS, MADE_FOR, PODS),
        manager=MANAGER,
        decides_deletion=True,
        gone=partial(decide_gone, settings),
        tells_action=True,
    )


def decide_gone(settings: JobSettings, look: Look) -> Plan:
    """Nobody would ever let its pods go. Those that somebody owns are left alone: either they go
    too, or the set is so new that it has not been seen yet.
    """
    plan = workloads.let_go(workloads.owned_by(look, MADE_FOR), settings, look)
    for pod in _pods(look):
        if _is_left_behind(look.source, pod):
            plan.add(*_ungated(pod))
    return plan


def decide(settings: JobSettings, look: Look) -> Plan:
    sight = Sight(look.parent, look.source, settings, now=look.now)
    pods, owned = _pods(look), workloads.owned_by(look, WORKLOADS)
    if is_deleting(look.parent):
        return NOTHING if pods else workloads.let_go(owned, settings, look)
    if not is_managed(sight):
        return NOTHING
    if not settings.has_namespace(look.source.get(NAMESPACE, "", look.namespace)):
        return NOTHING
    if old := [each for each in owned if not workloads.is_of(each, look.parent)]:
        return workloads.let_go(old, settings, look)
    try:
        return Plan([*_workload_steps(sight, owned), *_pod_steps(sight, pods)])
    except ClassMissing as error:
        told = Note("WorkloadPriorityClassNotFound", str(error), "Warning")
        return Plan([told], after=RETRY_SECONDS)
    except NotYet:
        return Plan(after=RETRY_SECONDS)


def wanted_replicas(sight: Sight) -> int:
    """With those that an update adds for its time."""
    replicas = replicas_of(sight.job)
    surge = paths.get(sight.job, "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge")
    updated = int(sight.status.get("updatedReplicas") or 0)
    present = int(sight.status.get("replicas") or 0)
    is_updating = surge not in (None, 0, "0", "0%") and updated < replicas
    return max(replicas, present) if is_updating else replicas


def _workload_steps(sight: Sight, owned: Sequence[Object]) -> list[Step]:
    names = {workload_name(sight, index): index for index in range(wanted_replicas(sight))}
    by_name = {str(each["metadata"]["name"]): each for each in owned}
    steps: list[Step] = []
    for name, index in names.items():
        if name in by_name:
            steps += workloads.renewed(JOB, sight, by_name[name])
        elif not sight.labels.get(labels.MULTIKUEUE_ORIGIN):
            annotations = {labels.COMPONENT_WORKLOAD_INDEX: str(index)}
            steps += workloads.created(JOB, sight, name, annotations)
    for name, workload in by_name.items():
        if name not in names and not is_deleting(workload):
            steps += choosing.removed(workload)
    return steps


def _pod_steps(sight: Sight, pods: Iterable[Object]) -> list[Step]:
    leaders = sight.source.get(STATEFUL_SET, sight.namespace, sight.name)
    newest = "" if leaders is None else identity.labels_of(leaders).get(REVISION) or ""
    steps: list[Step] = []
    for pod in pods:
        index = read_int(identity.labels_of(pod).get(GROUP_INDEX) or "")
        if index is None:
            continue
        name = workload_name(sight, index)
        joined = workloads.joined(pod, name, size_of(sight.job), _role(sight, pod), more={})
        is_left = _is_old(pod, newest) or _is_orphan(sight, pod)
        is_left = is_left and not managing.runs_elsewhere(sight, name)
        steps += joined or (_ungated(pod) if is_left else [])
    return steps


def _role(sight: Sight, pod: Object) -> str:
    if not has_leader(sight.job):
        return "main"
    return "worker" if LEADER_NAME in identity.annotations_of(pod) else "leader"


def _is_old(pod: Object, newest: str) -> bool:
    """Of a revision before the newest; an update waits for such pods to come up."""
    revision = identity.labels_of(pod).get(REVISION)
    return bool(newest and revision) and revision != newest


def _is_orphan(sight: Sight, pod: Object) -> bool:
    """Whether its StatefulSet has made way for another; one that is not there may be just made."""
    reference = _controller_of(pod)
    if reference is None or reference["kind"] != STATEFUL_SET.kind:
        return False
    found = sight.source.get(STATEFUL_SET, sight.namespace, reference["name"])
    return found is not None and found["metadata"]["uid"] != reference["uid"]


def _is_left_behind(source: Source, obj: Object) -> bool:
    """Whether no set is above it any more; False where what is above it has not been seen."""
    reference = _controller_of(obj)
    if reference is None:
        return True
    kind = {each.kind: each for each in (STATEFUL_SET, POD)}.get(reference["kind"])
    if kind is None:
        return False
    above = source.get(kind, key_of(obj).namespace, reference["name"])
    if above is None or above["metadata"]["uid"] != reference["uid"]:
        return False
    return _is_left_behind(source, above)


def _controller_of(obj: Object) -> Object | None:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def _ungated(pod: Object) -> list[Step]:
    return gates.ungated(pod) if states.is_gated(pod) and not is_deleting(pod) else []


def _pods(look: Look) -> list[Object]:
    found = look.source.found(PODS, Key(look.namespace, look.name))
    own = [pod for pod in found if _parent(pod) == FRAMEWORK]
    return sorted(own, key=lambda pod: str(pod["metadata"]["name"]))


def _parent(pod: Object) -> str | None:
    return identity.annotations_of(pod).get(labels.POD_SUSPENDING_PARENT)
