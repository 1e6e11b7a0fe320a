"""Whether the namespace of a namespaced placement is on a cluster, where clusters tell that."""

from typing import Any

from fleetqueue.api.fleet.conditions import MemberCondition
from fleetqueue.fleet.decide import conditions

Json = dict[str, Any]


def problem(cluster: Json, namespace: str) -> str:
    """Why the cluster will not do; "" for placements that have no namespace."""
    status = cluster.get("status") or {}
    told = conditions.find(status.get("conditions"), MemberCondition.NAMESPACE_COLLECTION_SUCCEEDED)
    if not namespace or told is None:
        return ""
    known = status.get("namespaces")
    if not known:
        return "cluster has no namespace information available"
    return "" if namespace in known else "target namespace does not exist on cluster"
