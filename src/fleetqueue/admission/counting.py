"""What queues say of themselves: how much of each flavor is reserved, used and borrowed."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fleetqueue.admission.activity import Activity
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.queueing.amounts import Amounts, FlavorResource, add_to, quantity_of
from fleetqueue.queueing.model import ClusterQueue
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]


def flavor_usage(
    queue: ClusterQueue, used: Mapping[FlavorResource, int], *, tells_borrowed: bool
) -> list[Json]:
    """Every flavor and resource of the queue, also where nothing is used."""
    return [
        {
            "name": flavor,
            "resources": [
                _resource(queue, (flavor, resource), used, tells_borrowed)
                for resource in sorted(group.resources)
            ],
        }
        for group in queue.groups
        for flavor in group.flavors
    ]


def used_by(workloads: Iterable[Workload]) -> Amounts:
    total: Amounts = {}
    for workload in workloads:
        add_to(total, workload.usage())
    return total


def active_condition(before: Json, found: Activity, generation: int, now: datetime) -> list[Json]:
    """The conditions with Active as it is now."""
    made = status.set_condition(
        before, "Active", found.is_active, found.reason, found.message, generation, now
    )
    conditions: list[Json] = made["conditions"]
    return conditions


def _resource(
    queue: ClusterQueue, at: FlavorResource, used: Mapping[FlavorResource, int], tells: bool
) -> Json:
    _, resource = at
    amount = used.get(at, 0)
    made = {"name": resource, "total": str(quantity_of(resource, amount))}
    if tells:
        nominal = queue.quotas[at].nominal if at in queue.quotas else 0
        borrowed = max(0, amount - nominal) if queue.cohort else 0
        made["borrowed"] = str(quantity_of(resource, borrowed))
    return made
