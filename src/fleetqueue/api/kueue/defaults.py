"""What Kueue's mutating webhooks fill in when an object of its own kinds is created."""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.kueue.labels import RESOURCE_IN_USE_FINALIZER
from fleetqueue.base import codec

Json = dict[str, Any]
CHOICES: dict[str, str | None] = {
    "queueingStrategy": "BestEffortFIFO",
    "stopPolicy": "None",
    "flavorFungibility.whenCanBorrow": "MayStopSearch",
    "flavorFungibility.whenCanPreempt": "TryNextFlavor",
    "flavorFungibility.preference": None,
    "preemption.reclaimWithinCohort": "Never",
    "preemption.withinClusterQueue": "Never",
    "preemption.borrowWithinCohort.policy": "Never",
}
"""What an empty word means in the spec of a ClusterQueue; None: nothing is said."""


def defaulted(obj: Json, partial_admission: bool = True) -> Json:
    """The object as the webhooks leave it; the one handed in stays as it is."""
    result: Json = codec.copy(obj)
    kind = str(obj.get("kind"))
    if kind == "Workload" and not partial_admission:
        _drop_min_counts(result)
    if step := _STEPS.get(kind):
        step(result)
    return result


def _hold_while_in_use(obj: Json) -> None:
    metadata = obj.setdefault("metadata", {})
    finalizers = metadata.get("finalizers") or []
    if RESOURCE_IN_USE_FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, RESOURCE_IN_USE_FINALIZER]


def _complete_queue(queue: Json) -> None:
    _hold_while_in_use(queue)
    for path, default in CHOICES.items():
        *parents, name = path.split(".")
        found: Any = queue.get("spec")
        for each in parents:
            found = found.get(each) if isinstance(found, dict) else None
        if not isinstance(found, dict) or found.get(name) != "":
            continue
        if default is None:
            del found[name]
        else:
            found[name] = default


_STEPS: dict[str, Callable[[Json], None]] = {
    "ClusterQueue": _complete_queue,
    "ResourceFlavor": _hold_while_in_use,
}


def _drop_min_counts(workload: Json) -> None:
    """Without partial admission, all pods of a set are admitted or none."""
    for pod_set in (workload.get("spec") or {}).get("podSets") or []:
        pod_set.pop("minCount", None)
