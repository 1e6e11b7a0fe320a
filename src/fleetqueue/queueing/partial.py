"""How many pods fewer would do, where a workload allows that."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fleetqueue.queueing.workload import PodSet

Found = TypeVar("Found")


def may_shrink(pod_sets: Sequence[PodSet]) -> bool:
    return any(_slack(each) for each in pod_sets)


def fewest_less(
    pod_sets: Sequence[PodSet], attempt: Callable[[Mapping[str, int]], Found | None]
) -> Found | None:
    """What the attempt finds with as few pods less as possible; that the full counts do not do is
    known. Assumes that what does with more pods does with fewer.
    """
    all_less = sum(_slack(each) for each in pod_sets)
    best: Found | None = None
    low, high = 1, all_less
    while low <= high:
        less = (low + high) // 2
        found = attempt(_counts(pod_sets, less, all_less))
        if found is None:
            low = less + 1
        else:
            best, high = found, less - 1
    return best


def _counts(pod_sets: Sequence[PodSet], less: int, all_less: int) -> dict[str, int]:
    return {each.name: each.count - _slack(each) * less // all_less for each in pod_sets}


def _slack(pods: PodSet) -> int:
    return 0 if pods.count_min is None else max(0, pods.count - pods.count_min)
