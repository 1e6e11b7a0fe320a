"""What can be listened to: each topic's address, the kinds it is made of, the rights it takes, and
which topics a change concerns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fleetqueue.admission.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
)
from fleetqueue.dashboard.sight import Held
from fleetqueue.kube.resources import EVENTS, Resource


class Topic(NamedTuple):
    """One page for one object, one namespace or all; all who listen to it get the same bytes."""

    page: str
    namespace: str = ""
    name: str = ""
    is_explained: bool = False
    """Whether it tells why a workload waits, which takes a right of its own."""


@dataclass(frozen=True, slots=True)
class Page:
    """One address of the stream server."""

    path: str
    kinds: tuple[Resource, ...]
    rights: tuple[tuple[str, Resource], ...]
    """Verbs and kinds; `get` is meant of the object, `list` of its namespace."""


def _listed(*kinds: Resource) -> tuple[tuple[str, Resource], ...]:
    return tuple(("list", kind) for kind in kinds)


NAMED, IN_NAMESPACE = "/{name}", "/{namespace}/{name}"
PAGES: dict[str, Page] = {
    "namespaces": Page("/ws/namespaces", (LOCAL_QUEUE,), _listed(LOCAL_QUEUE)),
    "workloads": Page("/ws/workloads", (WORKLOAD, LOCAL_QUEUE), _listed(WORKLOAD)),
    "dashboard": Page(
        "/ws/workloads/dashboard",
        (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR),
        _listed(WORKLOAD, CLUSTER_QUEUE),
    ),
    "workload": Page(f"/ws/workload{IN_NAMESPACE}", (WORKLOAD, LOCAL_QUEUE), (("get", WORKLOAD),)),
    "events": Page(
        f"/ws/workload{IN_NAMESPACE}/events", (WORKLOAD,), (("get", WORKLOAD), ("list", EVENTS))
    ),
    "local-queues": Page("/ws/local-queues", (LOCAL_QUEUE,), _listed(LOCAL_QUEUE)),
    "local-queue": Page(f"/ws/local-queue{IN_NAMESPACE}", (LOCAL_QUEUE,), (("get", LOCAL_QUEUE),)),
    "local-queue-workloads": Page(
        f"/ws/local-queue{IN_NAMESPACE}/workloads", (WORKLOAD, LOCAL_QUEUE), _listed(WORKLOAD)
    ),
    "cluster-queues": Page("/ws/cluster-queues", (CLUSTER_QUEUE,), _listed(CLUSTER_QUEUE)),
    "cluster-queue": Page(
        f"/ws/cluster-queue{NAMED}",
        (CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD),
        (("get", CLUSTER_QUEUE), *_listed(LOCAL_QUEUE, WORKLOAD)),
    ),
    "cohorts": Page("/ws/cohorts", (COHORT, CLUSTER_QUEUE), _listed(COHORT, CLUSTER_QUEUE)),
    "cohort": Page(
        f"/ws/cohort{NAMED}",
        (COHORT, CLUSTER_QUEUE),
        (("get", COHORT), *_listed(COHORT, CLUSTER_QUEUE)),
    ),
    "resource-flavors": Page(
        "/ws/resource-flavors",
        (RESOURCE_FLAVOR, CLUSTER_QUEUE),
        _listed(RESOURCE_FLAVOR, CLUSTER_QUEUE),
    ),
    "resource-flavor": Page(
        f"/ws/resource-flavor{NAMED}",
        (RESOURCE_FLAVOR, CLUSTER_QUEUE),
        (("get", RESOURCE_FLAVOR), *_listed(CLUSTER_QUEUE)),
    ),
}
OF_ONE_NAMESPACE = frozenset({"workloads", "local-queues"})
"""Lists that can be had of one namespace: `?namespace=`."""


def woken(kind: Resource, old: Held | None, new: Held | None) -> Iterator[Topic]:
    """The topics that a change may concern, by what the object was and what it is; a topic may come
    twice.
    """
    for held in (old, new):
        if held is not None:
            yield from _OF_KIND[kind](held)


def _of_workload(held: Held) -> Iterator[Topic]:
    namespace, name = held.key.namespace, held.key.name
    yield Topic("workloads")
    yield Topic("workloads", namespace)
    yield Topic("dashboard")
    yield Topic("workload", namespace, name)
    yield Topic("workload", namespace, name, is_explained=True)
    yield Topic("local-queue-workloads", namespace, held.row["queue"])
    if held.row["reservedIn"]:
        yield Topic("cluster-queue", "", held.row["reservedIn"])


def _of_local_queue(held: Held) -> Iterator[Topic]:
    namespace, name = held.key.namespace, held.key.name
    yield Topic("namespaces")
    yield Topic("local-queues")
    yield Topic("local-queues", namespace)
    yield Topic("local-queue", namespace, name)
    yield Topic("cluster-queue", "", held.row["clusterQueue"])
    yield Topic("dashboard")
    # Its workloads are shown with the ClusterQueue that it leads to.
    yield Topic("local-queue-workloads", namespace, name)
    yield Topic("workloads")
    yield Topic("workloads", namespace)


def _of_cluster_queue(held: Held) -> Iterator[Topic]:
    yield Topic("cluster-queues")
    yield Topic("cluster-queue", "", held.key.name)
    yield Topic("dashboard")
    yield Topic("cohorts")
    if held.row["cohort"]:
        yield Topic("cohort", "", held.row["cohort"])
    yield Topic("resource-flavors")
    for flavor in held.row["flavors"]:
        yield Topic("resource-flavor", "", flavor)


def _of_cohort(held: Held) -> Iterator[Topic]:
    yield Topic("cohorts")
    yield Topic("cohort", "", held.key.name)
    yield Topic("dashboard")
    if held.row["parent"]:
        yield Topic("cohort", "", held.row["parent"])


def _of_flavor(held: Held) -> Iterator[Topic]:
    yield Topic("resource-flavors")
    yield Topic("resource-flavor", "", held.key.name)
    yield Topic("dashboard")


_OF_KIND = {
    WORKLOAD: _of_workload,
    LOCAL_QUEUE: _of_local_queue,
    CLUSTER_QUEUE: _of_cluster_queue,
    COHORT: _of_cohort,
    RESOURCE_FLAVOR: _of_flavor,
}
