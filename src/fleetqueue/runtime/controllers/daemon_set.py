"""DaemonSets: one pod on every node that fits, replaced node by node."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fleetqueue.api.meta import Key
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Create, Delete, Look, Note, Patch, Plan, Status, Step
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.amounts import rest_seconds, told
from fleetqueue.runtime.controllers import daemon_updates, pod_notes, revisions
from fleetqueue.runtime.controllers.daemon_nodes import (
    REVISION_LABEL,
    belongs,
    by_node,
    is_updated,
    new_pod,
)
from fleetqueue.runtime.controllers.daemon_updates import Moves, Update
from fleetqueue.runtime.kinds import CONTROLLER_REVISION, DAEMON_SET, NODE, POD
from fleetqueue.runtime.ownership import adopters, claim

BURST_MAX = 250


@dataclass(slots=True)
class FailureBackoff:
    """How long a failed pod is left on its node: longer with every failure there."""

    base_seconds: float = 1.0
    seconds_max: float = 900.0
    _waits: dict[tuple[str, int, str], tuple[float, datetime]] = field(default_factory=dict)

    def left(self, key: tuple[str, int, str], now: datetime) -> float:
        """The seconds until a failed pod may be deleted; 0 counts as a failure that was dealt
        with now.
        """
        wait, since = self._waits.get(key, (0.0, now))
        if now - since > timedelta(seconds=2 * self.seconds_max):
            wait = 0.0
        left = wait - (now - since).total_seconds()
        if left > 0:
            return left
        self._waits[key] = (min(wait * 2 or self.base_seconds, self.seconds_max), now)
        return 0.0


@dataclass(frozen=True, slots=True)
class DaemonSets:
    """The decision, with its memory of failures."""

    backoff: FailureBackoff

    def decide(self, look: Look) -> Plan:
        parent = look.parent
        if parent["spec"].get("selector") == {}:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            return Plan([Note("SelectingAll", message, "Warning")])
        claimed = claim(look, POD, parent["spec"]["selector"])
        plan = Plan(list(claimed.steps))
        hashed = _revise(look, claimed.objects, plan)
        if hashed is None:
            return plan
        nodes = {node["metadata"]["name"]: node for node in look.source.all(NODE, "")}
        pods = by_node(claimed.objects)
        update = Update(parent, hashed, nodes, pods, look.now)
        moves = self._manage(update, plan)
        is_rolling = (parent["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
        if not moves.going and not moves.nodes and is_rolling:
            moves = daemon_updates.roll(update)
        plan.add(*_steps(update, moves))
        plan.add(Status(describe(update)))
        _wait_for_availability(update, plan)
        return plan

    def _manage(self, update: Update, plan: Plan) -> Moves:
        """Pods that are missing, have ended, or are where they should not be."""
        moves = Moves()
        for name, node in sorted(update.nodes.items()):
            should_run, may_stay = belongs(node, update.parent)
            there = update.pods.get(name)
            if should_run and there is None:
                moves.nodes.append(name)
            elif may_stay:
                running = self._ended(update, name, plan, moves)
                _tidy(update, name, running, should_run, moves)
            else:
                moves.going += [pod for pod in there or () if not is_deleting(pod)]
        for name, pods in update.pods.items():
            if name not in update.nodes:
                moves.going += [pod for pod in pods if not pod_facts.node_name(pod)]
        return moves

    def _ended(self, update: Update, node: str, plan: Plan, moves: Moves) -> list[Object]:
        """Lets the ended ones go; the others that stay are returned."""
        metadata = update.parent["metadata"]
        observed = (update.parent.get("status") or {}).get("observedGeneration") or 0
        running = []
        for pod in update.pods.get(node, ()):
            who = f"{metadata['namespace']}/{pod['metadata']['name']} on node {node}"
            if is_deleting(pod):
                continue
            if pod_facts.phase(pod) == "Failed":
                left = self.backoff.left((metadata["uid"], observed, node), update.now)
                if left:
                    plan.look_again(left)
                    continue
                message = f"Found failed daemon pod {who}, will try to kill it"
                plan.add(Note("FailedDaemonPod", message, "Warning"))
                moves.going.append(pod)
            elif pod_facts.phase(pod) == "Succeeded":
                message = f"Found succeeded daemon pod {who}, will try to delete it"
                plan.add(Note("SucceededDaemonPod", message))
                moves.going.append(pod)
            else:
                running.append(pod)
        return running


def describe(update: Update) -> Object:
    counts = dict.fromkeys(("desired", "current", "misplaced", "ready", "updated", "available"), 0)
    for name, node in update.nodes.items():
        there = update.pods.get(name) or []
        if not belongs(node, update.parent)[0]:
            counts["misplaced"] += bool(there)
            continue
        counts["desired"] += 1
        for pod in there[:1]:
            counts["current"] += 1
            counts["ready"] += pod_facts.is_ready(pod)
            counts["available"] += update.is_available(pod)
            counts["updated"] += is_updated(pod, update.parent, update.hash)
    status = update.parent.get("status") or {}
    made = {
        "currentNumberScheduled": counts["current"],
        "numberMisscheduled": counts["misplaced"],
        "desiredNumberScheduled": counts["desired"],
        "numberReady": counts["ready"],
        "observedGeneration": update.parent["metadata"].get("generation"),
        "updatedNumberScheduled": counts["updated"],
        "numberAvailable": counts["available"],
        "numberUnavailable": counts["desired"] - counts["available"],
        "collisionCount": status.get("collisionCount"),
        "conditions": status.get("conditions"),
    }
    always = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    return told(made, *always, "numberReady")


def refused(look: Look, step: Step, error: KubeError) -> Plan:
    is_pod = isinstance(step, Create | Delete) and step.obj["kind"] == "Pod"
    if not is_pod or pod_notes.is_namespace_ending(error):
        return Plan()
    return Plan([pod_notes.refused(step, error)])


def operator(backoff: FailureBackoff | None = None) -> Operator:
    return Operator(
        "daemonset-controller",
        DAEMON_SET,
        DaemonSets(backoff or FailureBackoff()).decide,
        owns=(POD, CONTROLLER_REVISION),
        follows=(Follow(POD, adopters(DAEMON_SET)), Follow(NODE, _everyone, _matters)),
        manager="kube-controller-manager",
        created=pod_notes.created,
        refused=refused,
        rest=lambda look: rest_seconds(len(look.owned_by(look.parent, POD))),
    )


def _revise(look: Look, pods: list[Object], plan: Plan) -> str | None:
    """The hash of the template as it is now; None where its name is taken by another."""
    claimed = claim(look, CONTROLLER_REVISION, look.parent["spec"]["selector"])
    plan.add(*claimed.steps)
    equal = [each for each in claimed.objects if revisions.is_of(each, look.parent)]
    old = [each for each in claimed.objects if each not in equal]
    number = revisions.next_number(old)
    if not equal:
        return _snapshot(look, number, plan)
    current = revisions.in_order(equal)[-1]
    hashed = str(current["metadata"]["labels"][REVISION_LABEL])
    if current["revision"] < number:
        plan.add(Patch(current, {"revision": number}))
    for each in equal:
        if each is not current:
            plan.add(*_merged(each, hashed, pods))
    plan.add(*_forgotten(look.parent, old, pods))
    return hashed


def _snapshot(look: Look, number: int, plan: Plan) -> str | None:
    collisions = int((look.parent.get("status") or {}).get("collisionCount") or 0)
    hashed = revisions.hash_of(look.parent, collisions)
    if look.find(CONTROLLER_REVISION, revisions.name_of(look.parent, hashed)) is not None:
        status = {**(look.parent.get("status") or {}), "collisionCount": collisions + 1}
        plan.add(Status(status))
        return None
    plan.add(Create(revisions.new_revision(look.parent, number, hashed, REVISION_LABEL)))
    return hashed


def _merged(double: Object, hashed: str, pods: list[Object]) -> list[Step]:
    """Two revisions of one template become one, and the pods follow."""
    theirs = double["metadata"]["labels"].get(REVISION_LABEL)
    relabel = {"metadata": {"labels": {REVISION_LABEL: hashed}}}
    moved = [
        Patch(pod, relabel)
        for pod in pods
        if (pod["metadata"].get("labels") or {}).get(REVISION_LABEL) == theirs
    ]
    return [*moved, Delete(double)]


def _forgotten(parent: Object, old: list[Object], pods: list[Object]) -> list[Step]:
    limit = parent["spec"].get("revisionHistoryLimit", 10)
    used = {(pod["metadata"].get("labels") or {}).get(REVISION_LABEL) for pod in pods}
    surplus = max(len(old) - limit, 0)
    unused = [
        each
        for each in revisions.in_order(old)
        if each["metadata"]["labels"].get(REVISION_LABEL) not in used
    ]
    return [Delete(each) for each in unused[:surplus]]


def _tidy(update: Update, node: str, running: list[Object], should_run: bool, moves: Moves) -> None:
    """One pod for a node; two in an update with surge, while the new one starts."""
    if not daemon_updates.surge_of(update.parent, 1):
        moves.going += running[1:]
        return
    if not running and should_run:
        moves.nodes.append(node)
    new = [pod for pod in running if is_updated(pod, update.parent, update.hash)]
    old = [pod for pod in running if pod not in new]
    moves.going += [*new[1:], *old[1:]]
    if new and old and (not pod_facts.is_ready(old[0]) or update.is_available(new[0])):
        moves.going.append(old[0])


def _steps(update: Update, moves: Moves) -> list[Step]:
    going = moves.going[:BURST_MAX]
    made = [new_pod(update.parent, node, update.hash) for node in moves.nodes[:BURST_MAX]]
    return [
        *(Create(pod) for pod in made),
        *(Delete(pod) for pod in going),
        *(pod_notes.deleted(pod) for pod in going),
    ]


def _wait_for_availability(update: Update, plan: Plan) -> None:
    wait = update.parent["spec"].get("minReadySeconds") or 0
    for pods in update.pods.values():
        for pod in pods:
            left = pod_facts.available_in(pod, wait, update.now)
            if left is not None:
                plan.look_again(left)


def _everyone(source: Source, node: Object) -> Iterable[Key]:
    return [key_of(each) for each in source.all(DAEMON_SET, "")]


def _matters(old: Object | None, new: Object | None) -> bool:
    """Heartbeats of nodes wake nobody."""
    if old is None or new is None:
        return True
    return bool(
        old["metadata"].get("labels") != new["metadata"].get("labels")
        or old.get("spec") != new.get("spec")
    )


OPERATOR = operator()
