"""What a manager's ClusterQueue should hold, given what its workers have: the sum, kept by us where
that is asked for, and compared where it is not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.kueue.labels import QUOTA_BY_FLAVOR
from fleetqueue.api.meta import Key
from fleetqueue.api.quantity import Quantity
from fleetqueue.kube.resources import Object
from fleetqueue.queueing.amounts import FlavorResource

CONDITION = "MultiKueueManagerQuotaAutomation"
SKEW = "fleetqueue.dev/QuotaSkew"
FACTOR = 2
"""Quotas that differ by more than this are far apart."""
Sums = Mapping[FlavorResource, Quantity]
Told = tuple[bool, str, str]
"""Status, reason and message of a condition."""
Find = Callable[[Key], Object | None]
_ZERO = Quantity()
_LIMITS = ("borrowingLimit", "lendingLimit")

NO_CONFIG: Told = (
    False,
    "UnsupportedConfiguration",
    "The referenced MultiKueueConfig was not found.",
)
NOT_REQUESTED: Told = (
    False,
    "NotRequested",
    "MultiKueue manager quota automation has not been requested.",
)
SEVERAL_FLAVORS: Told = (
    False,
    "UnsupportedConfiguration",
    "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor",
)
AUTOMATED: Told = (
    True,
    "QuotaAutomated",
    "ClusterQueue quota is automatically managed based on MultiKueue workers.",
)


@dataclass(frozen=True, slots=True)
class Automation:
    """What becomes of a queue."""

    told: Told
    groups: list[Object] | None = None
    """Its resource groups as they are to be; None where they stay."""
    dropped: Sequence[str] = ()
    """The limits that go with that: resource, flavor, and which."""


def is_requested(config: Object | None) -> bool:
    return ((config or {}).get("spec") or {}).get("quotaManagement") == "Automated"


def goes_by_flavor(config: Object | None) -> bool:
    """Whether queues with several flavors are kept too, which upstream never does."""
    notes = ((config or {}).get("metadata") or {}).get("annotations") or {}
    return bool(notes.get(QUOTA_BY_FLAVOR) == "true")


def automate(queue: Object, config: Object | None, workers: Iterable[Sums]) -> Automation:
    """`workers`: what each that is connected has for the queue."""
    if config is None:
        return Automation(NO_CONFIG)
    if not is_requested(config):
        return Automation(NOT_REQUESTED)
    groups = _groups(queue)
    sums: Sums = added(workers)
    flavors = [str(each["name"]) for group in groups for each in group.get("flavors") or ()]
    is_single = len(groups) == 1 and len(flavors) == 1
    if not is_single and not (goes_by_flavor(config) and _match(flavors, sums)):
        return Automation(SEVERAL_FLAVORS)
    if is_single:
        sums = _as_one(flavors[0], sums)
    if missing := _missing(groups, sums):
        text = "manager-side coveredResources is missing resources configured on workers"
        told = f"{text}: [{' '.join(missing)}]"
        return Automation((False, "UnsupportedConfiguration", told))
    made = [_filled(group, sums) for group in groups]
    if _is_same(groups, made):
        return Automation(AUTOMATED)
    return Automation(AUTOMATED, made, _limits(groups))


def sums_of(keys: AbstractSet[Key], local: Find, queue: Find) -> Sums:
    """What one worker has: the nominal quota of each ClusterQueue that one of these LocalQueues
    there leads to, each queue once.
    """
    leading = [found for key in keys if (found := local(key)) is not None]
    names = {str((each.get("spec") or {}).get("clusterQueue")) for each in leading}
    held = (queue(Key("", name)) for name in sorted(names))
    return added(_nominal(each) for each in held if each is not None)


def added(parts: Iterable[Sums]) -> dict[FlavorResource, Quantity]:
    found: dict[FlavorResource, Quantity] = {}
    for each in parts:
        for at, amount in each.items():
            found[at] = found.get(at, _ZERO) + amount
    return found


def by_resource(sums: Sums) -> dict[str, Quantity]:
    """Whatever the flavor."""
    found: dict[str, Quantity] = {}
    for (_, resource), amount in sums.items():
        found[resource] = found.get(resource, _ZERO) + amount
    return found


def nominal_of(queue: Object) -> dict[str, Quantity]:
    return by_resource(_nominal(queue))


def skew_of(queue: Object, config: str, workers: Iterable[Sums]) -> tuple[str, str] | None:
    """Reason and message where a queue has far more or far less than all of its workers."""
    there = by_resource(added(workers))
    above, below = [], []
    for name, here in nominal_of(queue).items():
        sum_there = there.get(name, _ZERO)
        text = f"{name}: {here} here, {sum_there} there"
        if here > sum_there * FACTOR:
            above.append(text)
        elif here * FACTOR < sum_there:
            below.append(text)
    if not above and not below:
        return None
    parts = ["The quota here and what the workers have together are far apart."]
    if above:
        parts.append(f"More is sent to workers than they can take in ({', '.join(above)}).")
    if below:
        parts.append(f"Workers stay idle while workloads wait here ({', '.join(below)}).")
    parts.append(
        "Set the nominal quota to the sum of the workers', or let it be kept so by"
        f' quotaManagement "Automated" in MultiKueueConfig "{config}".'
    )
    reason = "FarApart" if above and below else "FarAboveWorkers" if above else "FarBelowWorkers"
    return reason, " ".join(parts)


def _groups(queue: Object) -> list[Object]:
    return list((queue.get("spec") or {}).get("resourceGroups") or ())


def _nominal(queue: Object) -> Sums:
    return {
        (str(flavor["name"]), str(each["name"])): Quantity.of(each.get("nominalQuota") or 0)
        for group in _groups(queue)
        for flavor in group.get("flavors") or ()
        for each in flavor.get("resources") or ()
    }


def _match(flavors: Sequence[str], sums: Sums) -> bool:
    """Whether several flavors can be told apart by name: every one that the workers have must be
    one of the queue's, and there must be some.
    """
    there = {flavor for flavor, _ in sums}
    return bool(there) and there <= set(flavors)


def _as_one(flavor: str, sums: Sums) -> Sums:
    return {(flavor, resource): amount for resource, amount in by_resource(sums).items()}


def _missing(groups: Iterable[Object], sums: Sums) -> list[str]:
    covered = {
        (str(flavor["name"]), str(resource))
        for group in groups
        for flavor in group.get("flavors") or ()
        for resource in group.get("coveredResources") or ()
    }
    return sorted({resource for flavor, resource in sums if (flavor, resource) not in covered})


def _filled(group: Object, sums: Sums) -> Object:
    """Every covered resource in its order, with the sum and without limits."""
    made = []
    for flavor in group.get("flavors") or ():
        resources = [
            {"name": name, "nominalQuota": str(sums.get((str(flavor["name"]), name), _ZERO))}
            for name in group.get("coveredResources") or ()
        ]
        made.append({**flavor, "resources": resources})
    return {**group, "flavors": made}


def _is_same(groups: Sequence[Object], made: Sequence[Object]) -> bool:
    """Whether the quotas are, however they are written."""
    return [_numbers(each) for each in groups] == [_numbers(each) for each in made]


def _numbers(group: Object) -> list[Any]:
    return [
        {
            each["name"]: (
                Quantity.of(each.get("nominalQuota") or 0),
                *(each.get(limit) for limit in _LIMITS),
            )
            for each in flavor.get("resources") or ()
        }
        for flavor in group.get("flavors") or ()
    ]


def _limits(groups: Iterable[Object]) -> list[str]:
    return [
        f"{limit} of {each['name']} in flavor {flavor['name']}"
        for group in groups
        for flavor in group.get("flavors") or ()
        for each in flavor.get("resources") or ()
        for limit in _LIMITS
        if each.get(limit) is not None
    ]
