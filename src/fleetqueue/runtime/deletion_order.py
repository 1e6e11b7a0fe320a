"""Which pods go first when there are too many: the ones that are missed least."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cmp_to_key
from math import log2
from typing import Any

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def surplus(
    pods: Sequence[Object], count: int, now: datetime, related: Iterable[Object] = ()
) -> list[Object]:
    """So many of the pods, worst first; `related` are those that share nodes with them."""
    if count >= len(pods):
        return list(pods)
    return sorted(pods, key=order(now, related))[:count]


def order(now: datetime, related: Iterable[Object] = ()) -> Callable[[Object], tuple[Any, ...]]:
    """A sort key: pods that go first come first."""
    neighbours: dict[str, int] = {}
    for pod in related:
        if pod_facts.is_active(pod):
            node = pod_facts.node_name(pod)
            neighbours[node] = neighbours.get(node, 0) + 1

    def key(pod: Object) -> tuple[Any, ...]:
        return (
            bool(pod_facts.node_name(pod)),
            _PHASES.get(pod_facts.phase(pod), 0),
            pod_facts.is_ready(pod),
            deletion_cost(pod),
            -neighbours.get(pod_facts.node_name(pod), 0),
            cmp_to_key(_by_readiness_time(now))(pod),
            tuple(-count for count in pod_facts.restarts(pod)),
            cmp_to_key(_by_age(now))(pod),
        )

    return key


def deletion_cost(pod: Object) -> int:
    """What the annotation says; what is no number costs nothing."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "")
    digits = text[1:] if text[:1] == "-" else text
    is_plain = digits.isdecimal() and digits.isascii() and (digits == "0" or digits[0] != "0")
    return int(text) if is_plain and -(2**31) <= int(text) < 2**31 else 0


def _by_readiness_time(now: datetime) -> Callable[[Object, Object], int]:
    def compare(left: Object, right: Object) -> int:
        if not (pod_facts.is_ready(left) and pod_facts.is_ready(right)):
            return 0
        return _younger_first(left, right, pod_facts.ready_at(left), pod_facts.ready_at(right), now)

    return compare


def _by_age(now: datetime) -> Callable[[Object, Object], int]:
    def compare(left: Object, right: Object) -> int:
        born = pod_facts.created_at(left), pod_facts.created_at(right)
        return _younger_first(left, right, *born, now)

    return compare


def _younger_first(
    left: Object, right: Object, since: datetime | None, until: datetime | None, now: datetime
) -> int:
    """By the order of magnitude of the age only; within one, the uid decides as a coin would."""
    if since == until:
        return 0
    if since is None or until is None:
        return -1 if since is None else 1
    difference = _magnitude(now, since) - _magnitude(now, until)
    if difference:
        return difference
    return -1 if left["metadata"]["uid"] < right["metadata"]["uid"] else 1


def _magnitude(now: datetime, since: datetime) -> int:
    nanoseconds = (now - since).total_seconds() * 1e9
    return int(log2(nanoseconds)) if nanoseconds > 0 else -1
