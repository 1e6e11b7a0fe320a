"""Keeps flavors, checks and topologies for as long as something uses them."""

from collections.abc import Callable, Iterable

from fleetqueue.admission import kinds
from fleetqueue.admission.ledger import Ledger
from fleetqueue.api.kueue.labels import RESOURCE_IN_USE_FINALIZER
from fleetqueue.api.meta import Key
from fleetqueue.kube import finalizers
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Patch, Plan
from fleetqueue.kube.resources import Object, Resource


def flavor_operator(ledger: Ledger) -> Operator:
    """The finalizer of a flavor is set by its webhook; somebody may have taken it away since."""
    return _keeper(
        "kueue-resourceflavor-controller",
        kinds.RESOURCE_FLAVOR,
        lambda name: bool(ledger.queues_with_flavor(name)),
        Follow(kinds.CLUSTER_QUEUE, lambda source, obj: _flavors(obj)),
    )


def check_operator(ledger: Ledger) -> Operator:
    return _keeper(
        "kueue-admissioncheck-controller",
        kinds.ADMISSION_CHECK,
        lambda name: bool(ledger.queues_with_check(name)),
        Follow(kinds.CLUSTER_QUEUE, lambda source, obj: _checks(obj)),
    )


def topology_operator(ledger: Ledger) -> Operator:
    def is_used(name: str) -> bool:
        return any(flavor.topology == name for flavor in ledger.state.flavors.values())

    return _keeper(
        "kueue-topology-controller",
        kinds.TOPOLOGY,
        is_used,
        Follow(kinds.RESOURCE_FLAVOR, lambda source, obj: _topology(obj)),
    )


def _keeper(name: str, kind: Resource, is_used: Callable[[str], bool], follow: Follow) -> Operator:
    def decide(look: Look) -> Plan:
        return kept(look, is_used) or NOTHING

    return Operator(
        name, kind, decide, follows=(follow,), manager="kueue", decides_deletion=True, workers=1
    )


def kept(look: Look, is_used: Callable[[str], bool]) -> Plan | None:
    """What makes it stay until nothing uses it any more; None: it is as it should be."""
    patch = None
    if not is_deleting(look.parent):
        patch = finalizers.added(look.parent, RESOURCE_IN_USE_FINALIZER)
    elif not is_used(look.name):
        patch = finalizers.removed(look.parent, RESOURCE_IN_USE_FINALIZER)
    return None if patch is None else Plan([Patch(look.parent, patch)])


def _flavors(queue: Object) -> Iterable[Key]:
    groups = (queue.get("spec") or {}).get("resourceGroups") or ()
    return [Key("", each["name"]) for group in groups for each in group.get("flavors") or ()]


def _checks(queue: Object) -> Iterable[Key]:
    strategy = (queue.get("spec") or {}).get("admissionChecksStrategy") or {}
    return [Key("", each["name"]) for each in strategy.get("admissionChecks") or ()]


def _topology(flavor: Object) -> Iterable[Key]:
    name = (flavor.get("spec") or {}).get("topologyName")
    return [Key("", name)] if name else []
