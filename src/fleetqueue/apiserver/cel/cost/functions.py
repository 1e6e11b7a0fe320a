"""What a call costs with its arguments, and how large its result is.

Kubernetes prices some functions by name, the language others by overload; the rest cost 1.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fleetqueue.apiserver.cel.cost import kubernetes_functions
from fleetqueue.apiserver.cel.cost.calls import Estimate, Invocation
from fleetqueue.apiserver.cel.cost.kubernetes_functions import search_cost
from fleetqueue.apiserver.cel.cost.sizes import TRAVERSAL, Size, add, multiply, scale, wrapped

Pricing: TypeAlias = Callable[[Invocation], Estimate]

INDEXES = {"_[_](list, int)": "@items", "_[_](map, A)": "@values"}
"""Overloads that lead to a part of what they are given."""
JOINS = frozenset(
    (
        "_?_:_(bool, T, T)",
        "_+_(string, string)",
        "_+_(bytes, bytes)",
        "_+_(list, list)",
    )
)
"""Overloads whose result has the entries of one of the last two arguments, or of both."""


def cost(overload: str, call: Invocation) -> Estimate:
    if overload in _WITH_ARGUMENTS:
        return _WITH_ARGUMENTS[overload](call)
    priced = kubernetes_functions.cost(overload, call)
    if priced is None:
        pricing = _PRICES.get(overload)
        priced = (1, None) if pricing is None else pricing(call)
    price, size = priced
    return add(price, call.argument_cost), size


def _choice(call: Invocation) -> Estimate:
    _, then, otherwise = call.arguments
    condition, first, second = call.costs
    return add(condition, max(first, second)), then.size.or_else(otherwise.size)


def _logic(call: Invocation) -> Estimate:
    return call.argument_cost, None


def _of_target(call: Invocation) -> Estimate:
    return (1 if call.target is None else call.target.walk), None


def _of_argument(call: Invocation) -> Estimate:
    return call.arguments[0].walk, None


def _bytes(call: Invocation) -> Estimate:
    """A character may become four bytes."""
    size = call.arguments[0].size
    return call.arguments[0].walk, Size(size.least, wrapped(size.most * 4))


def _text(call: Invocation) -> Estimate:
    size = call.arguments[0].size
    return call.arguments[0].walk, Size(size.least // 4, size.most)


def _quote(call: Invocation) -> Estimate:
    """Two quotes are added, and each character may need an escape."""
    size = call.arguments[0].size
    return call.arguments[0].walk, Size(wrapped(size.least + 2), wrapped(size.most * 2 + 2))


def _in_list(call: Invocation) -> Estimate:
    return scale(call.arguments[1].size.most, 1), None


def _matches(call: Invocation) -> Estimate:
    return (1 if call.target is None else search_cost(call.target, call.arguments[0])), None


def _contains(call: Invocation) -> Estimate:
    text = 1 if call.target is None else call.target.walk
    return multiply(text, call.arguments[0].walk), None


def _joined(call: Invocation) -> Size:
    return call.arguments[0].size.plus(call.arguments[1].size)


def _join_texts(call: Invocation) -> Estimate:
    size = _joined(call)
    return scale(size.most, TRAVERSAL), size


def _join_lists(call: Invocation) -> Estimate:
    return 1, _joined(call)


def _compare(call: Invocation) -> Estimate:
    """The shorter one decides."""
    most = min(argument.size.most for argument in call.arguments)
    return scale(most, TRAVERSAL), None


_WITH_ARGUMENTS: Mapping[str, Pricing] = {
    "_?_:_(bool, T, T)": _choice,
    "_&&_": _logic,
    "_||_": _logic,
}
"""Not all of their arguments are evaluated, so they count them themselves."""
_PRICES: Mapping[str, Pricing] = {
    ".format(string, list)": _of_target,
    "bytes(string)": _bytes,
    "string(bytes)": _text,
    "strings.quote(string)": _quote,
    ".startsWith(string, string)": _of_argument,
    ".endsWith(string, string)": _of_argument,
    "@in(A, list)": _in_list,
    ".matches(string, string)": _matches,
    ".contains(string, string)": _contains,
    "_+_(string, string)": _join_texts,
    "_+_(bytes, bytes)": _join_texts,
    "_+_(list, list)": _join_lists,
    "_==_(A, A)": _compare,
    "_!=_(A, A)": _compare,
    **{
        f"_{sign}_({kind}, {kind})": _compare
        for sign in ("<", "<=", ">", ">=")
        for kind in ("string", "bytes")
    },
}
