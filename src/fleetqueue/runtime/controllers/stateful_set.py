"""StatefulSets: pods with names and storage of their own, made and replaced in order."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import AlreadyExists, KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator, by_name
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.amounts import rest_seconds, scaled, told
from fleetqueue.runtime.controllers import pod_notes, revisions, stateful_claims
from fleetqueue.runtime.controllers import stateful_pods as pods
from fleetqueue.runtime.kinds import CLAIM, CONTROLLER_REVISION, POD, STATEFUL_SET
from fleetqueue.runtime.ownership import Claimed, adopters, claim

HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(slots=True)
class Sight:
    """One look at a StatefulSet: its pods by ordinal, and the two revisions it is between."""

    look: Look
    pods: list[Object]
    history: list[Object]
    current: Object
    update: Object
    collisions: int
    steps: list[Step] = field(default_factory=list)
    kept: list[Object] = field(default_factory=list)
    """By ordinal, those that should be: as they are, or as they will be made."""
    condemned: list[Object] = field(default_factory=list)
    """Those beyond the range, the highest ordinal first."""

    @property
    def parent(self) -> Object:
        return self.look.parent

    @property
    def ready_seconds_min(self) -> int:
        return int(self.parent["spec"].get("minReadySeconds") or 0)

    @property
    def is_ordered(self) -> bool:
        return bool(self.parent["spec"].get("podManagementPolicy") != "Parallel")

    def is_unavailable(self, pod: Object) -> bool:
        return pods.is_unavailable(pod, self.ready_seconds_min, self.look.now)

    def is_waiting(self, pod: Object) -> bool:
        """Whether it is not yet what the next one in order waits for."""
        return self.is_unavailable(pod) or not pods.is_running_and_ready(pod)


def decide(look: Look) -> Plan:
    selector = look.parent["spec"]["selector"]
    name = look.name
    claimed = claim(look, POD, selector, lambda pod: pods.parent_name(pod) == name)
    sight = _see(look, claimed, claim(look, CONTROLLER_REVISION, selector, releases=False))
    rolled = 0
    if not is_deleting(look.parent):
        is_settled = _keep(sight) and _condemn(sight)
        if (
            is_settled
            and (look.parent["spec"].get("updateStrategy") or {}).get("type") != "OnDelete"
        ):
            rolled = _roll(sight)
    plan = Plan(sight.steps)
    plan.add(Status(_describe(sight, rolled)))
    plan.add(*_forget(sight))
    _wait_for_availability(sight, plan)
    return plan


def created(look: Look, obj: Object) -> Plan:
    name = obj["metadata"]["name"]
    if obj["kind"] == "Pod":
        message = f"create Pod {name} in StatefulSet {look.name} successful"
        return Plan([Note("SuccessfulCreate", message)])
    if obj["kind"] == "PersistentVolumeClaim":
        pod = _pod_of_claim(look, name)
        message = f"create Claim {name} Pod {pod} in StatefulSet {look.name} success"
        return Plan([Note("SuccessfulCreate", message)])
    return Plan()


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    if isinstance(error, AlreadyExists) or pod_notes.is_namespace_ending(error):
        return Plan()
    assert isinstance(step, Create | Delete)
    verb = "create" if isinstance(step, Create) else "delete"
    name, kind = step.obj["metadata"]["name"], step.obj["kind"]
    if kind not in ("Pod", "PersistentVolumeClaim"):
        return Plan()
    reason = f"Failed{verb.capitalize()}"
    pod = name if kind == "Pod" else _pod_of_claim(look, name)
    notes: list[Step] = []
    if kind == "PersistentVolumeClaim":
        what = f"{verb} Claim {name} for Pod {pod} in StatefulSet {look.name} failed error: {error}"
        notes.append(Note(reason, what, "Warning"))
        error = KubeError(f"failed to create PVC {name}: {error}")
    message = f"{verb} Pod {pod} in StatefulSet {look.name} failed error: {error}"
    return Plan([*notes, Note(reason, message, "Warning"), *_status_now(look)])


# What is there


def _see(look: Look, claimed: Claimed, history: Claimed) -> Sight:
    known = revisions.in_order(history.objects)
    update, collisions, steps = _update_revision(look, known)
    status = look.parent.get("status") or {}
    current = next(
        (each for each in known if each["metadata"]["name"] == status.get("currentRevision")),
        update,
    )
    sight = Sight(look, claimed.objects, known, current, update, collisions)
    sight.steps += [*claimed.steps, *history.steps, *steps]
    by_ordinal = {pods.ordinal(pod): pod for pod in claimed.objects}
    start = pods.first_ordinal(look.parent)
    for number in range(start, start + pods.replicas(look.parent)):
        is_there = number in by_ordinal
        sight.kept.append(by_ordinal.pop(number) if is_there else _new_pod(sight, number))
    sight.condemned = [by_ordinal[number] for number in sorted(by_ordinal, reverse=True)]
    return sight


def _update_revision(look: Look, known: list[Object]) -> tuple[Object, int, list[Step]]:
    """The revision of the template as it is now, renumbered or new where need be."""
    collisions = int((look.parent.get("status") or {}).get("collisionCount") or 0)
    equal = [each for each in known if revisions.is_of(each, look.parent)]
    if equal:
        found = equal[-1]
        if revisions.is_of(known[-1], look.parent):
            return known[-1], collisions, []
        number = revisions.next_number(known)
        return found, collisions, [Patch(found, {"revision": number})]
    while True:
        hashed = revisions.hash_of(look.parent, collisions)
        other = look.find(CONTROLLER_REVISION, revisions.name_of(look.parent, hashed))
        if other is None:
            break
        collisions += 1
    number = revisions.next_number(known)
    made = revisions.new_revision(look.parent, number, hashed, HASH_LABEL)
    return made, collisions, [Create(made)]


def _new_pod(sight: Sight, number: int) -> Object:
    """Of the current revision where a partition, or an update under way, keeps it there."""
    parent = sight.parent
    strategy = parent["spec"].get("updateStrategy") or {}
    start, rolling = pods.first_ordinal(parent), strategy.get("rollingUpdate")
    held = 0
    if rolling is not None:
        held = rolling.get("partition") or 0
    elif strategy.get("type") == "RollingUpdate":
        held = (parent.get("status") or {}).get("currentReplicas") or 0
    revision = sight.current if number < start + held else sight.update
    template = revisions.template_of(revision)
    return pods.new_pod(parent, template, revision["metadata"]["name"], number)


# What to do


def _keep(sight: Sight) -> bool:
    """Makes and mends those that should be; False where the rest has to wait."""
    claims: list[Step] = []
    made: list[Step] = []
    is_settled = True
    for pod in sight.kept:
        goes_on = _keep_one(sight, pod, claims, made)
        if not goes_on and sight.is_ordered:
            is_settled = False
            break
    # All claims first: a pod should find its own when it starts.
    sight.steps += [*claims, *made]
    return is_settled


def _keep_one(sight: Sight, pod: Object, claims: list[Step], made: list[Step]) -> bool:
    """True where the next one in order may be looked at."""
    number = pods.ordinal(pod)
    if pod_facts.is_terminal(pod):
        if not is_deleting(pod):
            made += _delete(sight, pod)
        return False
    if not pods.is_created(pod):
        _make(sight, pod, claims, made)
        return False
    if pod_facts.phase(pod) == "Pending":
        claims += stateful_claims.missing(sight.look, number)
        claims += stateful_claims.retained(sight.look, pod)
    if sight.is_waiting(pod) and sight.is_ordered:
        return False
    made += _mend(sight, pod)
    return True


def _make(sight: Sight, pod: Object, claims: list[Step], made: list[Step]) -> None:
    number = pods.ordinal(pod)
    if stateful_claims.is_stale(sight.look, number):
        return
    going = stateful_claims.going(sight.look, number)
    if going:
        what = f"create Pod {pod['metadata']['name']} in StatefulSet {sight.look.name}"
        message = f"{what} failed error: pvc {going[0]} is being deleted"
        made.append(Note("FailedCreate", message, "Warning"))
        return
    claims += stateful_claims.missing(sight.look, number)
    made.append(Create(pod))


def _mend(sight: Sight, pod: Object) -> list[Step]:
    """A pod gets its identity back, and its claims the owners that the policy asks for."""
    name = pod["metadata"]["name"]
    labels = pod["metadata"].get("labels") or {}
    steps: list[Step] = []
    if pod_facts.phase(pod) != "Pending":
        steps += stateful_claims.retained(sight.look, pod)
    if labels.get(pods.POD_NAME_LABEL) != name:
        wanted = pods.identity(name, pods.ordinal(pod))
        steps.append(Patch(pod, {"metadata": {"labels": wanted}}))
    if any(isinstance(step, Patch) for step in steps):
        message = f"update Pod {name} in StatefulSet {sight.look.name} successful"
        steps.append(Note("SuccessfulUpdate", message))
    return steps


def _condemn(sight: Sight) -> bool:
    """Takes away those beyond the range, one by one where order is kept."""
    for pod in sight.condemned:
        sight.steps += stateful_claims.retained(sight.look, pod)
    sick = [pod for pod in [*sight.kept, *reversed(sight.condemned)] if sight.is_unavailable(pod)]
    going: list[Object] = []
    for pod in sight.condemned:
        is_first_sick = any(pod is each for each in sick[:1])
        must_wait = is_deleting(pod) or (sight.is_waiting(pod) and not is_first_sick)
        if sight.is_ordered and must_wait:
            return False
        if not is_deleting(pod):
            going.append(pod)
            if sight.is_ordered:
                break
    for pod in going:
        sight.steps += _delete(sight, pod)
    return not (going and sight.is_ordered)


def _roll(sight: Sight) -> int:
    """Takes away outdated pods from the highest ordinal down; how many."""
    rolling = (sight.parent["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    targets = list(reversed(sight.kept[int(rolling.get("partition") or 0) :]))
    if rolling.get("maxUnavailable") is not None:
        return _roll_several(sight, targets, rolling["maxUnavailable"])
    for pod in targets:
        if _is_outdated(sight, pod):
            sight.steps += _delete(sight, pod)
            return 1
        if sight.is_unavailable(pod):
            return 0
    return 0


def _roll_several(sight: Sight, targets: list[Object], amount: Any) -> int:
    allowed = max(scaled(amount, pods.replicas(sight.parent), up=False), 1)
    allowed -= sum(sight.is_unavailable(pod) for pod in sight.kept)
    going = [pod for pod in targets if _is_outdated(sight, pod)][: max(allowed, 0)]
    for pod in going:
        sight.steps += _delete(sight, pod)
    return len(going)


def _is_outdated(sight: Sight, pod: Object) -> bool:
    is_other = pods.revision(pod) != sight.update["metadata"]["name"]
    return is_other and not is_deleting(pod) and pods.is_created(pod)


def _delete(sight: Sight, pod: Object) -> list[Step]:
    name = pod["metadata"]["name"]
    message = f"delete Pod {name} in StatefulSet {sight.look.name} successful"
    return [Delete(pod), Note("SuccessfulDelete", message)]


def _forget(sight: Sight) -> list[Step]:
    """Revisions that nothing uses, beyond the limit, the oldest first."""
    used = {pods.revision(pod) for pod in sight.pods}
    used |= {sight.current["metadata"]["name"], sight.update["metadata"]["name"]}
    unused = [each for each in sight.history if each["metadata"]["name"] not in used]
    limit = sight.parent["spec"].get("revisionHistoryLimit", 10)
    return [Delete(each) for each in unused[: max(len(unused) - limit, 0)]]


# What to say


def _describe(sight: Sight, rolled: int) -> Object:
    """The status; pods taken away for the update in this look are no longer current."""
    there = [pod for pod in sight.pods if pods.is_created(pod)]
    ready = [pod for pod in there if pods.is_running_and_ready(pod)]
    wait, now = sight.ready_seconds_min, sight.look.now
    staying = [pods.revision(pod) for pod in there if not is_deleting(pod)]
    current, update = sight.current["metadata"]["name"], sight.update["metadata"]["name"]
    status = {
        "observedGeneration": sight.parent["metadata"].get("generation"),
        "replicas": len(there),
        "readyReplicas": len(ready),
        "currentReplicas": staying.count(current) - rolled,
        "updatedReplicas": staying.count(update),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": sight.collisions,
        "availableReplicas": sum(pod_facts.is_available(pod, wait, now) for pod in ready),
    }
    strategy = sight.parent["spec"].get("updateStrategy") or {}
    counts = {status[name] for name in ("updatedReplicas", "readyReplicas", "replicas")}
    if strategy.get("type") == "RollingUpdate" and counts == {pods.replicas(sight.parent)}:
        status["currentReplicas"] = status["updatedReplicas"]
        status["currentRevision"] = update
    return told(status, "replicas", "availableReplicas", "collisionCount")


def _status_now(look: Look) -> list[Step]:
    plan = decide(look)
    return [step for step in plan.steps if isinstance(step, Status)]


def _wait_for_availability(sight: Sight, plan: Plan) -> None:
    for pod in sight.pods:
        left = pod_facts.available_in(pod, sight.ready_seconds_min, sight.look.now)
        if left is not None:
            plan.look_again(left)


def _pod_of_claim(look: Look, name: str) -> str:
    for template in look.parent["spec"].get("volumeClaimTemplates") or ():
        prefix = f"{template['metadata']['name']}-"
        if name.startswith(f"{prefix}{look.name}-"):
            return name[len(prefix) :]
    return name


def _sets_of_claim(obj: Object) -> Iterable[Key]:
    """A claim that is gone or gets owners may let a pod be made: its set is in its name."""
    metadata = obj["metadata"]
    parts = str(metadata["name"]).split("-")[:-1]
    return [
        Key(metadata.get("namespace") or "", "-".join(parts[start:]))
        for start in range(1, len(parts))
    ]


OPERATOR = Operator(
    "statefulset-controller",
    STATEFUL_SET,
    decide,
    owns=(POD, CONTROLLER_REVISION),
    reads=(by_name(CLAIM, _sets_of_claim),),
    follows=(Follow(POD, adopters(STATEFUL_SET)),),
    manager="kube-controller-manager",
    decides_deletion=True,
    created=created,
    refused=refused,
    rest=lambda look: rest_seconds(len(look.owned_by(look.parent, POD))),
)
