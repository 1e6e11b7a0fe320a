"""Tells each Cohort its share, where shares count."""

from collections.abc import Iterable

from fleetqueue.admission import kinds
from fleetqueue.admission.controllers.cluster_queue import queues_of
from fleetqueue.admission.controllers.sharing import follow_shares
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.pacing import Pace
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Plan, Status
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.queueing import fairness
from fleetqueue.queueing.quota import Node

NAME = "kueue-cohort-controller"


def cohort_operator(ledger: Ledger, pace: Pace) -> Operator:
    def decide(look: Look) -> Plan:
        before: Object = look.parent.get("status") or {}
        node = ledger.state.tree.cohorts.get(look.name)
        if ledger.settings.fair_sharing is None or node is None:
            rest = {name: value for name, value in before.items() if name != "fairSharing"}
            return NOTHING if rest == before else Plan([Status(rest)])
        if ledger.state.tree.has_cycle(node):
            return NOTHING
        made = {**before, "fairSharing": share_of(ledger, look.name)}
        if made != before:
            pace.wrote((NAME, look.name))
        return Plan([Status(made)])

    def later(key: Key) -> float:
        return pace.after((NAME, key.name))

    def above(source: Source, obj: Object) -> Iterable[Key]:
        found = {
            node.name
            for name in queues_of(ledger, obj)
            if name in ledger.state.queues
            for node in _above(ledger, name)
        }
        return [Key("", name) for name in sorted(found)]

    def below(root: Node) -> Iterable[Node]:
        return [node for node in ledger.state.tree.cohorts.values() if node.root is root]

    return Operator(
        NAME,
        kinds.COHORT,
        decide,
        follows=(
            Follow(kinds.WORKLOAD, above, after=later),
            *follow_shares(ledger, below, later),
        ),
        manager="kueue",
        workers=1,
    )


def share_of(ledger: Ledger, name: str) -> Object:
    return {"weightedShare": fairness.share(ledger.state.tree.cohorts[name]).reported}


def _above(ledger: Ledger, queue: str) -> list[Node]:
    node = ledger.state.node(queue)
    return [] if ledger.state.tree.has_cycle(node) else list(node.ancestry())[1:]
