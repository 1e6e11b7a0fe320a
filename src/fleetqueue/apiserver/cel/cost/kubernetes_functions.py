"""What calls of the functions cost that Kubernetes adds to the language or prices by itself."""

import math
from collections.abc import Callable
from typing import TypeAlias

from fleetqueue.apiserver.cel.cost.calls import Estimate, Invocation, Operand
from fleetqueue.apiserver.cel.cost.sizes import (
    MOST,
    ONE,
    PATTERN,
    TRAVERSAL,
    Size,
    add,
    multiply,
    scale,
)
from fleetqueue.apiserver.cel.cost.tree import Value

Pricing: TypeAlias = Callable[[str, Invocation], Estimate | None]

_ADDRESS = 16
"""Bytes of the longest IP address."""
_FORMAT_NAME = 64
_FORMAT_PATTERN = 128


def cost(overload: str, call: Invocation) -> Estimate | None:
    """Without that of the arguments; None if the call has no price of its own."""
    pricing = _PRICES.get(call.function)
    return None if pricing is None else pricing(overload, call)


def _nominal(overload: str, call: Invocation) -> Estimate:
    return 1, None


def _over_items(overload: str, call: Invocation) -> Estimate | None:
    """Each item is compared once; strings are walked over for that."""
    if call.target is None:
        return None
    item = call.target.item(call.root)
    if item is None:
        return call.target.walk, None
    kind, size = item
    each = add(1, scale(size.most, TRAVERSAL)) if kind.name in ("string", "bytes") else 1
    return multiply(call.target.size.most, each), None


def _reading(overload: str, call: Invocation) -> Estimate | None:
    """A string is parsed into something else."""
    return (call.arguments[0].walk, None) if call.arguments else None


def _url(overload: str, call: Invocation) -> Estimate:
    return call.arguments[0].walk, call.arguments[0].size


def _address(overload: str, call: Invocation) -> Estimate | None:
    """The address of a network is a field of it, any other must be read."""
    return _nominal(overload, call) if call.target is not None else _reading(overload, call)


def _canonical(overload: str, call: Invocation) -> Estimate:
    return scale(call.arguments[0].size.most, 2 * TRAVERSAL), None


def _rewriting(overload: str, call: Invocation) -> Estimate | None:
    """The result is at most as long as the string."""
    return None if call.target is None else (call.target.walk, call.target.size)


def _replace(overload: str, call: Invocation) -> Estimate | None:
    if call.target is None or len(call.arguments) < 2:
        return None
    text = call.target.size
    size = replaced_size(text, call.arguments[0].size, call.arguments[1].size)
    return scale(text.most, 2 * TRAVERSAL), size


def replaced_size(text: Size, old: Size, new: Size) -> Size:
    """How long a text is after all that is `old` has become `new`."""
    if old.least == 0:
        # An empty string is found around each character.
        most = add(multiply(add(text.most, 1), new.most), text.most)
    elif new.most <= old.least:
        most = text.most
    else:
        most = multiply(math.ceil(float(text.most) / float(old.least)), new.most)
    if old.most == 0:
        least = add(multiply(add(text.least, 1), new.least), text.least)
    elif old.most <= new.least:
        least = text.least
    else:
        least = multiply(math.ceil(float(text.least) / float(old.most)), new.least)
    return Size(least, most)


def _split(overload: str, call: Invocation) -> Estimate | None:
    """An empty separator makes a list of all characters, unless a number of parts is given."""
    if call.target is None:
        return None
    most = call.target.size.most
    limit = call.arguments[1].part if len(call.arguments) > 1 else None
    if isinstance(limit, Value) and limit.type.name == "int":
        most = limit.value & MOST
    return scale(call.target.size.most, 2 * TRAVERSAL), Size(0, most)


def _join(overload: str, call: Invocation) -> Estimate | None:
    if call.target is None:
        return None
    count, size = call.target.size, Size(0, 0)
    item = call.target.item(call.root)
    if item is not None:
        size = count.times(item[1])
    if call.arguments:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(call.arguments[0].size.times(between))
    return scale(size.most, TRAVERSAL), size


def _find(overload: str, call: Invocation) -> Estimate | None:
    if call.target is None or not call.arguments:
        return None
    return search_cost(call.target, call.arguments[0]), Size(0, call.target.size.most)


def search_cost(text: Operand, pattern: Operand) -> int:
    """One more than the text, so that a search of an empty text is not free."""
    reading = scale(text.size.plus(ONE).most, TRAVERSAL)
    return multiply(reading, scale(pattern.size.most, PATTERN))


def _contains_address(overload: str, call: Invocation) -> Estimate:
    return _read_other(overload, call, scale(2 * _ADDRESS, TRAVERSAL))


def _contains_network(overload: str, call: Invocation) -> Estimate:
    compared = scale(2 * _ADDRESS, TRAVERSAL)
    masked = scale(_ADDRESS, TRAVERSAL) + 1
    return _read_other(overload, call, compared + masked)


def _read_other(overload: str, call: Invocation, price: int) -> Estimate:
    """What is given as a string must be read first."""
    is_text = overload.endswith(", string)")
    return add(price, call.arguments[0].walk if is_text else 0), None


def _validate(overload: str, call: Invocation) -> Estimate:
    return scale(call.arguments[0].walk, _FORMAT_PATTERN * PATTERN), None


def _equal(overload: str, call: Invocation) -> Estimate | None:
    left, right = call.arguments
    if left.type != right.type:
        return None
    match left.type.name:
        case "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver":
            return 1, None
        case "kubernetes.NamedFormat":
            return scale(_FORMAT_NAME, TRAVERSAL), None
        case "kubernetes.URL":
            # Only the right one counts.
            return scale((right.known or ONE).most, TRAVERSAL), None
    return None


def _of_sets(factor: int) -> Pricing:
    """Each item of the one is sought in the other."""

    def price(overload: str, call: Invocation) -> Estimate:
        pairs = multiply(*(argument.size.most for argument in call.arguments))
        return add(scale(pairs, factor), 1), None

    return price


_PRICES: dict[str, Pricing] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_items),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _reading),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _reading),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _rewriting),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _of_sets(1)),
    "sets.equivalent": _of_sets(2),
    "url": _url,
    "ip": _address,
    "ip.isCanonical": _canonical,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "containsIP": _contains_address,
    "containsCIDR": _contains_network,
    "validate": _validate,
    "_==_": _equal,
}
"""What is not here costs 1, be it named by Kubernetes (accessors of its types) or not at all."""
