"""Why a pod waits, in one sentence, put together as kube-scheduler does."""

from collections import Counter
from collections.abc import Iterable

from fleetqueue.runtime.scheduling.verdicts import Unfit

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
EVENT_LENGTH_MAX = 1024


def fit_message(node_count: int, unfit: Iterable[Unfit], preemption: str = "") -> str:
    """`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: ...`;
    reasons in the order of their text, number first.
    """
    counts = Counter(reason for each in unfit for reason in each.reasons)
    parts = sorted(f"{number} {reason}" for reason, number in counts.items())
    message = f"0/{node_count} nodes are available:"
    if parts:
        message += f" {', '.join(parts)}."
    return _with_preemption(message, preemption)


def pod_message(node_count: int, problem: str, preemption: str = "") -> str:
    """Where something about the pod keeps it off all nodes alike."""
    return _with_preemption(f"0/{node_count} nodes are available: {problem}.", preemption)


def event_message(message: str) -> str:
    """As much of it as an event can carry."""
    if len(message) <= EVENT_LENGTH_MAX:
        return message
    return f"{message[: EVENT_LENGTH_MAX - 4]} ..."


def _with_preemption(message: str, preemption: str) -> str:
    return f"{message} preemption: {preemption}" if preemption else message
