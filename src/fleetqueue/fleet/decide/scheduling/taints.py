"""Whether a placement puts up with what a cluster is tainted by."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api.fleet import text

Json = dict[str, Any]
_NO_SCHEDULE = "NoSchedule"


def problem(cluster: Json, tolerations: Sequence[Json]) -> str:
    """The first taint that nothing tolerates, in words; "" where there is none."""
    for taint in taints_of(cluster):
        if not any(_tolerates(each, taint) for each in tolerations):
            return f"taint &{text.taint(taint)} cannot be tolerated"
    return ""


def taints_of(cluster: Json) -> Iterable[Json]:
    taints = (cluster.get("spec") or {}).get("taints") or ()
    return [each for each in taints if each.get("effect") == _NO_SCHEDULE]


def _tolerates(toleration: Json, taint: Json) -> bool:
    if (toleration.get("effect") or _NO_SCHEDULE) != taint["effect"]:
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator") == "Exists":
        return not key or key == taint.get("key")
    value = toleration.get("value") or ""
    return bool(key == taint.get("key") and value == (taint.get("value") or ""))
