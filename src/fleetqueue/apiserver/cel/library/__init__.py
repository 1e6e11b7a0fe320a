"""All functions that expressions may call, by name."""

from collections.abc import Mapping

from fleetqueue.apiserver.cel import arithmetic, conversions
from fleetqueue.apiserver.cel.library import (
    collections,
    named_formats,
    networks,
    optionals,
    quantities,
    regexes,
    strings,
    urls,
    versions,
)
from fleetqueue.apiserver.cel.overloads import Overload

_MODULES = (
    arithmetic,
    conversions,
    strings,
    regexes,
    collections,
    optionals,
    quantities,
    networks,
    urls,
    versions,
    named_formats,
)


def _by_name() -> Mapping[str, list[Overload]]:
    found: dict[str, list[Overload]] = {}
    for module in _MODULES:
        for overload in module.OVERLOADS:
            found.setdefault(overload.function, []).append(overload)
    return found


FUNCTIONS = _by_name()
"""Logical operators and the ternary are not functions: they do not evaluate all their arguments."""
