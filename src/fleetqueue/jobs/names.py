"""The names of Workloads, which anybody can compute from the job."""

import hashlib

HASH_LENGTH = 5


def workload_name(
    kind: str, group: str, name: str, uid: str, *, extra: str = "", length_max: int = 253
) -> str:
    """`extra` tells the Workloads of one elastic job apart."""
    told = [kind, group, name, uid, *([extra] if extra else [])]
    digest = hashlib.sha1("\n".join(told).encode(), usedforsecurity=False).hexdigest()
    prefix = f"{kind.lower()}-{name}"[: length_max - HASH_LENGTH - 1]
    return f"{prefix}-{digest[:HASH_LENGTH]}"
