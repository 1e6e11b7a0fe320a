"""Certificates with their keys, and notes of what was found out about them.

To parse a certificate takes a library that is slow to load, so a start that finds the files it
wrote goes by its notes. A note holds for exactly the bytes it was made of.
"""

import contextlib
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

NOTES = "checked.json"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a sound pair is good for. Times are seconds since 1970."""

    starts_at: float
    ends_at: float
    user: str = ""
    groups: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Note(msgspec.Struct, frozen=True):
    """The digest of what was checked, and what came of it."""

    digest: str
    about: About | None = None


class Notes:
    """What was found out about the files of one directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NOTES

    def recall(self, name: str, *parts: bytes) -> Note | None:
        """The note about a file, or none if it was made of other bytes."""
        note = self._read().get(name)
        return note if note is not None and note.digest == _digest(parts) else None

    def keep(self, name: str, about: About | None, *parts: bytes) -> None:
        notes = self._read() | {name: Note(_digest(parts), about)}
        # Without a note the next start is slower, no more than that.
        with contextlib.suppress(OSError):
            self._path.write_bytes(msgspec.json.encode(notes))

    def _read(self) -> dict[str, Note]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Note])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}


def _digest(parts: tuple[bytes, ...]) -> str:
    """Of each part by itself, so that nothing can move from one to the next."""
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()
