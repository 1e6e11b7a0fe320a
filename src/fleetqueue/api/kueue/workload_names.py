"""The part of a Workload's name that tells namesakes apart, which anybody can compute."""

import hashlib

HASH_LENGTH = 5
LENGTH_MAX = 253
SHORT_LENGTH_MAX = 63
"""With ShortWorkloadNames."""


def hashed(prefix: str, *told: str, length_max: int = LENGTH_MAX) -> str:
    """The name that begins like this, for what is told; a long beginning is cut."""
    digest = hashlib.sha1("\n".join(told).encode(), usedforsecurity=False).hexdigest()
    return f"{prefix[: length_max - HASH_LENGTH - 1]}-{digest[:HASH_LENGTH]}"
