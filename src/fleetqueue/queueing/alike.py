"""Workloads that wait to be tried, those that would get the same answer together: such a group is
set aside, and taken back, as a whole.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.base.heap import KeyedHeap
from fleetqueue.queueing.workload import Workload

Rank: TypeAlias = Callable[[Workload], Any]
Name: TypeAlias = tuple[str, str]
"""The hash and the namespace of all of a group; workloads without a hash are never set aside."""


class Group:
    """The workloads of one name, in one of the two places."""

    __slots__ = ("is_aside", "members", "name")

    def __init__(self, name: Name, rank: Rank, is_aside: bool) -> None:
        self.name = name
        self.members: KeyedHeap[Key, Workload] = KeyedHeap(rank)
        self.is_aside = is_aside


class Alike:
    """In the order of `rank`, a function of what does not change without `put` or `reorder`."""

    def __init__(self, rank: Rank) -> None:
        self._rank = rank
        self._order: KeyedHeap[Name, Group] = KeyedHeap(self._first_rank)
        self._aside: dict[Name, Group] = {}
        self._by_hash: dict[str, dict[Name, None]] = {}
        """The names of groups that are not aside."""
        self._group_of: dict[Key, Group] = {}

    def put(self, workload: Workload, *, aside: bool = False) -> None:
        """It must not be in the other place."""
        group = self._group((workload.hash, workload.key.namespace), aside)
        group.members.put(workload.key, workload)
        self._group_of[workload.key] = group
        self._follow(group)

    def remove(self, key: Key) -> Workload | None:
        group = self._group_of.pop(key, None)
        if group is None:
            return None
        found = group.members.remove(key)
        self._follow(group)
        return found

    def pop(self) -> Workload | None:
        """The first of all that are not aside."""
        first = self._order.peek()
        if first is None:
            return None
        key, workload = first[1].members.pop()
        del self._group_of[key]
        self._follow(first[1])
        return workload

    def get(self, key: Key) -> Workload | None:
        group = self._group_of.get(key)
        return None if group is None else group.members.get(key)

    def is_aside(self, key: Key) -> bool:
        group = self._group_of.get(key)
        return group is not None and group.is_aside

    def set_aside(self, hash: str) -> None:
        """All with this hash."""
        for name in list(self._by_hash.get(hash, ())):
            group = self._order.get(name)
            if group is not None:
                self._leave_order(group)
                self._move(group, aside=True)

    def take_back(self, is_selected: Callable[[str], bool]) -> None:
        """All groups of namespaces that are selected."""
        for name, group in list(self._aside.items()):
            if is_selected(name[1]):
                del self._aside[name]
                self._move(group, aside=False)

    def reorder(self, key: Key | None = None) -> None:
        """The rank of one changed, or of all."""
        for each in list(self._group_of) if key is None else (key,):
            group = self._group_of.get(each)
            workload = None if group is None else group.members.get(each)
            if group is not None and workload is not None:
                group.members.put(each, workload)
                self._follow(group)

    def __len__(self) -> int:
        """Those that are not aside."""
        return len(self._group_of) - self.aside_count

    @property
    def has_any(self) -> bool:
        return len(self._order) > 0

    @property
    def aside_count(self) -> int:
        return sum(len(group.members) for group in self._aside.values())

    def hashes(self, *, aside: bool = False) -> set[str]:
        return {name[0] for name in (self._aside if aside else self._order)}

    def __iter__(self) -> Iterator[tuple[Workload, bool]]:
        """All, in no order, each with whether it is aside."""
        for key, group in self._group_of.items():
            if (workload := group.members.get(key)) is not None:
                yield workload, group.is_aside

    # Groups

    def _group(self, name: Name, aside: bool) -> Group:
        found = self._aside.get(name) if aside else self._order.get(name)
        return Group(name, self._rank, aside) if found is None else found

    def _move(self, group: Group, *, aside: bool) -> None:
        """It is nowhere; where there is one of its name, the two become one."""
        there = self._aside.get(group.name) if aside else self._order.get(group.name)
        if there is None:
            group.is_aside = aside
            self._follow(group)
            return
        fewer, more = sorted((group, there), key=lambda each: len(each.members))
        more.is_aside = aside
        for key in list(fewer.members):
            if (workload := fewer.members.get(key)) is not None:
                more.members.put(key, workload)
                self._group_of[key] = more
        self._follow(more)

    def _follow(self, group: Group) -> None:
        """Puts the group where it belongs, with its first as it is now."""
        if group.is_aside:
            if len(group.members):
                self._aside[group.name] = group
            else:
                self._aside.pop(group.name, None)
        elif len(group.members):
            self._order.put(group.name, group)
            self._by_hash.setdefault(group.name[0], {})[group.name] = None
        else:
            self._leave_order(group)

    def _leave_order(self, group: Group) -> None:
        self._order.remove(group.name)
        names = self._by_hash.get(group.name[0], {})
        names.pop(group.name, None)
        if not names:
            self._by_hash.pop(group.name[0], None)

    def _first_rank(self, group: Group) -> Any:
        first = group.members.peek()
        assert first is not None
        return self._rank(first[1])
