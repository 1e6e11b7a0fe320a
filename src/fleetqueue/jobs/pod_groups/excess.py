"""Pods of a role beyond its size: which stay, and what becomes of the others."""

from collections.abc import Iterable, Sequence

from fleetqueue.api.kueue import labels
from fleetqueue.jobs.pods import gates, states
from fleetqueue.kube.finalizers import finalizers_of, is_deleting
from fleetqueue.kube.plan import Delete, Note, Step
from fleetqueue.kube.resources import Object


def excess_of(pods: Sequence[Object], size: int) -> list[Object]:
    """The tail: pods that we hold stay first, then those that go already, then the older."""
    return sorted(pods, key=_standing)[size:]


def removed(pods: Iterable[Object]) -> list[Step]:
    going = [pod for pod in pods if not is_deleting(pod)]
    steps = gates.released(going)
    steps += [Delete(pod) for pod in going]
    return [*steps, *(Note("ExcessPodDeleted", "Excess pod deleted", about=pod) for pod in going)]


def _standing(pod: Object) -> tuple[bool, bool, str, str]:
    metadata = pod["metadata"]
    return (
        labels.MANAGED not in finalizers_of(pod),
        states.is_gated(pod),
        str(metadata.get("creationTimestamp") or ""),
        str(metadata["name"]),
    )
