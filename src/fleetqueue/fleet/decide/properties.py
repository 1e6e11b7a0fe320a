"""What a member reports of itself: how many nodes it has, what they hold and what is left of that,
what they cost, and how full its queues are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.fleet import properties
from fleetqueue.api.fleet.conditions import MemberCondition, PropertyReason
from fleetqueue.api.quantity import Quantity, QuantityError

Json = dict[str, Any]
Totals = dict[str, Quantity]
CPU, MEMORY = "cpu", "memory"
NATIVE = (CPU, MEMORY)
KUBERNETES_DOMAIN = "kubernetes.io/"
ENDED = ("Succeeded", "Failed")
INSTANCE_TYPES = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
UNDEFINED = "undefined"
HOURLY_COST = "fleetqueue.io/hourly-cost"
"""An annotation or label of a node, where its price is not found by its machine size."""
GIBIBYTE = 1024**3
NAMESPACES_MAX = 200
APPLIED_WORK = "AppliedWork"
PENDING_WORKLOADS = "fleetqueue.io/pending-workloads"
ADMITTED_WORKLOADS = "fleetqueue.io/admitted-workloads"
UNUSED_QUOTA = "fleetqueue.io/unused-quota-"
"""The name of a resource follows; a dot stands for its slash, since a name has only one."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A condition that a provider sets besides those that every provider has."""

    type: str
    is_true: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Collected:
    """What a provider has found, once."""

    values: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """`capacity`, `allocatable` and `available`, each by resource."""
    remarks: Sequence[Remark] = ()
    namespaces: Mapping[str, str] | None = None


# Nodes and pods


def totals_of(amounts: Mapping[str, Any] | None) -> Totals:
    """The part of a resource list that is reported: cpu, memory and extended resources."""
    return {
        name: Quantity.of(value) for name, value in (amounts or {}).items() if is_reported(name)
    }


def is_reported(resource: str) -> bool:
    is_extended = "/" in resource and not resource.startswith(KUBERNETES_DOMAIN)
    return resource in NATIVE or is_extended


