"""Pods that wait for a node, in the order in which they are tried: by priority, then by age.

Pods that are alike wait together: where one finds no node, the others need not be asked.
"""

from collections.abc import Callable, Hashable
from datetime import datetime
from typing import TypeAlias

from fleetqueue.base.heap import KeyedHeap
from fleetqueue.runtime.scheduling.pods import PodInfo

Labels: TypeAlias = tuple[tuple[str, str | None], ...]


class _Group:
    """Pods that are alike, and what was tried since something changed that may help them."""

    def __init__(self) -> None:
        self.pods: KeyedHeap[str, PodInfo] = KeyedHeap(_age)
        self.tried: set[Labels] = set()
        self.told: dict[Labels, str] = {}
        """Why they wait, as it was last told to all but the new ones."""
        self.new: dict[str, None] = {}

    def candidate(self, minded: frozenset[str]) -> PodInfo | None:
        first = self.pods.peek()
        if first is None or not self.tried:
            return None if first is None else first[1]
        if not minded:
            return None
        untried = (i for _, i in self.pods.ordered() if _labels(i, minded) not in self.tried)
        return next(untried, None)

    @property
    def rank(self) -> tuple[int, datetime, str]:
        first = self.pods.peek()
        assert first is not None
        return (-first[1].priority, *_age(first[1]))


class PendingPods:
    """`next` is the pod to try; then it is `removed`, or `failed` until something wakes it."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}
        self._likeness: dict[str, Hashable] = {}
        self._active: KeyedHeap[Hashable, _Group] = KeyedHeap(lambda group: group.rank)

    def put(self, info: PodInfo, *, is_news: bool = True) -> None:
        """A pod, new or as it is now. `is_news`: it may fit now where it did not before."""
        known = self._likeness.get(info.uid)
        if known is not None and known != info.likeness:
            self.remove(info.uid)
        group = self._groups.setdefault(info.likeness, _Group())
        group.pods.put(info.uid, info)
        self._likeness[info.uid] = info.likeness
        if is_news or known != info.likeness:
            group.new[info.uid] = None
        if is_news:
            self._wake(info.likeness, group)

    def remove(self, uid: str) -> None:
        likeness = self._likeness.pop(uid, None)
        if likeness is None:
            return
        group = self._groups[likeness]
        group.pods.remove(uid)
        group.new.pop(uid, None)
        if not group.pods:
            del self._groups[likeness]
            self._active.remove(likeness)
        elif likeness in self._active:
            self._active.put(likeness, group)

    def next(self, minded: frozenset[str] = frozenset()) -> PodInfo | None:
        """`minded`: the labels by which pods that are placed choose whom they mind; pods that are
        alike but for these have to be tried each.
        """
        while (first := self._active.peek()) is not None:
            likeness, group = first
            found = group.candidate(minded)
            if found is not None:
                return found
            self._active.remove(likeness)
        return None

    def failed(
        self, info: PodInfo, message: str = "", minded: frozenset[str] = frozenset()
    ) -> list[PodInfo]:
        """No node takes it, for this reason; returns all for which that holds and which have not
        been told so, in their order.
        """
        group = self._groups[info.likeness]
        labels = _labels(info, minded)
        group.tried.add(labels)
        is_known = group.told.get(labels) == message
        group.told[labels] = message
        candidates = [group.pods.get(uid) for uid in (group.new if is_known else group.pods)]
        found = [each for each in candidates if each and _labels(each, minded) == labels]
        for each in found:
            group.new.pop(each.uid, None)
        return sorted(found, key=_age)

    def wake(self, whom: Callable[[PodInfo], bool] | None = None) -> None:
        """Something changed that may help: all, or those whose likes it concerns."""
        for likeness, group in self._groups.items():
            first = group.pods.peek()
            assert first is not None
            if whom is None or whom(first[1]):
                self._wake(likeness, group)

    def wake_pod(self, uid: str) -> None:
        """One that waits is tried again, with its likes, and told again."""
        likeness = self._likeness.get(uid)
        if likeness is not None:
            self._groups[likeness].new[uid] = None
            self._wake(likeness, self._groups[likeness])

    @property
    def is_active(self) -> bool:
        return bool(self._active)

    def __len__(self) -> int:
        return len(self._likeness)

    def __contains__(self, uid: object) -> bool:
        return uid in self._likeness

    def _wake(self, likeness: Hashable, group: _Group) -> None:
        group.tried.clear()
        self._active.put(likeness, group)


def _age(info: PodInfo) -> tuple[datetime, str]:
    return (info.created_at, f"{info.namespace}/{info.name}")


def _labels(info: PodInfo, minded: frozenset[str]) -> Labels:
    return tuple((key, info.labels.get(key)) for key in sorted(minded)) if minded else ()
