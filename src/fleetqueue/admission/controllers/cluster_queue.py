"""Tells each ClusterQueue whether it may admit and how much it holds; lets it go when empty."""

from collections.abc import Callable, Iterable

from fleetqueue.admission import counting, kinds
from fleetqueue.admission.controllers.in_use import kept
from fleetqueue.admission.controllers.sharing import follow_shares
from fleetqueue.admission.controllers.workload import is_other
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.pacing import Pace, told
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import Look, Plan
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.queueing import fairness

NAME = "kueue-clusterqueue-controller"


def cluster_queue_operator(ledger: Ledger, pace: Pace) -> Operator:
    def decide(look: Look) -> Plan:
        return kept(look, lambda name: bool(ledger.state.holders.get(name))) or told(
            pace, (NAME, look.name), look.parent, describe(ledger, look)
        )

    def later(key: Key) -> float:
        return pace.after((NAME, key.name))

    def of_workload(source: Source, obj: Object) -> Iterable[Key]:
        return [Key("", name) for name in queues_of(ledger, obj)]

    def of_local(source: Source, obj: Object) -> Iterable[Key]:
        name = (obj.get("spec") or {}).get("clusterQueue")
        return [Key("", name)] if name else []

    def using(kind: Resource, find: Callable[[str], list[str]]) -> Follow:
        def parents(source: Source, obj: Object) -> Iterable[Key]:
            return [Key("", name) for name in find(obj["metadata"]["name"])]

        return Follow(kind, parents)

    return Operator(
        NAME,
        kinds.CLUSTER_QUEUE,
        decide,
        follows=(
            Follow(kinds.WORKLOAD, of_workload, after=later),
            Follow(kinds.LOCAL_QUEUE, of_local, when=is_other, after=later),
            using(kinds.RESOURCE_FLAVOR, ledger.queues_with_flavor),
            using(kinds.ADMISSION_CHECK, ledger.queues_with_check),
            using(kinds.TOPOLOGY, ledger.queues_with_topology),
            *follow_shares(ledger, ledger.state.tree.queues_below, later),
        ),
        manager="kueue",
        decides_deletion=True,
        workers=5,
    )


def queues_of(ledger: Ledger, workload: Object) -> set[str]:
    """The queue that it holds quota of, and the one that it waits in."""
    admission = (workload.get("status") or {}).get("admission") or {}
    name = (workload.get("spec") or {}).get("queueName") or ""
    local = ledger.local_queues.get(Key(key_of(workload).namespace, name))
    found = {str(admission.get("clusterQueue") or ""), local.cluster_queue if local else ""}
    return found - {""}


def describe(ledger: Ledger, look: Look) -> Object:
    """The whole status."""
    before: Object = look.parent.get("status") or {}
    queue = ledger.state.queues.get(look.name)
    generation = int(look.parent["metadata"].get("generation") or 0)
    activity = ledger.activity(look.name)
    made: Object = {"conditions": counting.active_condition(before, activity, generation, look.now)}
    if queue is None:
        return {**before, **made}
    holders = list(ledger.holders(look.name))
    admitted = [each for each in holders if each.is_admitted]
    node = ledger.state.node(look.name)
    reserved = counting.flavor_usage(queue, node.usage, tells_borrowed=True)
    used = counting.flavor_usage(queue, counting.used_by(admitted), tells_borrowed=True)
    made |= {
        "pendingWorkloads": ledger.counts(look.name).pending,
        "reservingWorkloads": len(holders),
        "admittedWorkloads": len(admitted),
    }
    if reserved:
        made |= {"flavorsReservation": reserved, "flavorsUsage": used}
    if ledger.settings.fair_sharing is not None:
        made["fairSharing"] = {"weightedShare": fairness.share(node).reported}
    return made
