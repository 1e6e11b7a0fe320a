"""Keeps a snapshot of every state that an override had, the newest of them marked, and takes them
away with the override.
"""

from collections.abc import Iterable
from functools import partial

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import override_snapshots
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.kube import finalizers
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.plan import Create, Delete, Look, Patch, Plan, child
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.metrics.registry import Metrics

SNAPSHOTS = {
    kinds.CLUSTER_OVERRIDE: kinds.CLUSTER_OVERRIDE_SNAPSHOT,
    kinds.OVERRIDE: kinds.OVERRIDE_SNAPSHOT,
}
"""By the kind of the override."""


def install(manager: Manager, settings: HubSettings, metrics: Metrics) -> None:
    for operator in operators():
        manager.add(controller_of(operator)(manager.cluster))


def operators() -> Iterable[Operator]:
    for kind, snapshot in SNAPSHOTS.items():
        yield Operator(
            f"{kind.kind.lower()}-controller",
            kind,
            partial(decide, snapshot),
            owns=(snapshot,),
            manager=labels.OVERRIDE_MANAGER,
            decides_deletion=True,
        )


def decide(snapshot: Resource, look: Look) -> Plan:
    override = look.parent
    existing = look.owned(snapshot)
    if finalizers.is_deleting(override):
        return _removal(override, existing)
    plan = Plan()
    if patch := finalizers.added(override, labels.OVERRIDE_FINALIZER):
        plan.add(Patch(override, patch))
    steps = override_snapshots.plan(override["spec"], existing)
    for each in steps.unmark:
        plan.add(_marked(each, is_latest=False))
    plan.add(*(Delete(each) for each in steps.drop))
    if steps.mark is not None:
        plan.add(_marked(steps.mark, is_latest=True))
    if steps.index is not None:
        plan.add(Create(_made(snapshot, override, steps.index)))
    return plan


def _removal(override: Object, existing: list[Object]) -> Plan:
    """The newest goes last: until then it says what the override said."""
    if existing:
        ordered = sorted(existing, key=override_snapshots.index_of)
        return Plan([Delete(each) for each in ordered])
    patch = finalizers.removed(override, labels.OVERRIDE_FINALIZER)
    return Plan([Patch(override, patch)] if patch else [])


def _made(snapshot: Resource, override: Object, index: int) -> Object:
    spec = override["spec"]
    return child(
        snapshot,
        override,
        override_snapshots.metadata(override["metadata"]["name"], index),
        spec={"overrideSpec": spec, "overrideHash": override_snapshots.spec_hash(spec)},
    )


def _marked(snapshot: Object, *, is_latest: bool) -> Patch:
    marks = {labels.IS_LATEST_SNAPSHOT: "true" if is_latest else "false"}
    return Patch(snapshot, {"metadata": {"labels": marks}})
