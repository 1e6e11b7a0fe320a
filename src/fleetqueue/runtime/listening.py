"""Who listens where on this machine, as the kernel tells it: nobody is disturbed by being asked."""

from collections.abc import Iterator
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


def listens(place: Place) -> bool:
    """Whether a program takes connections there, at this address or at all there are."""
    address, port = place
    return not _listeners().isdisjoint((each, port) for each in (address, *_EVERYWHERE))


def listens_everywhere(port: int) -> bool:
    """Whether a program has this port at all addresses."""
    return not _listeners().isdisjoint((each, port) for each in _EVERYWHERE)


def _listeners() -> set[Place]:
    return {place for family, table in _TABLES.items() for place in _rows(family, table)}


def _rows(family: int, table: Path) -> Iterator[Place]:
    try:
        lines = table.read_text("ascii").splitlines()[1:]
    except OSError:  # no IPv6 here
        return
    for line in lines:
        _, local, _, state, *_ = line.split()
        if state == _LISTENING:
            address, _, port = local.partition(":")
            yield inet_ntop(family, _packed(address)), int(port, 16)


def _packed(address: str) -> bytes:
    words = (address[at : at + _WORD] for at in range(0, len(address), _WORD))
    return b"".join(bytes.fromhex(word)[::-1] for word in words)
