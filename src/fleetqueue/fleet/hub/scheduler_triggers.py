"""What makes the scheduler choose again for which placement; found by indexes, so that a change of
a member costs no more than the placements that it concerns.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.meta import Key
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import bindings, snapshots
from fleetqueue.fleet.decide.scheduling import reading
from fleetqueue.fleet.hub.both_scopes import belonging
from fleetqueue.fleet.kinds import Scope
from fleetqueue.kube import finalizers
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import Watch
from fleetqueue.kube.resources import Object, key_of

READ_BY = "what the policy reads of clusters"
PLACE = "placement and cluster"


def watches(cluster: Cluster, scope: Scope) -> Sequence[Watch]:
    """By policy snapshots and bindings."""

    def is_for_us(old: Object | None, new: Object | None) -> bool:
        return _goes(old, new) or _is_orphan(cluster, scope, old, new)

    return (belonging(scope.policy_snapshot, _asks_anew), belonging(scope.binding, is_for_us))


def listen(cluster: Cluster, scopes: Sequence[Scope], wake: Callable[[Key], None]) -> None:
    """By members: each is compared with what it was, and wakes whoever reads the difference."""
    for scope in scopes:
        cluster.informer(scope.policy_snapshot, indexes={READ_BY: reading.read_by})
        cluster.informer(scope.binding, indexes={PLACE: _place})

    def changed(old: Any, new: Any) -> None:
        for aspect in reading.changes(old, new, cluster.clock.now()):
            for key in _concerned(cluster, scopes, aspect, key_of(new or old).name):
                wake(key)

    cluster.informer(kinds.MEMBER_CLUSTER).listen(changed)


def _concerned(
    cluster: Cluster, scopes: Sequence[Scope], aspect: str, member: str
) -> Iterable[Key]:
    for scope in scopes:
        for snapshot in cluster.cached_by(scope.policy_snapshot, READ_BY, aspect):
            key = Key(key_of(snapshot).namespace, snapshots.placement_of(snapshot))
            is_open = aspect in reading.RARE or reading.judges_placed(snapshot)
            if is_open or not _is_placed(cluster, scope, key, member):
                yield key


def _is_placed(cluster: Cluster, scope: Scope, key: Key, member: str) -> bool:
    """Whether the placement has that member for good, whatever becomes of it."""
    place = (key.namespace, key.name, member)
    return any(
        not bindings.is_deleting(each) and bindings.state(each) != BindingState.UNSCHEDULED
        for each in cluster.cached_by(scope.binding, PLACE, place)
    )


def _asks_anew(old: Object | None, new: Object | None) -> bool:
    if new is None:
        return False
    return old is None or _question(old) != _question(new)


def _question(snapshot: Object) -> tuple[str, str, bool]:
    return (
        snapshots.annotation(snapshot, labels.NUMBER_OF_CLUSTERS),
        snapshots.annotation(snapshot, labels.PLACEMENT_GENERATION),
        snapshots.is_latest(snapshot),
    )


def _goes(old: Object | None, new: Object | None) -> bool:
    """Whether a binding begins to go, or is gone before anybody saw that."""
    is_going = new is None or finalizers.is_deleting(new)
    return is_going and (old is None or not finalizers.is_deleting(old))


def _is_orphan(cluster: Cluster, scope: Scope, old: Object | None, new: Object | None) -> bool:
    """Whether a binding comes up whose placement is no more, such as after a lost answer."""
    if old is not None or new is None or not _is_ours(new):
        return False
    name, namespace = snapshots.placement_of(new), key_of(new).namespace
    placement = cluster.cached(scope.placement, name, namespace)
    return placement is None or finalizers.is_deleting(placement)


def _is_ours(binding: Object) -> bool:
    return labels.BINDING_FINALIZER in finalizers.finalizers_of(binding)


def _place(binding: Any) -> Iterable[tuple[str, str, str]]:
    namespace, name = key_of(binding).namespace, snapshots.placement_of(binding)
    return [(namespace, name, bindings.target_cluster(binding))]
