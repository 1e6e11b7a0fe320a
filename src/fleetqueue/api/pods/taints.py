"""Taints of nodes against the tolerations of pods."""

from collections.abc import Iterable, Sequence
from typing import Any

Object = dict[str, Any]


KEEPS_OUT = ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    return any(is_match(toleration, taint) for toleration in tolerations)


def is_match(toleration: Object, taint: Object) -> bool:
    """Whether this toleration is about that taint."""
    if (effect := toleration.get("effect")) and effect != taint.get("effect"):
        return False
    if (key := toleration.get("key")) and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def untolerated(taints: Iterable[Object], tolerations: Sequence[Object]) -> Object | None:
    """The first taint that keeps the pod out."""
    for taint in taints:
        if taint.get("effect") in KEEPS_OUT and not tolerates(tolerations, taint):
            return taint
    return None


def disliked(taints: Iterable[Object], tolerations: Sequence[Object]) -> int:
    """How many taints would rather not have the pod."""
    return sum(
        taint.get("effect") == "PreferNoSchedule" and not tolerates(tolerations, taint)
        for taint in taints
    )
