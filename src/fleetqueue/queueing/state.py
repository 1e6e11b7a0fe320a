"""What a decision works on: quota and usage, flavors, the workloads that hold quota, the nodes.

Informer events change it in one place (`admission.state`). A decision changes usage only, and
takes it back with `undo`; its cost follows what it looks at, not what exists.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from fleetqueue.api.meta import Key
from fleetqueue.queueing.model import ClusterQueue, Cohort, Flavor
from fleetqueue.queueing.order import VictimRank, victim_rank
from fleetqueue.queueing.quota import Node, QuotaTree
from fleetqueue.queueing.settings import DEFAULTS, Settings
from fleetqueue.queueing.topology.state import Topologies
from fleetqueue.queueing.workload import Workload


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment to which usage can be brought back."""

    quota: int
    places: int
    taken: int


Ranked: TypeAlias = tuple[list[tuple[VictimRank, Workload]], list[tuple[VictimRank, Workload]]]
"""Those that are evicted already, and the others."""
_rank = itemgetter(0)


class Moment(NamedTuple):
    """A state as it was: how often it changed for good, and how long its logs were. What was undone
    and done again leaves another last line.
    """

    revision: tuple[int, int]
    lengths: tuple[int, int]
    change: object
    taken: object


class State:
    """Everything known now."""

    def __init__(self, settings: Settings = DEFAULTS) -> None:
        self.settings = settings
        self.tree = QuotaTree()
        self.queues: dict[str, ClusterQueue] = {}
        self.cohorts: dict[str, Cohort] = {}
        self.flavors: dict[str, Flavor] = {}
        self.topologies = Topologies(settings)
        self.holders: dict[str, dict[Key, Workload]] = {}
        """By queue, the workloads that hold quota of it."""
        self._homes: dict[Key, str] = {}
        """The queue whose quota a workload holds."""
        self._variants: dict[str, dict[Key, Workload]] = {}
        """Those of them that are variants, by what they are variants of."""
        self._ranked: dict[str, Ranked] = {}
        """By queue, the same in the order of victims; made when it is asked for."""
        self._taken: set[Key] = set()
        self._taken_before: list[tuple[Key, bool]] = []
        """The log of `_taken`."""
        self.inactive: set[str] = set()
        """Queues that admit nothing now; `admission.state` says which."""
        self.delayed_flavors: dict[str, frozenset[str] | None] = {}
        """Per queue, the flavors on which places are chosen in a second pass, since a check comes
        first; None: on all of them."""
        self.dispatching: set[str] = set()
        """Queues whose workloads run on other clusters, which choose the places."""
        self._revision = 0
        """Counts what changes for good."""
        self.last_search: Any = None
        """Kept by `preemption.search`."""
        self._changes = 0
        self._changed: dict[tuple[bool, str], int] = {}
        """Per tree, which change was the last after which flavors that were tried may do."""
        self.share_of: dict[Key, float] = {}
        """What LocalQueues used in the past, where queues go by that."""

    # Objects come, change and go

    def put_queue(self, queue: ClusterQueue) -> None:
        is_new = queue.name not in self.queues
        if not is_new:
            self._advance(self.node(queue.name))
        self.queues[queue.name] = queue
        holders = self.holders.setdefault(queue.name, {})
        self.tree.put_queue(queue)
        if is_new:
            for each in holders.values():
                self.node(queue.name).add(each.usage())
            self.keep()
        self._advance(self.node(queue.name))

    def remove_queue(self, name: str) -> None:
        """Its workloads stay known, should it come back."""
        if self.queues.pop(name, None) is None:
            return
        self._advance(self.node(name))
        self.tree.remove_queue(name)
        self._changed.pop((True, name), None)
        self._forget_unless_held(name)

    def put_cohort(self, cohort: Cohort) -> None:
        self._advance(self.tree.cohorts.get(cohort.name))
        self.cohorts[cohort.name] = cohort
        self.tree.put_cohort(cohort)
        self._advance(self.tree.cohorts[cohort.name])

    def remove_cohort(self, name: str) -> None:
        self.cohorts.pop(name, None)
        self._advance(self.tree.cohorts.get(name))
        self.tree.remove_cohort(name)
        self._advance(self.tree.cohorts.get(name))
        if name not in self.tree.cohorts:
            self._changed.pop((False, name), None)

    def put_flavor(self, flavor: Flavor) -> None:
        self.flavors[flavor.name] = flavor
        self.topologies.put_flavor(flavor)

    def remove_flavor(self, name: str) -> None:
        self.flavors.pop(name, None)
        self.topologies.remove_flavor(name)

    def hold(self, workload: Workload) -> None:
        """The workload holds quota; what the same one held before is replaced."""
        before = self._drop(workload.key)
        if before is not None and _frees(before, workload):
            self._advance(self.tree.queues.get(before.cluster_queue))
        self.holders.setdefault(workload.cluster_queue, {})[workload.key] = workload
        self._ranked.pop(workload.cluster_queue, None)
        self._homes[workload.key] = workload.cluster_queue
        if workload.parent_uid:
            self._variants.setdefault(workload.parent_uid, {})[workload.key] = workload
        self.give(workload)
        self.keep()

    def release(self, key: Key) -> Workload | None:
        """The workload that held quota, if it did."""
        found = self._drop(key)
        if found is not None:
            self._advance(self.tree.queues.get(found.cluster_queue))
        return found

    def holder(self, key: Key) -> Workload | None:
        """The workload as it holds quota, if it does."""
        home = self._homes.get(key)
        return None if home is None else self.holders[home].get(key)

    def ranked(self, queue: str) -> Ranked:
        """Those that hold quota of a queue, as preemption tries them."""
        found = self._ranked.get(queue)
        if found is None:
            pairs = [(victim_rank(each), each) for each in self.holders.get(queue, {}).values()]
            pairs.sort(key=_rank)
            evicted = [pair for pair in pairs if pair[1].is_evicted]
            found = (evicted, [pair for pair in pairs if not pair[1].is_evicted])
            self._ranked[queue] = found
        return found

    def replaced_by(self, workload: Workload) -> Workload | None:
        """The older slice that holds the quota which this one gets instead."""
        found = self.holder(workload.replaces) if workload.replaces is not None else None
        if found is None or self.is_taken(found.key) or not workload.continues(found):
            return None
        return found if found.cluster_queue == workload.cluster_queue else None

    def variants_of(self, parent_uid: str) -> Iterable[Workload]:
        """The variants of a workload that hold quota."""
        return self._variants.get(parent_uid, {}).values()

    # A decision tries something

    def mark(self) -> Mark:
        return Mark(self.tree.mark(), self.topologies.mark(), len(self._taken_before))

    def moment(self) -> Moment:
        count, change = self.tree.position()
        taken = self._taken_before[-1] if self._taken_before else None
        revision = (self._revision, self.tree.version)
        return Moment(revision, (count, len(self._taken_before)), change, taken)

    def is_now(self, moment: Moment) -> bool:
        """Whether everything is as it was then."""
        now = self.moment()
        is_as_long = (now.revision, now.lengths) == (moment.revision, moment.lengths)
        return is_as_long and now.change is moment.change and now.taken is moment.taken

    def undo(self, mark: Mark) -> None:
        self.tree.undo(mark.quota)
        self.topologies.undo(mark.places)
        while len(self._taken_before) > mark.taken:
            key, was_taken = self._taken_before.pop()
            if was_taken:
                self._taken.add(key)
            else:
                self._taken.discard(key)

    def keep(self) -> None:
        """Usage stays as it is now."""
        self._revision += 1
        self.tree.forget()
        self.topologies.forget()
        self._taken.clear()
        self._taken_before.clear()

    def is_taken(self, key: Key) -> bool:
        """Whether a decision tries to do without this workload."""
        return key in self._taken

    def give(self, workload: Workload) -> None:
        """Counts what the workload holds."""
        node = self.tree.queues.get(workload.cluster_queue)
        if node is not None:
            node.add(workload.usage())
        self.topologies.add(workload)
        self._taken_before.append((workload.key, workload.key in self._taken))
        self._taken.discard(workload.key)

    def take(self, workload: Workload) -> None:
        """No longer counts what it holds."""
        node = self.tree.queues.get(workload.cluster_queue)
        if node is not None:
            node.remove(workload.usage())
        self.topologies.remove(workload)
        self._taken_before.append((workload.key, workload.key in self._taken))
        self._taken.add(workload.key)

    def node(self, queue: str) -> Node:
        return self.tree.queues[queue]

    def generation(self, queue: str) -> int:
        """Differs after a change after which flavors that were tried before may do."""
        found = self._tree(self.tree.queues.get(queue))
        return self._changed.get(found, 0) if found is not None else 0

    def _drop(self, key: Key) -> Workload | None:
        home = self._homes.pop(key, None)
        if home is None:
            return None
        found = self.holders[home].pop(key)
        self._ranked.pop(home, None)
        self._forget_variant(found)
        self.take(found)
        self.keep()
        self._forget_unless_held(home)
        return found

    def _forget_unless_held(self, queue: str) -> None:
        """Nothing is kept of a queue that is gone when nobody holds quota of it."""
        if queue not in self.queues and not self.holders.get(queue):
            self.holders.pop(queue, None)
            self._ranked.pop(queue, None)
            self.delayed_flavors.pop(queue, None)
            self.dispatching.discard(queue)

    def _forget_variant(self, workload: Workload) -> None:
        if workload.parent_uid:
            siblings = self._variants[workload.parent_uid]
            del siblings[workload.key]
            if not siblings:
                del self._variants[workload.parent_uid]

    def _advance(self, node: Node | None) -> None:
        found = self._tree(node)
        if found is not None:
            self._changes += 1
            self._changed[found] = self._changes

    def _tree(self, node: Node | None) -> tuple[bool, str] | None:
        """The tree that a queue or cohort is part of, by its root; None where there is no root."""
        if node is None or self.tree.has_cycle(node):
            return None
        root = node.root
        return root.is_queue, root.name


def _frees(before: Workload, now: Workload) -> bool:
    """Whether a change of what a workload holds may make room for others."""
    return before.cluster_queue != now.cluster_queue or before.usage() != now.usage()
