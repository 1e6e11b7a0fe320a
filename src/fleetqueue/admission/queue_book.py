"""The queues, cohorts, flavors, checks and topologies that are known, and what follows from them:
which ClusterQueues may admit, and who has to look again when something changes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fleetqueue.admission import activity
from fleetqueue.admission.activity import Activity, Known
from fleetqueue.api.meta import Key
from fleetqueue.queueing import reading_queues
from fleetqueue.queueing.model import ClusterQueue
from fleetqueue.queueing.queues import PendingQueue
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.state import State

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: where its workloads go, and whether they may."""

    cluster_queue: str
    stop_policy: str = "None"
    weight: float = 1.0
    is_terminating: bool = False
    """Whether it is being deleted, and somebody's finalizer holds it."""

    @property
    def is_stopped(self) -> bool:
        return self.stop_policy != "None" or self.is_terminating


class QueueBook(ABC):
    """Kept by events; what it means for workloads is left to the ledger."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state = State(settings)
        self.pending: dict[str, PendingQueue] = {}
        self.local_queues: dict[Key, LocalQueue] = {}
        self._locals_by_queue: dict[str, dict[Key, None]] = {}
        """By ClusterQueue, in the order in which they came."""
        self.terminating: set[str] = set()
        """ClusterQueues that are being deleted."""
        self.checks: dict[str, Json] = {}
        self.topologies: set[str] = set()
        self.due: set[str] = set()
        """ClusterQueues whose parked workloads are to be tried again, with those of their tree."""
        self.on_activity: list[Callable[[str], None]] = []
        """Called with a ClusterQueue whose activity changed."""
        self.on_local: list[Callable[[Key], None]] = []
        """Called with a LocalQueue that came, changed or went."""
        self._activity: dict[str, Activity] = {}

    @abstractmethod
    def _place_all(self, locals_: Iterable[Key]) -> None:
        """Workloads of these LocalQueues may belong elsewhere now."""

    @abstractmethod
    def _work(self) -> None:
        """There may be something to try."""

    def unpark_later(self, queue: str) -> None:
        """Something changed for the queue and all that share quota with it."""
        self.due.add(queue)
        self._work()

    # Queues

    def put_cluster_queue(self, obj: Json) -> None:
        queue = reading_queues.read_cluster_queue(obj)
        is_new = queue.name not in self.state.queues
        is_changed = self.state.queues.get(queue.name) != queue
        if obj["metadata"].get("deletionTimestamp"):
            self.terminating.add(queue.name)
        if is_changed:
            self._unpark_left(queue)
            self.state.put_queue(queue)
            self._follow_strategy(queue.name, queue.strategy == "StrictFIFO")
        if is_new:
            self._place_all(self.locals_of(queue.name))
        self._judge(queue.name)
        if is_changed:
            self.unpark_later(queue.name)

    def remove_cluster_queue(self, name: str) -> None:
        self.state.remove_queue(name)
        self.terminating.discard(name)
        self._activity.pop(name, None)
        self.state.inactive.discard(name)
        if self.pending.pop(name, None) is not None:
            self._place_all(self.locals_of(name))

    def put_local_queue(self, key: Key, local: LocalQueue) -> None:
        before = self.local_queues.get(key)
        if before != local:
            if before is not None:
                self._unlink(key, before.cluster_queue)
            self.local_queues[key] = local
            self._locals_by_queue.setdefault(local.cluster_queue, {})[key] = None
            self._tell_local(key)
            self._place_all([key])

    def remove_local_queue(self, key: Key) -> None:
        before = self.local_queues.pop(key, None)
        if before is not None:
            self._unlink(key, before.cluster_queue)
            self._tell_local(key)
            self._place_all([key])

    def _unlink(self, key: Key, queue: str) -> None:
        known = self._locals_by_queue[queue]
        del known[key]
        if not known:
            del self._locals_by_queue[queue]

    def _tell_local(self, key: Key) -> None:
        for listener in self.on_local:
            listener(key)

    def put_cohort(self, obj: Json) -> None:
        cohort = reading_queues.read_cohort(obj)
        if self.state.cohorts.get(cohort.name) != cohort:
            self._unpark_cohort(cohort.name)
            self.state.put_cohort(cohort)
            self._unpark_cohort(cohort.name)

    def remove_cohort(self, name: str) -> None:
        self._unpark_cohort(name)
        self.state.remove_cohort(name)

    def put_flavor(self, obj: Json) -> None:
        flavor = reading_queues.read_flavor(obj)
        if self.state.flavors.get(flavor.name) != flavor:
            self.state.put_flavor(flavor)
            self._judge_all(self.queues_with_flavor(flavor.name), unparks=True)

    def remove_flavor(self, name: str) -> None:
        self.state.remove_flavor(name)
        self._judge_all(self.queues_with_flavor(name))

    def put_check(self, obj: Json) -> None:
        self.checks[obj["metadata"]["name"]] = obj
        self._judge_all(self.queues_with_check(obj["metadata"]["name"]))

    def remove_check(self, name: str) -> None:
        self.checks.pop(name, None)
        self._judge_all(self.queues_with_check(name))

    def put_topology(self, obj: Json) -> None:
        name = obj["metadata"]["name"]
        self.topologies.add(name)
        levels = [each["nodeLabel"] for each in (obj.get("spec") or {}).get("levels") or ()]
        self.state.topologies.put_topology(name, levels)
        self._judge_all(self.queues_with_topology(name), unparks=True)

    def remove_topology(self, name: str) -> None:
        self.topologies.discard(name)
        self.state.topologies.remove_topology(name)
        self._judge_all(self.queues_with_topology(name))

    def unpark_all(self) -> None:
        """Nodes or pods changed, or a workload left its places, which matters to whoever asks for
        places there, in whichever queue.
        """
        placing = {name for name, flavor in self.state.flavors.items() if flavor.topology}
        for name in self.state.queues:
            if self.is_active(name) and not placing.isdisjoint(self.flavors_of(name)):
                self.due.add(name)
        self._work()

    def locals_of(self, queue: str) -> list[Key]:
        """The LocalQueues that point to a ClusterQueue."""
        return list(self._locals_by_queue.get(queue, ()))

    def _follow_strategy(self, name: str, is_strict: bool) -> None:
        queue = self.pending.get(name)
        if queue is None:
            hashes = self.settings.hashes_equivalents
            queue = self.pending[name] = PendingQueue(name, hashes_equivalents=hashes)
        queue.is_strict = is_strict
        queue.shares = self.state.share_of if self.state.queues[name].is_usage_based else {}

    def _unpark_left(self, queue: ClusterQueue) -> None:
        """Those that it shares quota with no longer."""
        before = self.state.queues.get(queue.name)
        if before is not None and before.cohort != queue.cohort:
            self._unpark_cohort(before.cohort)

    def _unpark_cohort(self, name: str) -> None:
        node = self.state.tree.cohorts.get(name)
        if node is not None and not self.state.tree.has_cycle(node):
            for each in self.state.tree.queues_below(node.root):
                self.due.add(each.name)
            self._work()

    # Activity

    def activity(self, name: str) -> Activity:
        if name in self.terminating:
            return activity.TERMINATING
        return self._activity.get(name, activity.NOT_FOUND)

    def is_active(self, name: str) -> bool:
        return self.activity(name).is_active

    def known(self) -> Known:
        return Known(self.state.flavors, self.checks, frozenset(self.topologies))

    def queues_with_flavor(self, flavor: str) -> list[str]:
        return [name for name in self.state.queues if flavor in self.flavors_of(name)]

    def queues_with_check(self, check: str) -> list[str]:
        return [
            name
            for name, queue in self.state.queues.items()
            if any(rule.name == check for rule in queue.checks)
        ]

    def queues_with_topology(self, topology: str) -> list[str]:
        flavors = {
            name for name, flavor in self.state.flavors.items() if flavor.topology == topology
        }
        return [name for name in self.state.queues if not flavors.isdisjoint(self.flavors_of(name))]

    def flavors_of(self, queue: str) -> Iterator[str]:
        return (name for group in self.state.queues[queue].groups for name in group.flavors)

    def _judge_all(self, names: Iterable[str], *, unparks: bool = False) -> None:
        for name in names:
            if self._judge(name) or unparks:
                self.unpark_later(name)

    def _judge(self, name: str) -> bool:
        """Whether the queue turned active."""
        known = self.known()
        queue, before = self.state.queues[name], self._activity.get(name)
        found = self._activity[name] = activity.judge(queue, known)
        self._follow_delays(name, known)
        if found.is_active and name not in self.terminating:
            self.state.inactive.discard(name)
        else:
            self.state.inactive.add(name)
        if found != before:
            for listener in self.on_activity:
                listener(name)
        return found.is_active and (before is None or not before.is_active)

    def _follow_delays(self, name: str, known: Known) -> None:
        """Where a check comes before the places are chosen."""
        queue = self.state.queues[name]
        if activity.uses(queue, known, activity.MULTI_KUEUE):
            self.state.delayed_flavors[name] = None
            self.state.dispatching.add(name)
            return
        self.state.dispatching.discard(name)
        provisioning = set(activity.uses(queue, known, activity.PROVISIONING))
        rules = [rule for rule in queue.checks if rule.name in provisioning]
        if any(rule.flavors is None for rule in rules):
            self.state.delayed_flavors[name] = None
        else:
            flavors = frozenset(flavor for rule in rules for flavor in rule.flavors or ())
            self.state.delayed_flavors[name] = flavors
