"""Whose fair share changes with the quota of a queue or cohort: all that is in its tree."""

from collections.abc import Callable, Iterable, Iterator

from fleetqueue.admission import kinds
from fleetqueue.admission.controllers.workload import matters
from fleetqueue.admission.ledger import Ledger
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.queueing.quota import Node


def follow_shares(
    ledger: Ledger, find: Callable[[Node], Iterable[Node]], after: Callable[[Key], float]
) -> Iterator[Follow]:
    """`find`: those of a tree, given its root, that are to look again. None where shares do not
    count.
    """
    if ledger.settings.fair_sharing is None:
        return

    def sharing(source: Source, obj: Object) -> Iterable[Key]:
        cohorts = ledger.state.tree.cohorts
        named = (cohorts[name] for name in _cohorts(obj) if name in cohorts)
        roots = {node.root for node in named if not ledger.state.tree.has_cycle(node)}
        return sorted({Key("", each.name) for root in roots for each in find(root)})

    for kind in (kinds.CLUSTER_QUEUE, kinds.COHORT):
        yield Follow(kind, sharing, when=matters, after=after)


def _cohorts(obj: Object) -> Iterator[str]:
    """The one it is in, and the one that it is."""
    spec = obj.get("spec") or {}
    yield str(spec.get("cohortName") or spec.get("parentName") or "")
    if obj["kind"] == kinds.COHORT.kind:
        yield str(obj["metadata"]["name"])
