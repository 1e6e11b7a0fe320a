"""Amounts of resources: integers in the base unit (thousandths for cpu), sums that saturate."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from fleetqueue.api.quantity import Quantity, QuantityLike

FlavorResource: TypeAlias = tuple[str, str]
"""A flavor and a resource: what quota is kept for."""
Amounts: TypeAlias = dict[FlavorResource, int]
Requests: TypeAlias = dict[str, int]
"""What is asked for, by resource."""

AMOUNT_MAX = 2**63 - 1
UNLIMITED = 2**63
"""More than any amount; stays what it is whatever is added or taken away."""
_BINARY = ("memory", "ephemeral-storage")


def read_amount(resource: str, quantity: QuantityLike) -> int:
    """A request: rounded up to the base unit, within bounds, never below zero."""
    return min(max(_base(resource, quantity), 0), AMOUNT_MAX)


def read_quota(resource: str, quantity: QuantityLike) -> int:
    """A quota: like a request, but one that is too large to count is unlimited."""
    found = _base(resource, quantity)
    return UNLIMITED if found >= AMOUNT_MAX else max(found, 0)


def quantity_of(resource: str, amount: int) -> Quantity:
    """The amount as it stands in objects."""
    if resource == "cpu":
        return Quantity.from_milli(amount)
    is_binary = resource in _BINARY or resource.startswith("hugepages-")
    return Quantity(amount, 0, "BinarySI" if is_binary else "DecimalSI")


def print_amount(resource: str, amount: int) -> str:
    """The amount as it stands in messages."""
    return "<unlimited>" if amount >= UNLIMITED else str(quantity_of(resource, amount))


def plus(left: int, right: int) -> int:
    if left >= UNLIMITED or right >= UNLIMITED:
        return UNLIMITED
    found = left + right
    return found if -AMOUNT_MAX <= found <= AMOUNT_MAX else _bounded(found)


def minus(left: int, right: int) -> int:
    """Unlimited less anything is unlimited; anything else less unlimited is as little as can be."""
    if left >= UNLIMITED:
        return UNLIMITED
    if right >= UNLIMITED:
        return -AMOUNT_MAX
    found = left - right
    return found if -AMOUNT_MAX <= found <= AMOUNT_MAX else _bounded(found)


def times(amount: int, factor: int) -> int:
    return UNLIMITED if amount >= UNLIMITED and factor else _bounded(amount * factor)


def total(amounts: Iterable[int]) -> int:
    found = 0
    for amount in amounts:
        found = plus(found, amount)
    return found


def add_to(target: Amounts, more: Mapping[FlavorResource, int]) -> None:
    for at, amount in more.items():
        target[at] = plus(target.get(at, 0), amount)


def _base(resource: str, quantity: QuantityLike) -> int:
    found = Quantity.of(quantity)
    return found.milli_value() if resource == "cpu" else found.value()


def _bounded(amount: int) -> int:
    return min(max(amount, -AMOUNT_MAX), AMOUNT_MAX)
