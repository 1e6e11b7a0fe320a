"""What a member reports of itself, as quantities that policies compare and sort by."""

from typing import Any

from fleetqueue.api.fleet.properties import RESOURCE_PREFIX
from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.errors import InvalidInput

Json = dict[str, Any]
_USAGES = {"total": "capacity", "allocatable": "allocatable", "available": "available"}


class UnusablePolicy(InvalidInput):
    """A policy that no webhook refused and that nothing can be decided by."""


def value_of(cluster: Json, name: str) -> Quantity | None:
    """None where the cluster does not report it, or reports what is no quantity."""
    status = cluster.get("status") or {}
    if name.startswith(RESOURCE_PREFIX):
        usage, resource = _resource_of(name)
        found = ((status.get("resourceUsage") or {}).get(usage) or {}).get(resource)
    else:
        found = ((status.get("properties") or {}).get(name) or {}).get("value")
    if found is None:
        return None
    try:
        return Quantity.of(found)
    except QuantityError:
        return None


def _resource_of(name: str) -> tuple[str, str]:
    """In which list of a member's resource usage a property stands, and under which name."""
    parts = name.removeprefix(RESOURCE_PREFIX).split("-")
    if len(parts) != 2 or not all(parts):
        raise UnusablePolicy(f"invalid resource property name {name}")
    capacity, resource = parts
    if capacity not in _USAGES:
        raise UnusablePolicy(f"invalid capacity type in resource property name {name}")
    return _USAGES[capacity], resource
