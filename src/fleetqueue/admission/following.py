"""Tells the ledger what informers see; nothing else changes what is known."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fleetqueue.admission import kinds
from fleetqueue.admission.ledger import Ledger
from fleetqueue.admission.queue_book import LocalQueue
from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.queueing.reading_queues import read_weight

On = Callable[[Resource, Callable[[Any], Any], Callable[[Key], Any]], None]
"""Says of a kind who is told of each object that is there, and of each that is gone."""


def follow(cluster: Cluster, ledger: Ledger) -> None:
    """From now on, the ledger knows what the cluster's caches hold."""
    on = partial(_on, cluster)
    _follow_namespaces(on, ledger)
    if ledger.devices.rules.has_mappings:
        _follow_devices(on, ledger)
    if ledger.settings.places_pods:
        _follow_places(on, ledger)
    _follow_queues(on, ledger)
    on(kinds.WORKLOAD, ledger.put_workload, ledger.remove_workload)


def _on(
    cluster: Cluster, kind: Resource, put: Callable[[Any], Any], remove: Callable[[Key], Any]
) -> None:
    def listener(old: Object | None, new: Object | None) -> None:
        if new is not None:
            put(new)
        elif old is not None:
            remove(key_of(old))

    cluster.informer(kind).listen(listener)


def _follow_namespaces(on: On, ledger: Ledger) -> None:
    """What counts for all pods of a namespace, or of a runtime class."""
    names = ledger.namespaces

    def put_namespace(obj: Object) -> None:
        if names.put(obj):
            ledger.unpark_namespace(obj["metadata"]["name"])

    def put_limits(key: Key, obj: Object | None) -> None:
        names.put_limits(key, obj)
        ledger.reread_namespace(key.namespace)
        ledger.unpark_namespace(key.namespace)

    def put_runtime_class(name: str, obj: Object | None) -> None:
        names.put_runtime_class(name, obj)
        ledger.reread()
        for queue in ledger.state.queues:
            ledger.unpark_later(queue)

    on(kinds.NAMESPACE, put_namespace, lambda key: names.remove(key.name))
    on(kinds.LIMIT_RANGE, lambda o: put_limits(key_of(o), o), lambda key: put_limits(key, None))
    on(
        kinds.RUNTIME_CLASS,
        lambda o: put_runtime_class(o["metadata"]["name"], o),
        lambda key: put_runtime_class(key.name, None),
    )


def _follow_devices(on: On, ledger: Ledger) -> None:
    on(
        kinds.RESOURCE_CLAIM_TEMPLATE,
        lambda obj: ledger.put_template(key_of(obj), obj),
        lambda key: ledger.put_template(key, None),
    )
    on(
        kinds.DEVICE_CLASS,
        lambda obj: ledger.put_device_class(obj["metadata"]["name"], obj),
        lambda key: ledger.put_device_class(key.name, None),
    )


def _follow_places(on: On, ledger: Ledger) -> None:
    """Where pods can go, and who is there."""
    places = ledger.state.topologies

    def moved(changed: bool) -> None:
        if changed:
            ledger.unpark_all()

    on(
        kinds.NODE,
        lambda obj: moved(places.put_node(obj)),
        lambda key: moved(places.remove_node(key.name)),
    )
    on(
        kinds.POD,
        lambda obj: moved(places.put_pod(obj)),
        lambda key: moved(places.remove_pod(key.namespace, key.name)),
    )


def _follow_queues(on: On, ledger: Ledger) -> None:
    """Queues, and what they are made of."""

    def put_local_queue(obj: Object) -> None:
        if ledger.usage is not None:
            ledger.usage.learn(key_of(obj), (obj.get("status") or {}).get("fairSharing"))
        ledger.put_local_queue(key_of(obj), _local_queue(obj))

    on(kinds.TOPOLOGY, ledger.put_topology, lambda key: ledger.remove_topology(key.name))
    on(kinds.RESOURCE_FLAVOR, ledger.put_flavor, lambda key: ledger.remove_flavor(key.name))
    on(kinds.ADMISSION_CHECK, ledger.put_check, lambda key: ledger.remove_check(key.name))
    on(kinds.COHORT, ledger.put_cohort, lambda key: ledger.remove_cohort(key.name))
    on(
        kinds.CLUSTER_QUEUE,
        ledger.put_cluster_queue,
        lambda key: ledger.remove_cluster_queue(key.name),
    )
    on(kinds.LOCAL_QUEUE, put_local_queue, ledger.remove_local_queue)


def _local_queue(obj: Object) -> LocalQueue:
    spec = obj.get("spec") or {}
    return LocalQueue(
        cluster_queue=spec.get("clusterQueue") or "",
        stop_policy=spec.get("stopPolicy") or "None",
        weight=read_weight(spec),
        is_terminating=bool(obj["metadata"].get("deletionTimestamp")),
    )
