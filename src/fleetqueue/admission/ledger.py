"""Everything known of queues and workloads, kept by events: the one place that changes it.

`following` tells it what changed; the scheduler takes heads from it and tells it what it assumes;
controllers and people ask it for counts. It holds no client.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from fleetqueue.admission.devices import Devices
from fleetqueue.admission.queue_book import QueueBook
from fleetqueue.admission.surroundings import Namespaces
from fleetqueue.admission.usage import UsageKeeper
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, workloads
from fleetqueue.api.meta import Key
from fleetqueue.queueing import reading, variants
from fleetqueue.queueing.admissibility import namespace_problem, resources_problem
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.device_claims import Refusal
from fleetqueue.queueing.queues import Counts, Requeue
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.requests import Surroundings, completed
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]
HEADS_MAX = 64
"""Where so many are about to be tried, whole trees wait for the next cycle."""


class _Reading(NamedTuple):
    """What an object was read into, and by what."""

    obj: Json
    queue: str
    around: Surroundings
    claims: Mapping[str, Requests]
    workload: Workload


class Ledger(QueueBook):
    """What is known now. Every method is done when it returns."""

    def __init__(
        self, settings: Settings, rules: ReadingRules, now: Callable[[], datetime]
    ) -> None:
        super().__init__(settings)
        self.rules = rules
        self._configured = rules.requests.transformations
        self.namespaces = Namespaces()
        self.devices = Devices(rules.devices)
        self.second_passes: dict[Key, Workload] = {}
        """Workloads that hold quota and need places; the scheduler times them."""
        self.on_work: list[Callable[[], None]] = []
        """Called when there may be something to try."""
        self.on_gone: list[Callable[[Key], None]] = []
        """Called with a workload that neither waits nor holds quota any more."""
        self.unready: set[Key] = set()
        """Workloads that hold quota and whose pods are not all ready."""
        self._now = now
        self._objects: dict[Key, Json] = {}
        self._readings: dict[Key, _Reading] = {}
        """Of those that wait or hold quota."""
        self._of_local: dict[Key, dict[Key, None]] = {}
        """The workloads that name a LocalQueue."""
        self._waits_in: dict[Key, str] = {}
        self._blocked: dict[str, set[str]] = {}
        """By the root of their tree, ClusterQueues whose head waits for something to change."""
        self._hot: set[str] = set()
        """ClusterQueues in which something may wait to be tried."""
        self._last_root = ""
        """Where the last heads were taken from, if not from everywhere."""
        self._assumed: dict[Key, Workload] = {}
        self._evicting: set[Key] = set()
        """Those that are being evicted: decisions see them as evicted already."""
        self.usage: UsageKeeper | None = None
        if settings.usage_sharing is not None:
            self.usage = UsageKeeper(settings.usage_sharing, now, self._used_by, self._weigh)
            self.on_local.append(self._follow_weight)

    # Workloads

    def put_workload(self, obj: Json) -> None:
        key = _key(obj)
        old = self._objects.get(key)
        self._objects[key] = obj
        if old is not None and _local_queue(old) != _local_queue(obj):
            self._forget_local(key, old)
            self._dequeue(key)
        self._of_local.setdefault(_local_queue(obj), {})[key] = None
        if old is None or old.get("spec") != obj.get("spec"):
            self.devices.follow(key, old, obj)
        self._place(key, obj)

    def remove_workload(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._forget_local(key, old)
            self.devices.follow(key, old, None)
            self._assumed.pop(key, None)
            self._leave(key)

    def workload(self, key: Key) -> Json | None:
        return self._objects.get(key)

    def read(self, obj: Json) -> Workload:
        """The object as decisions see it."""
        key, local = _key(obj), self.local_queues.get(_local_queue(obj))
        queue = "" if local is None else local.cluster_queue
        around = self.namespaces.around(key.namespace)
        known, claims = self._readings.get(key), self.devices.claims(obj).requests
        before = None
        if known is not None and known.around is around and known.claims == claims:
            if known.obj is obj and known.queue == queue:
                return known.workload
            before = known.workload if reading.has_same_pods(known.obj, obj) else None
        found = reading.read_workload(obj, queue, self.rules, around, claims, before)
        self._readings[key] = _Reading(obj, queue, around, claims, self._ranked(found))
        return self._readings[key].workload

    def _ranked(self, workload: Workload) -> Workload:
        queue = self.state.queues.get(workload.cluster_queue)
        if queue is None or not workload.allowed_flavors:
            return workload
        return replace(workload, flavor_rank=variants.place(queue, workload))

    def is_parent(self, obj: Json) -> bool:
        """Whether variants are admitted in its place, also where it does not say so yet: it is
        neither queued nor counted.
        """
        if workloads.is_parent(obj):
            return True
        if not self.settings.admits_concurrently or status.has_quota(obj):
            return False
        local = self.local_queues.get(_local_queue(obj))
        queue = None if local is None else self.state.queues.get(local.cluster_queue)
        is_asked = queue is not None and queue.concurrent is not None
        return is_asked and not workloads.is_variant(obj)

    def refusal(self, obj: Json) -> Refusal | None:
        """Why a workload is not even queued: nobody can tell what devices it takes."""
        return self.devices.claims(obj).refusal

    def problem(self, obj: Json, queue: str) -> str:
        """Why a workload may not be tried in a queue, whatever is free there."""
        namespace = obj["metadata"].get("namespace") or ""
        around = self.namespaces.around(namespace)
        selector = self.state.queues[queue].namespace_selector
        found = namespace_problem(selector, namespace, self.namespaces.labels(namespace))
        specs = [completed(each, around) for each in _specs(obj)]
        return found or resources_problem(specs, around)

    def _place(self, key: Key, obj: Json) -> None:
        """Puts it among those that hold quota, among those that wait, or nowhere."""
        if self.is_parent(obj):
            self._assumed.pop(key, None)
            self._leave(key)
        elif status.has_quota(obj) and not status.is_finished(obj):
            # Also one that was deactivated: its pods run until its job has been stopped.
            self._hold(key, obj)
        elif key in self._assumed and not status.is_finished(obj):
            # Our own write is under way: until it is answered the quota is taken.
            return
        elif is_admissible(obj) and self.refusal(obj) is None:
            self._assumed.pop(key, None)
            self._release(key)
            self._enqueue(key, obj)
        else:
            self._assumed.pop(key, None)
            self._leave(key)

    def _hold(self, key: Key, obj: Json) -> None:
        workload = self.read(obj)
        self._assumed.pop(key, None)
        self._dequeue(key)
        before = self.state.holder(key)
        if key in self._evicting and not workload.is_evicted:
            workload = replace(workload, is_evicted=True)
        self.state.hold(workload)
        if before is not None and _makes_room(workload, before):
            self.unpark_later(workload.cluster_queue)
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
            self.unpark_later(released.cluster_queue)

    def _enqueue(self, key: Key, obj: Json) -> None:
        name = self._queue_for(obj)
        if name is None:
            self._dequeue(key)
            return
        if self._waits_in.get(key, name) != name:
            self._dequeue(key)
        queue = self.pending[name]
        before, workload = queue.get(key), self.read(obj)
        self._waits_in[key] = name
        queue.put(workload, self._now())
        if before is not None and before.effective_priority != workload.effective_priority:
            self.unpark_later(name)
        self._hot.add(name)
        self._work()

    def _dequeue(self, key: Key) -> str | None:
        name = self._waits_in.pop(key, None)
        if name in self.pending:
            self.pending[name].remove(key)
            if self.pending[name].has_work():
                self._hot.add(name)
                self._work()
        return name

    def _leave(self, key: Key) -> None:
        self._release(key)
        self._readings.pop(key, None)
        name = self._dequeue(key)
        if name is not None:
            self.unpark_later(name)
        for listener in self.on_gone:
            listener(key)

    def _queue_for(self, obj: Json) -> str | None:
        """The ClusterQueue in which it may wait."""
        local = self.local_queues.get(_local_queue(obj))
        if local is None or local.is_stopped or local.cluster_queue not in self.pending:
            return None
        return local.cluster_queue

    def _forget_local(self, key: Key, obj: Json) -> None:
        named = self._of_local.get(_local_queue(obj), {})
        named.pop(key, None)
        if not named:
            self._of_local.pop(_local_queue(obj), None)

    def named(self, local: Key) -> list[Key]:
        """The workloads that name a LocalQueue."""
        return list(self._of_local.get(local, ()))

    def of_queue(self, name: str) -> list[Key]:
        """The workloads of all LocalQueues of a ClusterQueue, and those that hold its quota."""
        found = dict.fromkeys(key for local in self.locals_of(name) for key in self.named(local))
        found.update(dict.fromkeys(self.state.holders.get(name, ())))
        return list(found)

    # What the scheduler does

    def pop_heads(self) -> list[Workload]:
        """One of each ClusterQueue that may admit, which is being tried from now on.

        Heads that wait for a change come along where others of their tree are tried: what they are
        entitled to is kept from those. Trees know nothing of each other: where there are many
        heads, those of some trees are tried, and those of the others next.
        """
        heads: list[Workload] = []
        for name in list(self._hot):
            self._hot |= self._blocked.pop(self._root_of(name), set())
        for root, names in self._hot_trees():
            heads += filter(None, map(self._pop_head, names))
            if len(heads) >= HEADS_MAX:
                self._last_root = root
                break
        return sorted(heads, key=lambda head: head.cluster_queue)

    def _hot_trees(self) -> list[tuple[str, list[str]]]:
        """Those first that were not tried the last time."""
        found: dict[str, list[str]] = {}
        for name in sorted(self._hot):
            found.setdefault(self._root_of(name), []).append(name)
        return sorted(found.items(), key=lambda tree: (tree[0] <= self._last_root, tree[0]))

    def _pop_head(self, name: str) -> Workload | None:
        queue = self.pending.get(name)
        if queue is None or not queue.has_work():
            self._hot.discard(name)
            return None
        head = queue.pop() if self.is_active(name) else None
        if head is not None:
            # The next one has its turn when this one is admitted, parked or gone.
            self._hot.discard(name)
        return head

    def assume(self, workload: Workload) -> None:
        """The quota is taken before the write that says so is answered."""
        self._dequeue(workload.key)
        self._assumed[workload.key] = workload
        is_new = self.state.holder(workload.key) is None
        self.state.hold(workload)
        if self.usage is not None and is_new:
            self.usage.reserve(workload, self._covered(workload.cluster_queue))

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
        if not is_admissible(obj) or self._queue_for(obj) != name:
            self._dequeue(key)
            return False
        is_news = has_more_flavors or queue.was_unparked or may_do_better
        at_once = queue.requeue(
            self.read(obj), why, self._now(), has_more_flavors=has_more_flavors, reason=reason
        )
        if is_news or not at_once:
            self._hot.add(name)
            self._work()
        else:
            self._blocked.setdefault(self._root_of(name), set()).add(name)
        return at_once

    def unpark_later(self, queue: str) -> None:
        """Heads that wait for a change have their turn at once, before those who just lost quota
        could take it again; parked workloads follow a little later.
        """
        self._hot |= self._blocked.pop(self._root_of(queue), set())
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
            self._hot.add(name)
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
                self._hot.add(name)
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
        else:
            self.usage.put_queue(local, known.weight)

    def _weigh(self, local: Key, usage: float) -> None:
        self.state.share_of[local] = usage
        known = self.local_queues.get(local)
        queue = None if known is None else self.pending.get(known.cluster_queue)
        if queue is not None and queue.shares is self.state.share_of:
            queue.reorder()

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

    def holders(self, queue: str) -> Iterable[Workload]:
        return self.state.holders.get(queue, {}).values()

    def local_pending(self, local: Key) -> int:
        """Those that wait and are not being tried right now; none while the queue is stopped."""
        known, named = self.local_queues.get(local), self._of_local.get(local, ())
        if known is None or known.is_stopped:
            return 0
        queue = self.pending.get(known.cluster_queue)
        if queue is None:
            return sum(is_admissible(self._objects[key]) for key in named)
        waiting = [key for key in named if self._waits_in.get(key) == queue.name]
        return sum(not queue.is_trying(key) for key in waiting)

    def local_holders(self, local: Key) -> list[Workload]:
        known = self.local_queues.get(local)
        if known is None:
            return []
        holders = self.state.holders.get(known.cluster_queue, {})
        return [holders[key] for key in self._of_local.get(local, ()) if key in holders]


def is_admissible(obj: Json) -> bool:
    """Whether the workload may wait in a queue."""
    if status.is_finished(obj) or not status.is_active(obj) or status.has_quota(obj):
        return False
    if workloads.is_parent(obj) or gated_by(obj) or obj["metadata"].get("deletionTimestamp"):
        return False
    reserved = status.find_condition(obj, status.QUOTA_RESERVED)
    is_on_hold = reserved is not None and reserved["reason"] == "OnHold"
    return not is_on_hold and not status.is_true(obj, status.WAITING_FOR_REPLACEMENT_PODS)


def gated_by(obj: Json) -> str:
    """The gates that keep the workload from being admitted."""
    return str((obj["metadata"].get("annotations") or {}).get(labels.ADMISSION_GATED_BY) or "")


def _makes_room(workload: Workload, before: Workload) -> bool:
    """Whether others may have its quota now that could not before."""
    is_less_urgent = workload.effective_priority < before.effective_priority
    return is_less_urgent or _needs_less(workload, before)


def _needs_less(now: Workload, before: Workload) -> bool:
    held = before.usage()
    needed = now.usage()
    return any(needed.get(at, 0) < amount for at, amount in held.items())


def _key(obj: Json) -> Key:
    return Key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])


def _local_queue(obj: Json) -> Key:
    name = (obj.get("spec") or {}).get("queueName") or ""
    return Key(obj["metadata"].get("namespace") or "", name)


def _specs(obj: Json) -> list[Json]:
    sets = (obj.get("spec") or {}).get("podSets") or ()
    return [(each.get("template") or {}).get("spec") or {} for each in sets]
