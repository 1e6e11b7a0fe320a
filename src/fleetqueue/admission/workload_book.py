"""The Workloads that are known, by the queues that they name, and as decisions see them; the
namespaces, claim templates and device classes that this rests on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from fleetqueue.admission.admissible import key_of, local_queue_of, pod_specs_of
from fleetqueue.admission.devices import Devices
from fleetqueue.admission.queue_book import QueueBook
from fleetqueue.admission.surroundings import Namespaces
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import workloads
from fleetqueue.api.meta import Key
from fleetqueue.queueing import reading, variants
from fleetqueue.queueing.admissibility import namespace_problem, resources_problem
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.device_claims import Refusal
from fleetqueue.queueing.reading import ReadingRules
from fleetqueue.queueing.requests import Surroundings, completed
from fleetqueue.queueing.settings import Settings
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]


class _Reading(NamedTuple):
    """What an object was read into, and by what."""

    obj: Json
    queue: str
    around: Surroundings
    claims: Mapping[str, Requests]
    workload: Workload


class WorkloadBook(QueueBook):
    """Kept by events; which of them wait and which hold quota is left to the ledger."""

    def __init__(self, settings: Settings, rules: ReadingRules) -> None:
        super().__init__(settings)
        self.rules = rules
        self._configured = rules.requests.transformations
        self.namespaces = Namespaces()
        self.devices = Devices(rules.devices)
        self._objects: dict[Key, Json] = {}
        self._readings: dict[Key, _Reading] = {}
        """Of those that wait or hold quota."""
        self._of_local: dict[Key, dict[Key, None]] = {}
        """The workloads that name a LocalQueue."""

    def _note(self, key: Key, obj: Json) -> Json | None:
        """Takes in an object; what it was before."""
        old = self._objects.get(key)
        self._objects[key] = obj
        if old is not None and local_queue_of(old) != local_queue_of(obj):
            self._forget_local(key, old)
        self._of_local.setdefault(local_queue_of(obj), {})[key] = None
        if old is None or old.get("spec") != obj.get("spec"):
            self.devices.follow(key, old, obj)
        return old

    def _erase(self, key: Key) -> bool:
        """Whether it was there."""
        old = self._objects.pop(key, None)
        if old is None:
            return False
        self._forget_local(key, old)
        self.devices.follow(key, old, None)
        return True

    def _forget_local(self, key: Key, obj: Json) -> None:
        named = self._of_local.get(local_queue_of(obj), {})
        named.pop(key, None)
        if not named:
            self._of_local.pop(local_queue_of(obj), None)

    def workload(self, key: Key) -> Json | None:
        return self._objects.get(key)

    def read(self, obj: Json) -> Workload:
        """The object as decisions see it."""
        key, local = key_of(obj), self.local_queues.get(local_queue_of(obj))
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
        local = self.local_queues.get(local_queue_of(obj))
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
        specs = [completed(each, around) for each in pod_specs_of(obj)]
        return found or resources_problem(specs, around)

    def _queue_for(self, obj: Json) -> str | None:
        """The ClusterQueue in which it may wait."""
        local = self.local_queues.get(local_queue_of(obj))
        if local is None or local.is_stopped or local.cluster_queue not in self.pending:
            return None
        return local.cluster_queue

    def named(self, local: Key) -> list[Key]:
        """The workloads that name a LocalQueue."""
        return list(self._of_local.get(local, ()))

    def of_queue(self, name: str) -> list[Key]:
        """The workloads of all LocalQueues of a ClusterQueue, and those that hold its quota."""
        found = dict.fromkeys(key for local in self.locals_of(name) for key in self.named(local))
        found.update(dict.fromkeys(self.state.holders.get(name, ())))
        return list(found)

    def holders(self, queue: str) -> Iterable[Workload]:
        return self.state.holders.get(queue, {}).values()

    def local_holders(self, local: Key) -> list[Workload]:
        known = self.local_queues.get(local)
        if known is None:
            return []
        holders = self.state.holders.get(known.cluster_queue, {})
        return [holders[key] for key in self._of_local.get(local, ()) if key in holders]
