"""The quality of service that a pod is promised, by what its containers request and limit."""

from collections.abc import Iterable, Mapping

from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import Object

_COUNTED = ("cpu", "memory")


def quality_of_service(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort; resources of the pod as a whole go before those of its
    containers.
    """
    own = spec.get("resources")
    holders = (
        [own]
        if own is not None
        else [
            container.get("resources") or {}
            for kind in ("containers", "initContainers")
            for container in spec.get(kind) or ()
        ]
    )
    limits = [_counted(holder.get("limits") or {}) for holder in holders]
    # What is limited and not requested is requested as much as it is limited.
    requests = [
        limit | _counted(holder.get("requests") or {})
        for holder, limit in zip(holders, limits, strict=True)
    ]
    if not any(requests) and not any(limits):
        return "BestEffort"
    has_all = all(set(limit) == set(_COUNTED) for limit in limits)
    return "Guaranteed" if has_all and _summed(requests) == _summed(limits) else "Burstable"


def _counted(amounts: Mapping[str, str]) -> dict[str, Quantity]:
    parsed = {name: Quantity.of(amounts[name]) for name in _COUNTED if name in amounts}
    return {name: amount for name, amount in parsed.items() if amount.sign() > 0}


def _summed(lists: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            total[name] = total.get(name, Quantity()) + amount
    return total
