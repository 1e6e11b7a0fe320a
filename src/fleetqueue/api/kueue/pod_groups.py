"""What a pod says of the group that it is queued with."""

from typing import Any

from fleetqueue.api.kueue import labels


def group_of(pod: dict[str, Any]) -> str:
    """The name of its group; "" where it stands for itself."""
    metadata = pod.get("metadata") or {}
    said = (metadata.get("annotations") or {}).get(labels.POD_GROUP_NAME)
    return said or (metadata.get("labels") or {}).get(labels.POD_GROUP_NAME) or ""
