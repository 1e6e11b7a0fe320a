"""Which cluster of this machine is which: each has a number, and the addresses 127.<number>.x.y."""

import socket
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from fleetqueue.base import kernel_names
from fleetqueue.errors import UserError

NUMBERS = range(1, 255)


@dataclass
class Number:
    """A number that nobody else has, as long as this is held."""

    value: int
    _claim: socket.socket | None = None

    def release(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None


def take(directory: Path) -> Number:
    """The number that the cluster in this directory had before, or a free one.

    Which one depends on the directory, so that clusters that are down for a while rarely find
    theirs taken when they come back.
    """
    note = directory / "number"
    if note.exists():
        value = int(note.read_text())
        claim = _claim(value)
        if claim is None:
            raise UserError(
                f'the cluster of "{directory}" runs already, or another one of this machine uses '
                f"its addresses 127.{value}.0.0/16: stop it first"
            )
        return Number(value, claim)
    for value in _preferred(directory):
        claim = _claim(value)
        if claim is not None:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            note.write_text(str(value))
            return Number(value, claim)
    raise UserError("254 clusters run on this machine already: stop one of them first")


def _preferred(directory: Path) -> list[int]:
    start = crc32(str(directory.resolve()).encode()) % len(NUMBERS)
    return [*NUMBERS[start:], *NUMBERS[:start]]


def _claim(value: int) -> socket.socket | None:
    """None where another process has it. Systems without such names know one loopback address
    only, so there is nothing to share out.
    """
    return kernel_names.claim(f"fleetqueue-cluster-{value}")
