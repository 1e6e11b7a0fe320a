"""Whom an object belongs to, as it is stored."""

from typing import Any


def controller_uid(obj: dict[str, Any]) -> str:
    """The uid of the owner that controls the object; "" where nobody does."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference.get("uid") or "")
    return ""
