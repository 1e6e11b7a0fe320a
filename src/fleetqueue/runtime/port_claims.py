"""Which ports of this machine jobs have, among all clusters on it: each is claimed by a name in the
kernel that goes with the process.
"""

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from fleetqueue.base import kernel_names

_OTHERS = range(20_000, 32_000)
"""Below those that the kernel gives to connections."""
_STEP = 7919


class Claim(Protocol):
    """Held until it is closed."""

    def close(self) -> None: ...


Claims: TypeAlias = Callable[[int], Claim | None]
"""Claims a port; None where somebody else has it."""


class PortClaims:
    """The ports that this process has claimed for jobs."""

    def __init__(
        self, claim: Claims | None = None, is_free: Callable[[int], bool] | None = None
    ) -> None:
        self._claim = claim or claim_on_machine
        self.is_free = is_free or is_free_on_machine
        self._held: dict[int, Claim] = {}

    def free_among(self, ports: Iterable[int]) -> frozenset[int]:
        """Those that nobody listens on now."""
        return frozenset(port for port in ports if self.is_free(port))

    def take(self, asked: int, *, keeps: bool) -> int:
        """The port that is asked for where no other job has it, and another one otherwise.

        `keeps`: whether it was free for this job before the job itself began to listen.
        """
        if keeps and self._take(asked):
            return asked
        for port in _candidates(asked):
            if self.is_free(port) and self._take(port):
                return port
        raise OSError("no port of this machine is free")

    def release(self, ports: Iterable[int]) -> None:
        for port in ports:
            claim = self._held.pop(port, None)
            if claim is not None:
                claim.close()

    def close(self) -> None:
        """Nothing is claimed any more."""
        self.release(list(self._held))

    def _take(self, port: int) -> bool:
        if port in self._held:
            return False
        claim = self._claim(port)
        if claim is None:
            return False
        self._held[port] = claim
        return True


def _candidates(asked: int) -> Iterator[int]:
    for step in range(len(_OTHERS)):
        yield _OTHERS[(asked * _STEP + step) % len(_OTHERS)]


def is_free_on_machine(port: int) -> bool:
    """Whether a program could listen on all addresses, however it goes about it."""
    with socket.socket() as asking:
        try:
            asking.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def claim_on_machine(port: int) -> Claim | None:
    """On systems without names in the kernel, clusters beside this one are not seen."""
    return kernel_names.claim(f"fleetqueue-port-{port}")
