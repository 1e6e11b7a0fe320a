"""What this package needs of the outside world beside the time: random bits, and live objects."""

from collections.abc import Callable
from typing import Any, Protocol

Lookup = Callable[[str, str, str], dict[str, Any] | None]
"""(resource, namespace, name) -> the live object: serviceaccounts, pods, secrets or nodes."""


class Random(Protocol):
    """`random.SystemRandom()` in production: tokens are drawn from it."""

    def getrandbits(self, k: int, /) -> int: ...
