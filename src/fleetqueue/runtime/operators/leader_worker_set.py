"""LeaderWorkerSets: groups of a leader and its workers that are made, updated and lost together.

One StatefulSet holds all leaders; each leader has a StatefulSet of workers that goes with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Operator, by_name, nobody
from fleetqueue.kube.plan import Apply, Create, Delete, Look, Note, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import (
    CONTROLLER_REVISION,
    LEADER_WORKER_SET,
    NODE,
    POD,
    SERVICE,
    STATEFUL_SET,
)
from fleetqueue.runtime.operators import leader_worker_children as children
from fleetqueue.runtime.operators import leader_worker_pods, leader_worker_webhook
from fleetqueue.runtime.operators import leader_worker_spec as keys
from fleetqueue.runtime.operators.leader_worker_rollout import Course, Group, partition_of, plot
from fleetqueue.runtime.operators.leader_worker_spec import LeaderWorkerSet, label
from fleetqueue.runtime.operators.leader_worker_status import Draft
from fleetqueue.runtime.pod_facts import is_ready, phase

__all__ = ["OPERATOR", "WEBHOOKS", "decide"]

MANAGER = "lws"
RECREATING = ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart")
_DELETED_SECONDS = 5
_REVISION_SECONDS = 1


def decide(look: Look) -> Plan:
    whole = LeaderWorkerSet(look.parent)
    leaders = look.find(STATEFUL_SET, whole.name)
    if leaders is not None and (is_deleting(leaders) or controller_uid(leaders) != look.uid):
        # On its way out, perhaps with an earlier set of that name.
        return Plan(after=_DELETED_SECONDS)
    groups = _groups(look, whole, leaders)
    plan = Plan()
    history = _History(look, whole, leaders)
    key = label(history.revision, keys.REVISION_KEY)
    course = plot(whole, leaders, groups, key, is_new=history.is_changed)
    plan.add(*history.steps)
    plan.add(*_lead(whole, leaders, course, key, history.is_changed))
    plan.add(*_name(look, whole, groups))
    _keep_groups(look, whole, groups, history.all, plan)
    draft = Draft(whole, look.now)
    draft.count(leaders, groups, key)
    plan.add(Status(draft.status), *draft.notes)
    if draft.is_done:
        plan.add(*(Delete(each) for each in history.all if label(each, keys.REVISION_KEY) != key))
    return plan


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    match step:
        case Apply(obj):
            verb = "create" if look.find(STATEFUL_SET, look.name) is None else "update"
            text = f"Failed to {verb} leader statefulset {obj['metadata']['name']}: {error}"
            reason = f"Failed{verb.capitalize()}"
        case Create({"kind": "StatefulSet"} as obj):
            leader = obj["metadata"]["name"]
            text = f"Failed to create worker statefulset for leader pod {leader}: {error}"
            reason = "FailedCreate"
        case Create({"kind": "Service"}):
            text, reason = f"Failed to create headless service for error: {error}", "FailedCreate"
        case _:
            return Plan()
    return Plan([Note(reason, text, "Warning")])


@dataclass(slots=True, init=False)
class _History:
    """The revisions, and the one that groups should be of."""

    all: list[Object]
    revision: Object
    is_changed: bool
    """Whether the template is another one than the leaders were made from."""
    steps: list[Step]

    def __init__(self, look: Look, whole: LeaderWorkerSet, leaders: Object | None) -> None:
        self.all, self.steps, self.is_changed = look.owned(CONTROLLER_REVISION), [], False
        used = "" if leaders is None else label(leaders, keys.REVISION_KEY)
        found = children.find_revision(self.all, used)
        if found is None and leaders is None:
            # Made before, but the leaders were not: it is taken up again.
            same = (each for each in self.all if each.get("data") == children.snapshot(whole))
            found = next(same, None)
        if found is None:
            about = "for a newly created" if not used else "for existing"
            found = self._add(whole, used, f"{about} LeaderWorkerSet", "missing " if used else "")
        elif leaders is not None and found.get("data") != children.snapshot(whole):
            found, self.is_changed = self._add(whole, "", "for updated LWS"), True
        self.revision = found

    def _add(self, whole: LeaderWorkerSet, key: str, about: str, word: str = "") -> Object:
        made = children.make_revision(whole, self.all, key)
        text = f"Creating {word}revision with key {label(made, keys.REVISION_KEY)} {about}"
        self.steps += [Create(made), Note("CreatingRevision", text)]
        self.all = [*self.all, made]
        return made


def _groups(look: Look, whole: LeaderWorkerSet, leaders: Object | None) -> list[Group]:
    pods = () if leaders is None else look.owned_by(leaders, POD)
    found = []
    for leader in pods:
        index = label(leader, keys.GROUP_KEY)
        if not index.isdecimal():
            continue
        workers = look.owned_by(leader, STATEFUL_SET)
        found.append(Group(int(index), leader, next(iter(workers), None), whole.size > 1))
    return sorted(found, key=lambda group: group.index)


def _lead(
    whole: LeaderWorkerSet, leaders: Object | None, course: Course, key: str, is_changed: bool
) -> Iterator[Step]:
    yield Apply(children.make_leaders(whole, course.partition, course.replicas, key), MANAGER)
    if leaders is None:
        yield Note("GroupsProgressing", f"Created leader statefulset {whole.name}")
        return
    have, last = int(leaders["spec"].get("replicas") or 0), course.replicas
    if whole.replicas <= last < have:
        one = f"deleting surge replica {whole.name}-{last}"
        many = f"deleting surge replicas from {whole.name}-{last} to {whole.name}-{have - 1}"
        yield Note("GroupsProgressing", one if last == have - 1 else many)
    before, now = partition_of(leaders), course.partition
    if not is_changed and now != before:
        text = f"Updating replicas {now} to {before - 1} (inclusive)"
        yield Note("GroupsUpdating", f"Updating replica {now}" if before - 1 == now else text)


def _name(look: Look, whole: LeaderWorkerSet, groups: Sequence[Group]) -> Iterator[Step]:
    wanted = [children.make_service(whole)]
    if whole.has_own_subdomains:
        alive = (group.leader for group in groups if not is_deleting(group.leader))
        wanted = [children.make_service(whole, leader) for leader in alive]
    for service in wanted:
        if look.find(SERVICE, service["metadata"]["name"]) is None:
            yield Create(service)


def _keep_groups(
    look: Look, whole: LeaderWorkerSet, groups: Sequence[Group], history: list[Object], plan: Plan
) -> None:
    """Groups with a lost pod are given up, those without workers get them."""
    notes: list[Note] = []
    for group in groups:
        lost = _lost_pod(look, whole, group)
        if lost is not None:
            plan.add(*_give_up(group, lost))
        elif not is_deleting(group.leader) and _may_have_workers(look, whole, group):
            revision = children.find_revision(history, label(group.leader, keys.REVISION_KEY))
            nodes = _nodes(look, whole, group.leader)
            if revision is None:
                plan.look_again(_REVISION_SECONDS)
            elif nodes is not None:
                plan.add(Create(children.make_workers(whole, group.leader, revision, nodes)))
                text = f"Created worker statefulset for leader pod {_called(group.leader)}"
                notes.append(Note("GroupsProgressing", text))
    plan.add(*notes)


def _lost_pod(look: Look, whole: LeaderWorkerSet, group: Group) -> Object | None:
    """A pod that went or restarted, where its group must not go on without it."""
    if whole.restart_policy not in RECREATING:
        return None
    pods = [group.leader, *_worker_pods(look, group)]
    waits = whole.restart_policy == "RecreateGroupAfterStart"
    waits = waits or keys.AFTER_START_KEY in whole.annotations
    if waits and (len(pods) != whole.size or any(phase(pod) == "Pending" for pod in pods)):
        return None
    revision = label(group.leader, keys.REVISION_KEY)
    for pod in pods:
        is_ours = label(pod, keys.REVISION_KEY) == revision
        if is_ours and (is_deleting(pod) or _has_restarted(pod)):
            return pod
    return None


def _worker_pods(look: Look, group: Group) -> list[Object]:
    if group.workers is None:
        return []
    found = look.owned_by(group.workers, POD)
    return sorted(found, key=_called)


def _give_up(group: Group, lost: Object) -> Iterator[Step]:
    if is_deleting(group.leader):
        return
    leader = _called(group.leader)
    text = f"Worker pod {_called(lost)} failed, deleted leader pod {leader} to recreate group"
    yield Delete(group.leader, "Foreground")
    yield Note("RecreateGroup", f"{text} {label(group.leader, keys.GROUP_KEY)}")


def _may_have_workers(look: Look, whole: LeaderWorkerSet, group: Group) -> bool:
    if whole.size == 1 or look.find(STATEFUL_SET, _called(group.leader)) is not None:
        return False
    return not whole.waits_for_leader or is_ready(group.leader)


def _nodes(look: Look, whole: LeaderWorkerSet, leader: Object) -> dict[str, str] | None:
    """Where workers must go to be with their leader; None while nobody knows."""
    topology = whole.annotations.get(keys.EXCLUSIVE_KEY)
    if topology is None:
        return {}
    node = look.find(NODE, leader["spec"].get("nodeName") or "")
    value = "" if node is None else label(node, topology)
    return {topology: value} if value else None


def _has_restarted(pod: Object) -> bool:
    status = pod.get("status") or {}
    listed = ("initContainerStatuses", "containerStatuses")
    found = [each for part in listed for each in status.get(part) or ()]
    lives = phase(pod) in ("Running", "Pending")
    return lives and any(each.get("restartCount") for each in found)


def _called(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _set_of(obj: Object) -> list[Key]:
    """Whom a pod or StatefulSet belongs to in the end."""
    name = label(obj, keys.NAME_KEY)
    return [Key(str(obj["metadata"].get("namespace") or ""), name)] if name else []


OPERATOR = Operator(
    "leaderworkerset",
    LEADER_WORKER_SET,
    decide,
    owns=(STATEFUL_SET, SERVICE, CONTROLLER_REVISION, POD),
    reads=(by_name(POD, _set_of), by_name(STATEFUL_SET, _set_of), nobody(NODE)),
    manager=MANAGER,
    refused=refused,
)

WEBHOOKS = (leader_worker_webhook.WEBHOOK, leader_worker_pods.WEBHOOK)
