"""Short, stable names for contents: the hash in the names of ReplicaSets and revisions."""

from hashlib import sha256
from typing import Any

import msgspec

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels, so no words; and nothing that looks like another character."""
LENGTH = 10

_encoder = msgspec.json.Encoder(order="deterministic")


def content_hash(value: Any, collisions: int = 0) -> str:
    """The same for the same content in any order of keys; a collision count gives another one."""
    digest = sha256(_encoder.encode([value, collisions])).digest()
    left = int.from_bytes(digest, "big")
    characters = []
    for _ in range(LENGTH):
        left, at = divmod(left, len(ALPHABET))
        characters.append(ALPHABET[at])
    return "".join(characters)