def add(totals: Totals, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        totals[name] = totals.get(name, Quantity()) + amount


def pod_totals(pod: Json | None) -> Totals:
    """What a pod takes from its node; nothing where it has none, or has ended."""
    found: Totals = {}
    if pod is None or not (pod.get("spec") or {}).get("nodeName"):
        return found
    if (pod.get("status") or {}).get("phase") in ENDED:
        return found
    for container in pod["spec"].get("containers") or ():
        add(found, totals_of((container.get("resources") or {}).get("requests")))
    return found


def node_totals(node: Json | None, name: str) -> Totals:
    """`capacity` or `allocatable` of a node."""
    return totals_of(((node or {}).get("status") or {}).get(name))


def usage(capacity: Totals, allocatable: Totals, taken: Totals) -> Json:
    """What is left is never less than nothing, and never of what nobody has."""
    left = {}
    for name, amount in allocatable.items():
        rest = amount - taken.get(name, Quantity())
        left[name] = rest if rest.sign() > 0 else Quantity(0, 0, amount.format)
    told = {"capacity": capacity, "allocatable": allocatable, "available": left}
    return {name: _written(totals) for name, totals in told.items()}


def usage_of(nodes: Sequence[Json], pods: Iterable[Json]) -> Json:
    taken: Totals = {}
    for pod in pods:
        add(taken, pod_totals(pod))
    return usage(over_nodes(nodes, "capacity"), over_nodes(nodes, "allocatable"), taken)


def over_nodes(nodes: Iterable[Json], name: str) -> Totals:
    """`capacity` or `allocatable` of all of them; nothing of cpu is told as well."""
    total: Totals = {name: Quantity() for name in NATIVE}
    for node in nodes:
        add(total, node_totals(node, name))
    return total


def _written(totals: Totals) -> dict[str, str]:
    return {name: str(totals[name]) for name in sorted(totals)}


# Costs


@dataclass(frozen=True, slots=True)
class Costs:
    """What an hour of a core and of a GiB costs, or why that is not known."""

    values: Mapping[str, str]
    remark: Remark


def machine_size(node: Json) -> str:
    held = node["metadata"].get("labels") or {}
    return next((held[name] for name in INSTANCE_TYPES if held.get(name)), UNDEFINED)


def machine_counts(nodes: Iterable[Json]) -> dict[str, str]:
    """By the older label alone, as upstream; a price may be found by the newer one too."""
    counts: dict[str, int] = {}
    for node in nodes:
        held = node["metadata"].get("labels") or {}
        name = properties.machine_count(held.get(INSTANCE_TYPES[0]) or UNDEFINED)
        counts[name] = counts.get(name, 0) + 1
    return {name: str(count) for name, count in sorted(counts.items())}


def price_of(node: Json, prices: Mapping[str, float]) -> float | None:
    """Of an hour; what the node says itself goes first."""
    metadata = node["metadata"]
    for held in (metadata.get("annotations") or {}, metadata.get("labels") or {}):
        try:
            return float(held[HOURLY_COST])
        except (KeyError, ValueError):
            continue
    return prices.get(machine_size(node))


def costs(nodes: Sequence[Json], prices: Mapping[str, float]) -> Costs:
    found = [(node, price_of(node, prices)) for node in nodes]
    unknown = sorted({machine_size(node) for node, price in found if price is None})
    total = sum(price for _, price in found if price is not None)
    capacity = over_nodes(nodes, "capacity")
    cores, memory = capacity[CPU].milli_value() / 1000, capacity[MEMORY].value() / GIBIBYTE
    if not cores or not memory:
        return Costs({}, _failed("the nodes have no cpu or no memory"))
    if len(unknown) and all(price is None for _, price in found):
        return Costs({}, _failed(f"no price is known of the machine sizes {unknown}"))
    values = {
        properties.CPU_COST: f"{total / cores:.3f}",
        properties.MEMORY_COST: f"{total / memory:.3f}",
    }
    if unknown:
        text = f"[no price is known of the machine sizes {unknown}]"
        return Costs(values, _costs(True, PropertyReason.COSTS_DEGRADED, f"{_DEGRADED}{text}"))
    told = "All cost properties have been collected successfully"
    return Costs(values, _costs(True, PropertyReason.COSTS_CALCULATED, told))


_DEGRADED = "Cost properties are collected in a degraded mode with the following warning(s): "


def _failed(why: str) -> Remark:
    text = f"An error has occurred when collecting cost properties: {why}"
    return _costs(False, PropertyReason.COSTS_FAILED, text)


def _costs(is_true: bool, reason: str, message: str) -> Remark:
    return Remark(MemberCondition.COST_COLLECTION_SUCCEEDED, is_true, reason, message)


# Namespaces


def namespaces(found: Iterable[Json]) -> tuple[dict[str, str], Remark]:
    """By namespace, the AppliedWork that owns it, or ""; the oldest ones where they are many."""
    alive = [each for each in found if not each["metadata"].get("deletionTimestamp")]
    alive.sort(key=_age)
    owners = {each["metadata"]["name"]: _applied_by(each) for each in alive[:NAMESPACES_MAX]}
    is_all = len(alive) <= NAMESPACES_MAX
    remark = Remark(
        MemberCondition.NAMESPACE_COLLECTION_SUCCEEDED,
        is_all,
        PropertyReason.NAMESPACES_COLLECTED if is_all else PropertyReason.NAMESPACES_DEGRADED,
        "All namespaces have been collected successfully"
        if is_all
        else "Namespaces are collected in a degraded mode since the number of namespaces reaches "
        "the track limit",
    )
    return dict(sorted(owners.items())), remark


def _age(namespace: Json) -> tuple[str, str]:
    metadata = namespace["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])


def _applied_by(namespace: Json) -> str:
    for reference in namespace["metadata"].get("ownerReferences") or ():
        if reference.get("kind") == APPLIED_WORK:
            return str(reference.get("name") or "")
    return ""


# Queues


def queue_values(cluster_queues: Iterable[Json]) -> dict[str, str]:
    """How many workloads wait and run, and how much quota nobody has, over all queues."""
    pending = admitted = 0
    unused: Totals = {}
    for queue in cluster_queues:
        status = queue.get("status") or {}
        pending += int(status.get("pendingWorkloads") or 0)
        admitted += int(status.get("admittedWorkloads") or 0)
        add(unused, _nominal(queue))
        add(unused, {name: -amount for name, amount in _reserved(status).items()})
    values = {PENDING_WORKLOADS: str(pending), ADMITTED_WORKLOADS: str(admitted)}
    for name, amount in sorted(unused.items()):
        left = amount if amount.sign() > 0 else Quantity()
        values[f"{UNUSED_QUOTA}{name.replace('/', '.')}"] = str(left)
    return values


def _nominal(queue: Json) -> Totals:
    found: Totals = {}
    for group in (queue.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                add(found, _quota(resource, "nominalQuota"))
    return found


def _reserved(status: Json) -> Totals:
    found: Totals = {}
    for flavor in status.get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            add(found, _quota(resource, "total"))
    return found


def _quota(resource: Json, field: str) -> Totals:
    try:
        return {str(resource["name"]): Quantity.of(resource.get(field) or 0)}
    except QuantityError:
        return {}
