"""What is shown of queues, cohorts and flavors: lines of lists, and how full they are. Pure."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.quantity import Quantity, QuantityError

Json = dict[str, Any]
COUNTERS = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
PLENTY = 1000.0
"""The ratio of what is used where nothing is there to use."""


def local_queue(obj: Json) -> Json:
    spec = obj.get("spec") or {}
    return {
        "namespace": obj["metadata"].get("namespace") or "",
        **_named(obj),
        "clusterQueue": spec.get("clusterQueue") or "",
        **_standing(obj),
        "resources": _used(obj.get("status") or {}),
    }


def cluster_queue(obj: Json) -> Json:
    spec = obj.get("spec") or {}
    return {
        **_named(obj),
        "cohort": spec.get("cohortName") or "",
        "strategy": spec.get("queueingStrategy") or "",
        **_standing(obj),
        "flavors": list(dict.fromkeys(flavors_of(obj))),
        "resources": quotas(spec, obj.get("status") or {}),
    }


def cohort(obj: Json) -> Json:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return {
        **_named(obj),
        "parent": spec.get("parentName") or "",
        "weightedShare": (status.get("fairSharing") or {}).get("weightedShare"),
        "resources": quotas(spec, {}),
    }


def resource_flavor(obj: Json) -> Json:
    spec = obj.get("spec") or {}
    return {
        **_named(obj),
        "nodeLabels": spec.get("nodeLabels") or {},
        "nodeTaints": spec.get("nodeTaints") or [],
        "tolerations": spec.get("tolerations") or [],
        "topology": spec.get("topologyName") or "",
    }


def flavors_of(queue: Json) -> Iterable[str]:
    """The flavors that a ClusterQueue, or a Cohort, has quota of."""
    for group in (queue.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            yield str(flavor.get("name"))


def quotas(spec: Json, status: Json) -> list[Json]:
    """Per flavor and resource: what there is, what is reserved and used of it, what is borrowed."""
    reserved = _amounts(status.get("flavorsReservation"))
    used = _amounts(status.get("flavorsUsage"))
    found = []
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for each in flavor.get("resources") or ():
                key = (str(flavor.get("name")), str(each.get("name")))
                holds, uses = reserved.get(key, {}), used.get(key, {})
                nominal = str(each.get("nominalQuota", "0"))
                found.append(
                    {
                        "flavor": key[0],
                        "resource": key[1],
                        "nominal": nominal,
                        "borrowingLimit": _text(each.get("borrowingLimit")),
                        "lendingLimit": _text(each.get("lendingLimit")),
                        "reserved": str(holds.get("total", "0")),
                        "used": str(uses.get("total", "0")),
                        "borrowed": str(holds.get("borrowed", "0")),
                        "ratio": ratio(str(holds.get("total", "0")), nominal),
                    }
                )
    return found


def ratio(part: str, whole: str) -> float:
    try:
        top, bottom = Quantity.of(part).milli_value(), Quantity.of(whole).milli_value()
    except QuantityError:
        return 0.0
    if not bottom:
        return PLENTY if top else 0.0
    return round(top / bottom, 4)


def _used(status: Json) -> list[Json]:
    """A LocalQueue has no quota of its own: what it holds is all there is to say."""
    used = _amounts(status.get("flavorsUsage"))
    return [
        {
            "flavor": flavor,
            "resource": resource,
            "reserved": str(amount.get("total", "0")),
            "used": str(used.get((flavor, resource), {}).get("total", "0")),
        }
        for (flavor, resource), amount in _amounts(status.get("flavorsReservation")).items()
    ]


def _amounts(flavors: list[Json] | None) -> dict[tuple[str, str], Json]:
    return {
        (str(flavor.get("name")), str(each.get("name"))): each
        for flavor in flavors or ()
        for each in flavor.get("resources") or ()
    }


def _named(obj: Json) -> Json:
    metadata = obj["metadata"]
    return {"name": metadata["name"], "createdAt": metadata.get("creationTimestamp") or ""}


def _standing(obj: Json) -> Json:
    """Counters, and whether it admits at all."""
    status = obj.get("status") or {}
    conditions = status.get("conditions") or ()
    active: Json = next((each for each in conditions if each.get("type") == "Active"), {})
    return {
        **{name: status.get(name) or 0 for name in COUNTERS},
        "active": active.get("status") or "",
        "reason": active.get("reason") or "",
        "message": active.get("message") or "",
        "stopPolicy": (obj.get("spec") or {}).get("stopPolicy") or "None",
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
