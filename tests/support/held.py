"""How much an object holds, for tests that say that what came and went left nothing behind."""

from collections import deque
from collections.abc import Mapping


def entries(owner: object) -> int:
    """Of all containers that it consists of, those within others too."""
    return sum(_entries(each) for each in vars(owner).values())


def _entries(held: object) -> int:
    if isinstance(held, Mapping):
        return sum(1 + _entries(each) for each in held.values())
    if isinstance(held, list | tuple | set | frozenset | deque):
        return sum(1 + _entries(each) for each in held)
    return 0
