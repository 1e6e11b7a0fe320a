"""When an object that is being deleted may go."""

from typing import Any

Object = dict[str, Any]


def may_leave(obj: Object) -> bool:
    """Its deletion was asked for, its grace is over and no finalizer holds it."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
