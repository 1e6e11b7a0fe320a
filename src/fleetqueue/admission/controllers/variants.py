"""Keeps the variants of workloads whose queues try several flavors at once."""

from collections.abc import Iterable

from fleetqueue.admission import kinds, variants
from fleetqueue.admission.controllers.workload import MANAGER, WORKERS
from fleetqueue.admission.family import Family
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.life_settings import LifeSettings
from fleetqueue.api.meta import Key
from fleetqueue.kube.frame import Follow, Operator
from fleetqueue.kube.plan import NOTHING, Look, Plan
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.kube.sources import Source
from fleetqueue.queueing.model import ClusterQueue

NAME = "kueue-concurrent-admission-controller"


def variant_operator(ledger: Ledger, settings: LifeSettings) -> Operator:
    """Woken by a workload, by its variants, and by the queues that say which flavors there are."""

    def decide(look: Look) -> Plan:
        if not ledger.is_parent(look.parent):
            return NOTHING
        found = look.owned(kinds.WORKLOAD)
        queue = _queue_of(ledger, look.parent)
        length = settings.workload_name_length_max
        return variants.decide(
            Family(look.parent, found, queue, look.now, settings.wording, length)
        )

    def of_local(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.named(key_of(obj))

    def of_queue(source: Source, obj: Object) -> Iterable[Key]:
        return ledger.of_queue(obj["metadata"]["name"])

    return Operator(
        NAME,
        kinds.WORKLOAD,
        decide,
        owns=(kinds.WORKLOAD,),
        follows=(
            Follow(kinds.LOCAL_QUEUE, of_local, when=_spec_changed),
            Follow(kinds.CLUSTER_QUEUE, of_queue, when=_spec_changed),
        ),
        manager=MANAGER,
        tells_action=True,
        workers=WORKERS,
    )


def _queue_of(ledger: Ledger, parent: Object) -> ClusterQueue | None:
    name = (parent.get("spec") or {}).get("queueName") or ""
    local = ledger.local_queues.get(Key(key_of(parent).namespace, name))
    return None if local is None else ledger.state.queues.get(local.cluster_queue)


def _spec_changed(old: Object | None, new: Object | None) -> bool:
    return old is None or new is None or old.get("spec") != new.get("spec")
