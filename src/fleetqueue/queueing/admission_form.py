"""What a workload holds, and what it asks for, as its status has them."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.kueue import topology_encoding
from fleetqueue.queueing.amounts import Requests, quantity_of
from fleetqueue.queueing.workload import Placement, PodSetAssignment, Workload

Json = dict[str, Any]


def admission(
    cluster_queue: str, assignments: Sequence[PodSetAssignment], packs_by_prefix: bool = True
) -> Json:
    """`status.admission`."""
    return {
        "clusterQueue": cluster_queue,
        "podSetAssignments": [_pod_set(each, packs_by_prefix) for each in assignments],
    }


def resource_requests(workload: Workload) -> list[Json]:
    """`status.resourceRequests`: what the pods of each set ask for in all."""
    return [
        {"name": each.name, "resources": _quantities(each.total())} for each in workload.pod_sets
    ]


def _pod_set(assignment: PodSetAssignment, packs_by_prefix: bool) -> Json:
    told: Json = {"name": assignment.name}
    if assignment.flavors:
        told["flavors"] = dict(sorted(assignment.flavors.items()))
        told["resourceUsage"] = _quantities(assignment.usage)
    told["count"] = assignment.count
    if assignment.placement is not None:
        told["topologyAssignment"] = _placement(assignment.placement, packs_by_prefix)
    if assignment.is_delayed:
        told["delayedTopologyRequest"] = "Ready" if assignment.placement else "Pending"
    return told


def _placement(placement: Placement, packs_by_prefix: bool) -> Json:
    domains = [{"values": list(each.values), "count": each.count} for each in placement.domains]
    plain = {"levels": list(placement.levels), "domains": domains}
    return topology_encoding.pack(plain, by_hostname_prefix=packs_by_prefix)


def _quantities(amounts: Requests) -> dict[str, str]:
    return {name: str(quantity_of(name, amount)) for name, amount in sorted(amounts.items())}
