"""Everything known of queues and workloads, kept by events: the one place that changes it.

`following` tells it what changed; the scheduler takes heads from it and tells it what it assumes;
controllers and people ask it for counts. It holds no client.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from fleetqueue.admission.admissible import (
    holds_quota,
    is_admissible,
    key_of,
    local_queue_of,
    makes_room,
)
from fleetqueue.admission.turns import Turns
from fleetqueue.admission.usage import UsageKeeper
from fleetqueue.admission.workload_book import WorkloadBook
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.plan import Admit
from fleetqueue.queueing.queues import Counts, Requeue
from fleetqueue.queueing.reading import ReadingRules, is_unchanged
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]
HEADS_MAX = 64
"""Where so many are about to be tried, whole trees wait for the next cycle."""


class Ledger(WorkloadBook):
    """What is known now. Every method is done when it returns."""

    def __init__(
        self, settings: Settings, rules: ReadingRules, now: Callable[[], datetime]
    ) -> None:
        super().__init__(settings, rules)
        self.second_passes: dict[Key, Workload] = {}
        """Workloads that hold quota and need places; the scheduler times them."""
        self.on_work: list[Callable[[], None]] = []
        """Called when there may be something to try."""
        self.on_gone: list[Callable[[Key], None]] = []
        """Called with a workload that neither waits nor holds quota any more."""
        self.unready: set[Key] = set()
        """Workloads that hold quota and whose pods are not all ready."""
        self._now = now
        self._waits_in: dict[Key, str] = {}
        self._turns = Turns(self._root_of)
        self._assumed: dict[Key, Workload] = {}
        self._evicting: set[Key] = set()
        """Those that are being evicted: decisions see them as evicted already."""
        self.usage: UsageKeeper | None = None
        if settings.usage_sharing is not None:
            self.usage = UsageKeeper(settings.usage_sharing, now, self._used_by, self._weigh)
            self.on_local.append(self._follow_weight)

    # Workloads

    def put_workload(self, obj: Json) -> None:
        key = key_of(obj)
        old = self._note(key, obj)
        if old is not None and local_queue_of(old) != local_queue_of(obj):
            self._withdraw(key)
        self._place(key, obj)

    def remove_workload(self, key: Key) -> None:
        if self._erase(key):
            self._assumed.pop(key, None)
            self._leave(key)

    def _place(self, key: Key, obj: Json) -> None:
        """Puts it among those that hold quota, among those that wait, or nowhere."""
        if self.is_parent(obj):
            self._assumed.pop(key, None)
            self._leave(key)
        elif holds_quota(obj):
            self._hold(key, obj)
        elif key in self._assumed and not (status.has_quota(obj) or status.is_finished(obj)):
            # Our own write is under way: until it is answered the quota is taken.
            return
        elif self._may_wait(obj) and self.refusal(obj) is None:
            self._assumed.pop(key, None)
            self._release(key)
            self._enqueue(key, obj)
        else:
            self._assumed.pop(key, None)
            self._leave(key)

    def _may_wait(self, obj: Json) -> bool:
        return is_admissible(obj, honors_gates=self.settings.honors_gates)

    def _hold(self, key: Key, obj: Json) -> None:
        workload = self.read(obj)
        self._assumed.pop(key, None)
        self._dequeue(key)
        before = self.state.holder(key)
        if key in self._evicting and not workload.is_evicted:
            workload = replace(workload, is_evicted=True)
        self.state.hold(workload)
        if before is not None and makes_room(workload, before):
            self._has_room(before)
        if workload.is_admitted and self.usage is not None:
            self.usage.admit(workload)
        if not workload.is_ready:
            self.unready.add(key)
        elif key in self.unready:
            self.unready.discard(key)
            self._work()
        is_here = workload.cluster_queue not in self.state.dispatching
        if workload.needs_second_pass and is_here:
            self.second_passes[key] = workload
            self._work()
        else:
            self.second_passes.pop(key, None)

    def _release(self, key: Key) -> None:
        self.second_passes.pop(key, None)
        self.unready.discard(key)
        if self.usage is not None:
            self.usage.drop(key)
        released = self.state.release(key)
        if released is not None:
            self._has_room(released)

    def _has_room(self, former: Workload) -> None:
        """Where a workload was: quota is for its tree, but nodes are for everybody."""
        self.unpark_later(former.cluster_queue)
        if any(each.placement is not None for each in former.assignments):
            self.unpark_all()

    def _enqueue(self, key: Key, obj: Json) -> None:
        name = self._queue_for(obj)
        if self._waits_in.get(key, name) != name:
            self._withdraw(key)
        if name is None:
            return
        queue = self.pending[name]
        before, workload = queue.get(key), self.read(obj)
        self._waits_in[key] = name
        queue.put(workload, self._now())
        if before is not None and before.effective_priority != workload.effective_priority:
            self.unpark_later(name)
        self._turns.give(name)
        self._work()

    def _dequeue(self, key: Key) -> str | None:
        name = self._waits_in.pop(key, None)
        if name in self.pending:
            self.pending[name].remove(key)
            if self.pending[name].has_work():
                self._turns.give(name)
                self._work()
        return name

    def _withdraw(self, key: Key) -> None:
        """It waits there no longer, and holds nobody up."""
        name = self._dequeue(key)
        if name is not None:
            self.unpark_later(name)

    def _leave(self, key: Key) -> None:
        self._release(key)
        self._readings.pop(key, None)
        self._withdraw(key)
        for listener in self.on_gone:
            listener(key)

    # What the scheduler does

    def pop_heads(self) -> list[Workload]:
        """One of each ClusterQueue that may admit, which is being tried from now on.

        Heads that wait for a change come along where others of their tree are tried: what they are
        entitled to is kept from those. Trees know nothing of each other: where there are many
        heads, those of some trees are tried, and those of the others next.
        """
        heads: list[Workload] = []
        for root, names in self._turns.trees():
            heads += filter(None, map(self._pop_head, names))
            if len(heads) >= HEADS_MAX:
                self._turns.stop_at(root)
                break
        return sorted(heads, key=lambda head: head.cluster_queue)

    def _pop_head(self, name: str) -> Workload | None:
        queue = self.pending.get(name)
        if queue is None or not queue.has_work():
            self._turns.take(name)
            return None
        head = queue.pop() if self.is_active(name) else None
        if head is not None:
            # The next one has its turn when this one is admitted, parked or gone.
            self._turns.take(name)
        return head

    def assume(self, workload: Workload) -> None:
        """The quota is taken before the write that says so is answered."""
        self._dequeue(workload.key)
        self._assumed[workload.key] = workload
        is_new = self.state.holder(workload.key) is None
        self.state.hold(workload)
        if not workload.is_ready:
            self.unready.add(workload.key)
        if self.usage is not None and is_new:
            self.usage.reserve(workload, self._covered(workload.cluster_queue))

    def has_room_for(self, decision: Admit) -> bool:
        """Whether it waits for what was decided, in a queue that admits, and still fits. Places may
        be somebody else's by now.
        """
        tried, name = decision.workload, decision.workload.cluster_queue
        obj = self._objects.get(tried.key)
        if obj is None or self._waits_in.get(tried.key) != name or not self.is_active(name):
            return False
        if any(each.placement is not None for each in decision.held.assignments):
            return False
        replaced, assignment = decision.replaced, decision.assignment
        is_gone = replaced is not None and self.state.holder(replaced.key) is None
        wanted = assignment.usage() if is_gone else assignment.charge()
        return is_unchanged(obj, tried) and self.state.node(name).fits(wanted)

    def begin_evicting(self, key: Key) -> None:
        """A write that says so is under way; until it is answered nobody need ask for it again."""
        self._evicting.add(key)
        held = self.state.holder(key)
        if held is not None and not held.is_evicted:
            self.state.hold(replace(held, is_evicted=True))

    def end_evicting(self, key: Key) -> None:
        """It was answered, and what was stored is known."""
        self._evicting.discard(key)
        obj = self._objects.get(key)
        if obj is not None and key not in self._assumed and self.state.holder(key) is not None:
            self._place(key, obj)

    def forget(self, key: Key) -> None:
        """That write failed: the quota is free again, and the workload waits where it did."""
        if self._assumed.pop(key, None) is not None:
            self._release(key)
            obj = self._objects.get(key)
            if obj is not None:
                self._place(key, obj)

    def requeue(
        self,
        key: Key,
        why: Requeue,
        *,
        has_more_flavors: bool = False,
        reason: str = "",
        may_do_better: bool = False,
    ) -> bool:
        """Puts back what was tried, as it is by now; False: it is parked, or gone.

        A head that stays first is tried again when something changes, or at once where it
        `may_do_better`: the cycle itself changed something.
        """
        name, obj = self._waits_in.get(key), self._objects.get(key)
        if name is None or name not in self.pending or obj is None:
            return False
        queue = self.pending[name]
        if not self._may_wait(obj) or self._queue_for(obj) != name:
            self._withdraw(key)
            return False
        is_news = has_more_flavors or queue.was_unparked or may_do_better
        at_once = queue.requeue(
            self.read(obj), why, self._now(), has_more_flavors=has_more_flavors, reason=reason
        )
        if is_news or not at_once:
            self._turns.give(name)
            self._work()
        else:
            self._turns.block(name)
        return at_once

    def remove_cluster_queue(self, name: str) -> None:
        super().remove_cluster_queue(name)
        self._turns.remove(name)

    def unpark_later(self, queue: str) -> None:
        """Heads that wait for a change have their turn at once, before those who just lost quota
        could take it again; parked workloads follow a little later.
        """
        self._turns.unblock(queue)
        super().unpark_later(queue)

    def _root_of(self, queue: str) -> str:
        node = self.state.tree.queues.get(queue)
        if node is None or self.state.tree.has_cycle(node):
            return queue
        return f"{node.root.is_queue}/{node.root.name}"

    def retry(self, key: Key) -> None:
        """What was to make room for it failed: it is tried again."""
        name = self._waits_in.get(key)
        if name is not None:
            self._turns.give(name)
            self._work()

    def drop(self, key: Key) -> None:
        """It was taken as a head, and there is nothing to decide about it."""
        self._dequeue(key)

    def unpark(self) -> None:
        """Tries again what `unpark_later` was told of, each tree once."""
        due, self.due = self.due, set()
        names: set[str] = set()
        for name in due:
            if name not in names and name in self.state.queues:
                names.update(self.state.tree.tree_of(name))
        for name in names:
            if name in self.pending:
                self.pending[name].unpark(self._now(), self._selects(name))
                self._turns.give(name)
        self._work()

    def _selects(self, name: str) -> Callable[[str], bool]:
        selector = self.state.queues[name].namespace_selector

        def selects(namespace: str) -> bool:
            found = self.namespaces.labels(namespace)
            return found is not None and selector is not None and selector.matches(found)

        return selects

    def _work(self) -> None:
        for listener in self.on_work:
            listener()

    # Namespaces

    def unpark_namespace(self, name: str) -> None:
        """Its labels changed, so that some queues may take its workloads now."""
        for key in [key for key in self.local_queues if key.namespace == name]:
            self.unpark_later(self.local_queues[key].cluster_queue)

    def reread_namespace(self, name: str) -> None:
        """What it adds to pods changed."""
        self._place_all([key for key in self._of_local if key.namespace == name])

    def reread(self) -> None:
        """What runtime classes add changed."""
        self._place_all(list(self._of_local))

    def put_template(self, key: Key, obj: Json | None) -> None:
        """A claim template; None: it is gone."""
        self.devices.put_template(key, obj)
        for workload in self.devices.users(key):
            self._place(workload, self._objects[workload])

    def put_device_class(self, name: str, obj: Json | None) -> None:
        if self.devices.put_class(name, obj):
            wanted = {**self.devices.transformations(), **self._configured}
            requests = replace(self.rules.requests, transformations=wanted)
            self.rules = replace(self.rules, requests=requests)
            self._readings.clear()
            self.reread()

    def _place_all(self, locals_: Iterable[Key]) -> None:
        for local in locals_:
            for key in list(self._of_local.get(local, ())):
                self._place(key, self._objects[key])

    # What was used in the past

    def _used_by(self, local: Key) -> Requests:
        admitted = [each for each in self.local_holders(local) if each.is_admitted]
        total: Requests = {}
        for workload in admitted:
            for (_, resource), amount in workload.usage().items():
                total[resource] = total.get(resource, 0) + amount
        return total

    def _follow_weight(self, local: Key) -> None:
        assert self.usage is not None
        known = self.local_queues.get(local)
        if known is None:
            self.usage.remove_queue(local)
            self.state.share_of.pop(local, None)
        else:
            self.usage.put_queue(local, known.weight)

    def _weigh(self, local: Key, usage: float) -> None:
        self.state.share_of[local] = usage
        known = self.local_queues.get(local)
        queue = None if known is None else self.pending.get(known.cluster_queue)
        if queue is not None and queue.shares is self.state.share_of:
            queue.reorder()
            self._turns.give(queue.name)
            self._work()

    def _covered(self, queue: str) -> frozenset[str] | None:
        """The resources that count; None: all."""
        known = self.state.queues.get(queue)
        if known is None or not self.settings.ignores_undeclared:
            return None
        return frozenset(name for group in known.groups for name in group.resources)

    # Counts

    def counts(self, queue: str) -> Counts:
        found = self.pending.get(queue)
        return Counts() if found is None else found.counts

    def local_pending(self, local: Key) -> int:
        """Those that wait and are not being tried right now; none while the queue is stopped."""
        known, named = self.local_queues.get(local), self._of_local.get(local, ())
        if known is None or known.is_stopped:
            return 0
        queue = self.pending.get(known.cluster_queue)
        if queue is None:
            return sum(self._may_wait(self._objects[key]) for key in named)
        waiting = [key for key in named if self._waits_in.get(key) == queue.name]
        return sum(not queue.is_trying(key) for key in waiting)
