"""Tells each LocalQueue how much it holds and whether it may submit."""

from collections.abc import Iterable

from fleetqueue.admission import counting, kinds
from fleetqueue.admission.activity import Activity
from fleetqueue.admission.controllers.workload import matters
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.pacing import Pace, told
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Look, Plan
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source

NAME = "kueue-localqueue-controller"
READY = Activity(True, "Ready", "Can submit new workloads to localQueue")
STOPPED = Activity(False, "Stopped", "LocalQueue is stopped")
_CANNOT = "Can't submit new workloads to clusterQueue"
NO_QUEUE = Activity(False, "ClusterQueueDoesNotExist", _CANNOT)
INACTIVE_QUEUE = Activity(False, "ClusterQueueIsInactive", _CANNOT)


def local_queue_operator(ledger: Ledger, pace: Pace) -> Operator:
    def decide(look: Look) -> Plan:
        plan = told(pace, (NAME, key_of(look.parent)), look.parent, describe(ledger, look))
        if ledger.usage is not None:
            plan.look_again(ledger.usage.settings.sampling.total_seconds())
        return plan

    def later(key: Key) -> float:
        return pace.after((NAME, key))

    def of_workload(source: Source, obj: Object) -> Iterable[Key]:
        name = (obj.get("spec") or {}).get("queueName") or ""
        return [Key(key_of(obj).namespace, name)] if name else []

    def of_queue(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.locals_of(obj["metadata"]["name"])

    return Operator(
        NAME,
        kinds.LOCAL_QUEUE,
        decide,
        follows=(
            Follow(kinds.WORKLOAD, of_workload, after=later),
            Follow(kinds.CLUSTER_QUEUE, of_queue, when=matters),
        ),
        manager="kueue",
        workers=5,
    )


def judge(ledger: Ledger, parent: Object) -> Activity:
    spec = parent.get("spec") or {}
    if (spec.get("stopPolicy") or "None") != "None":
        return STOPPED
    name = spec.get("clusterQueue") or ""
    if name not in ledger.state.queues:
        return NO_QUEUE
    return READY if ledger.is_active(name) else INACTIVE_QUEUE


def describe(ledger: Ledger, look: Look) -> Object:
    """The whole status."""
    before: Object = look.parent.get("status") or {}
    generation = int(look.parent["metadata"].get("generation") or 0)
    activity = judge(ledger, look.parent)
    made: Object = {"conditions": counting.active_condition(before, activity, generation, look.now)}
    local = key_of(look.parent)
    if ledger.usage is not None:
        made["fairSharing"] = ledger.usage.sample(local, before.get("fairSharing"))
    queue = ledger.state.queues.get((look.parent.get("spec") or {}).get("clusterQueue") or "")
    holders = [] if queue is None else ledger.local_holders(local)
    admitted = [each for each in holders if each.is_admitted]
    made |= {
        "pendingWorkloads": ledger.local_pending(local),
        "reservingWorkloads": len(holders),
        "admittedWorkloads": len(admitted),
    }
    if queue is not None and queue.groups:
        reserved = counting.used_by(holders)
        used = counting.used_by(admitted)
        made["flavorsReservation"] = counting.flavor_usage(queue, reserved, tells_borrowed=False)
        made["flavorsUsage"] = counting.flavor_usage(queue, used, tells_borrowed=False)
    return made
