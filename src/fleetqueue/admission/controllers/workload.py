"""Takes every workload through its life, one step at a time."""

from collections.abc import Iterable
from dataclasses import replace

from fleetqueue.admission import kinds, lifecycle
from fleetqueue.admission.check_lists import RESERVED_WITHIN, CheckLists
from fleetqueue.admission.facts import Facts, Place
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.life_settings import LifeSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Look, Plan
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.queueing.model import ClusterQueue

NAME = "kueue-workload-controller"
MANAGER = "kueue"
WORKERS = 10


def workload_operator(ledger: Ledger, settings: LifeSettings, lists: CheckLists) -> Operator:
    def decide(look: Look) -> Plan:
        facts = facts_of(ledger, look.parent)
        is_left = lists.are_left(look.parent, facts)
        if is_left:
            facts = replace(facts, checks=None)
        plan = lifecycle.decide(look.parent, facts, settings, look.now)
        if is_left:
            plan.look_again(RESERVED_WITHIN.total_seconds())
        return plan

    def of_local(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.named(key_of(obj))

    def of_queue(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.of_queue(obj["metadata"]["name"])

    def of_template(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.devices.users(key_of(obj))

    follows = [
        Follow(kinds.LOCAL_QUEUE, of_local, when=is_other),
        Follow(kinds.CLUSTER_QUEUE, of_queue, when=matters),
    ]
    if ledger.devices.rules.has_mappings:
        follows.append(Follow(kinds.RESOURCE_CLAIM_TEMPLATE, of_template))
    return Operator(
        NAME,
        kinds.WORKLOAD,
        decide,
        follows=tuple(follows),
        manager=MANAGER,
        decides_deletion=True,
        tells_action=True,
        workers=WORKERS,
    )


def facts_of(ledger: Ledger, workload: Object) -> Facts:
    local = local_place(ledger, workload)
    known = ledger.local_queues.get(Key(key_of(workload).namespace, local.name))
    name = "" if known is None else known.cluster_queue
    if status.has_quota(workload):
        name = str((workload["status"].get("admission") or {}).get("clusterQueue") or name)
    queue = ledger.state.queues.get(name)
    is_waiting = not status.has_quota(workload)
    pending, is_parent = ledger.pending.get(name), ledger.is_parent(workload)
    return Facts(
        local=local,
        queue=queue_place(ledger, name),
        checks=None if queue is None or is_parent else checks_for(queue, workload),
        problem=ledger.problem(workload, name) if queue is not None and is_waiting else "",
        refusal=ledger.refusal(workload) if is_waiting else None,
        bypassed=None if pending is None else pending.why_bypassed(key_of(workload)),
    )


def local_place(ledger: Ledger, workload: Object) -> Place:
    name = (workload.get("spec") or {}).get("queueName") or ""
    known = ledger.local_queues.get(Key(key_of(workload).namespace, name))
    if known is None:
        return Place(name)
    return Place(name, True, not known.is_stopped, known.is_terminating, known.stop_policy)


def queue_place(ledger: Ledger, name: str) -> Place:
    queue, node = ledger.state.queues.get(name), ledger.state.tree.queues.get(name)
    if queue is None or node is None:
        return Place(name)
    # A cycle of cohorts keeps it from being scheduled, while its own condition stays as it is.
    is_tried = ledger.is_active(name) and not ledger.state.tree.has_cycle(node)
    return Place(name, True, is_tried, name in ledger.terminating, queue.stop_policy)


def checks_for(queue: ClusterQueue, workload: Object) -> tuple[str, ...]:
    """Before it has flavors, the checks that are for all of them; then those for what it got."""
    flavors = {name for group in queue.groups for name in group.flavors}
    if not status.has_quota(workload):
        rules = [rule for rule in queue.checks if rule.flavors is None or rule.flavors >= flavors]
        return tuple(rule.name for rule in rules)
    assigned = {
        flavor
        for each in status.assignments_of(workload)
        for flavor in (each.get("flavors") or {}).values()
    }
    return tuple(
        rule.name
        for rule in queue.checks
        if rule.flavors is None or not rule.flavors.isdisjoint(assigned)
    )


def is_other(old: Object | None, new: Object | None) -> bool:
    """Its spec, or its end."""
    if old is None or new is None or old.get("spec") != new.get("spec"):
        return True
    before, after = (each["metadata"].get("deletionTimestamp") for each in (old, new))
    return bool(before != after)


def matters(old: Object | None, new: Object | None) -> bool:
    """Its spec, its end, or whether it is active; its counters do not matter."""
    if old is None or new is None or is_other(old, new):
        return True
    return _active(old) != _active(new)


def _active(obj: Object) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((str(each["status"]) for each in conditions if each["type"] == "Active"), "")
