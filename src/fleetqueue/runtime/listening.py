"""Who listens where on this machine, as the kernel tells it: nobody is disturbed by being asked."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from socket import AF_INET, AF_INET6, inet_ntop
from typing import TypeAlias

Place: TypeAlias = tuple[str, int]
"""An address and a port."""
_TABLES = {AF_INET: Path("/proc/net/tcp"), AF_INET6: Path("/proc/net/tcp6")}
_LISTENING = "0A"
_EVERYWHERE = ("0.0.0.0", "::")
_WORD = 8
"""Hexadecimal digits of the numbers of which an address is made, each in the machine's order."""


def one_listens(places: Iterable[Place]) -> bool:
    """Whether a program takes connections at one of them: at its address, or at all there are."""
    return not _listeners().isdisjoint(
        (each, port) for address, port in places for each in (address, *_EVERYWHERE)
    )


def listens_everywhere(port: int) -> bool:
    """Whether a program has this port at all addresses."""
    return not _listeners().isdisjoint((each, port) for each in _EVERYWHERE)


def _listeners() -> set[Place]:
    return {place for family, table in _TABLES.items() for place in _rows(family, table)}


def _rows(family: int, table: Path) -> Iterator[Place]:
    """Linux tells who listens first; what is connected, which may be thousands, is not read."""
    try:
        file = table.open(encoding="ascii")
    except OSError:  # no IPv6 here
        return
    with file:
        for line in islice(file, 1, None):
            _, local, _, state, *_ = line.split()
            if state != _LISTENING:
                return
            address, _, port = local.partition(":")
            yield inet_ntop(family, _packed(address)), int(port, 16)


def _packed(address: str) -> bytes:
    words = (address[at : at + _WORD] for at in range(0, len(address), _WORD))
    return b"".join(bytes.fromhex(word)[::-1] for word in words)
