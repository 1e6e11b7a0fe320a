"""What kube-apiserver adds to the built-in kinds: defaults, rules and warnings.

The folder is the registry: every module here that has `STRATEGIES` adds its kinds.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from fleetqueue.apiserver.strategy import Strategy


@cache
def strategies() -> Mapping[tuple[str, str], Strategy]:
    """(group, kind) -> what is special about it; a kind that is not here is a plain object."""
    found: dict[tuple[str, str], Strategy] = {}
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        own: Mapping[tuple[str, str], Strategy] = getattr(loaded, "STRATEGIES", {})
        assert not found.keys() & own.keys(), f"{module.name} repeats a kind"
        found.update(own)
    return found
