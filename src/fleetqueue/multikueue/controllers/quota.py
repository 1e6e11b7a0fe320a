"""Keeps the quota of ClusterQueues whose workloads go to workers at the sum of theirs, where that
is asked for, and says where the two are far apart.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import Loop
from fleetqueue.kube.frame import Follow, Framed, Operator
from fleetqueue.kube.plan import NOTHING, Look, Note, Patch, Plan, Status
from fleetqueue.kube.resources import Object, Resource, key_of, uid_of
from fleetqueue.kube.sources import Index, Source
from fleetqueue.multikueue import checks, kinds, quota
from fleetqueue.multikueue.controllers.check import CHECKS_OF_CONFIG, CONFIGS_OF_CLUSTER
from fleetqueue.multikueue.quota import Sums
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.multikueue.workers import Workers

NAME = "multikueue-quota-controller"
BATCH_SECONDS_MIN = 1.0
STARTING_SECONDS = 10.0
"""How long a manager that starts waits for workers before it counts without them."""
QUEUES = (kinds.LOCAL_QUEUE, kinds.CLUSTER_QUEUE)
QUEUES_OF_CHECK = Index(kinds.CLUSTER_QUEUE, "admission checks", lambda queue: _checks_of(queue))
LOCAL_QUEUES_OF = Index(kinds.LOCAL_QUEUE, "cluster queue", lambda local: [_queue_of(local)])
Reading = tuple[str, tuple[str, ...], float]


class QuotaController(Framed):
    """Woken by queues, checks and configurations here, and by workers and their queues."""

    kind = kinds.CLUSTER_QUEUE

    def __init__(self, cluster: Cluster, workers: Workers, settings: DispatchSettings) -> None:
        self._workers = workers
        self._automates = settings.gates.quota_automation
        self._batch_seconds = max(settings.batch_seconds, BATCH_SECONDS_MIN)
        self._seen: dict[str, dict[tuple[Resource, Key], tuple[str, int]]] = {}
        """By worker and queue there: the uid and generation seen last."""
        self.operator = self._operator()
        super().__init__(cluster)

    def _operator(self) -> Operator:
        def follow(kind: Resource, parents: Any, when: Any) -> Follow:
            return Follow(kind, parents, when=when, after=self._batch_seconds)

        return Operator(
            NAME,
            kinds.CLUSTER_QUEUE,
            self.decide,
            follows=(
                follow(
                    kinds.LOCAL_QUEUE, lambda _, each: [Key("", _queue_of(each))], _came_or_went
                ),
                follow(kinds.ADMISSION_CHECK, _queues_of_check, _spec_changed),
                follow(kinds.CONFIG, _queues_of_config, _asks_otherwise),
                follow(kinds.CLUSTER, _queues_of_cluster, _came_or_went),
            ),
            indexes=(QUEUES_OF_CHECK, LOCAL_QUEUES_OF, CHECKS_OF_CONFIG, CONFIGS_OF_CLUSTER),
            manager="kueue",
            tells_action=True,
            workers=1,
        )

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return _spec_changed(old, new)

    def follow(self, loop: Loop[Any]) -> None:
        """Lets workers, and changes of their queues, wake the queues that count on them."""

        def on_change(worker: str, kind: Resource, obj: Object) -> None:
            if kind in QUEUES and self._is_news(worker, kind, obj):
                wake(worker)

        def on_state(worker: str) -> None:
            self._forget_gone(worker)
            wake(worker)

        def wake(worker: str) -> None:
            for key in _queues_of_worker(self._source, worker):
                loop.queue.add_after(key, self._batch_seconds)

        self._workers.listen(on_change, on_state)

    # Deciding

    @property
    def _settled_at(self) -> datetime:
        """Until then workers are being connected for the first time."""
        return self._workers.started_at + timedelta(seconds=STARTING_SECONDS)

    def decide(self, look: Look) -> Plan:
        queue = look.parent
        check = _our_check(queue, look.source)
        if check is None:
            return self._say(look, None, None)
        name = checks.config_of(check)
        config = look.find(kinds.CONFIG, name) if name else None
        known = {} if config is None else self._sums(queue, config, look.source)
        if None in known.values() and look.now < self._settled_at:
            return Plan(after=self._batch_seconds)
        counted = [each for each in known.values() if each is not None]
        if self._automates:
            found = quota.automate(queue, config, counted)
            if found.groups is not None:
                return _rewritten(queue, found)
            if found.told == quota.AUTOMATED:
                return self._say(look, found.told, None)
        if config is None or len(counted) < len(known) or not _keys(queue, look.source):
            skew = _skew_before(queue)
        else:
            far = quota.skew_of(queue, name, counted)
            skew = None if far is None else (True, *far)
        return self._say(look, found.told if self._automates else None, skew)

    def readings(self) -> Iterator[Reading]:
        """For the metrics: how much there is here, and on each worker that is known."""
        for queue in self._source.all(kinds.CLUSTER_QUEUE, ""):
            check = _our_check(queue, self._source)
            name = "" if check is None else checks.config_of(check)
            config = self._source.get(kinds.CONFIG, "", name) if name else None
            if config is None:
                continue
            title = key_of(queue).name
            for resource, amount in quota.nominal_of(queue).items():
                yield "fleetqueue_manager_quota", (title, resource), _number(amount)
            for worker, sums in self._sums(queue, config, self._source).items():
                for resource, amount in quota.by_resource(sums or {}).items():
                    yield "fleetqueue_worker_quota", (title, worker, resource), _number(amount)

    def _sums(self, queue: Object, config: Object, source: Source) -> dict[str, Sums | None]:
        """What each configured worker has for the queue; None where that is not known."""
        keys = _keys(queue, source)
        return {name: self._sums_of(name, keys) for name in config["spec"].get("clusters") or ()}

    def _sums_of(self, name: str, keys: set[Key]) -> Sums | None:
        worker = self._workers.get(name)
        if worker is None or not worker.is_connected:
            return None
        if not all(map(worker.follows, QUEUES)):
            return None
        return quota.sums_of(keys, *(partial(worker.queue, kind) for kind in QUEUES))

    def _say(self, look: Look, automation: quota.Told | None, skew: quota.Told | None) -> Plan:
        """The conditions as they are to be. Without the gate nothing is said of automation, nor
        taken back that was said.
        """
        queue = look.parent
        wanted = {quota.SKEW: skew}
        if self._automates:
            wanted[quota.CONDITION] = automation
        made = queue
        for type, told in wanted.items():
            if told is None:
                made = status.without_condition(made, type)
            elif not _says(made, type, told):
                made = status.with_condition(made, type, *told, look.now)
        had = (queue.get("status") or {}).get("conditions") or []
        return NOTHING if made["status"]["conditions"] == had else Plan([Status(made["status"])])

    def _is_news(self, name: str, kind: Resource, obj: Object) -> bool:
        """A status that changed is none, nor is a queue that is told once more."""
        worker, at = self._workers.get(name), (kind, key_of(obj))
        if worker is None:
            return False
        seen = self._seen.setdefault(name, {})
        if worker.queue(*at) is None:
            seen.pop(at, None)
            return True
        told = (uid_of(obj), int(obj["metadata"].get("generation") or 0))
        before, seen[at] = seen.get(at), told
        return before != told

    def _forget_gone(self, name: str) -> None:
        """Queues that went while the worker was lost, and workers that are none any more."""
        worker, seen = self._workers.get(name), self._seen.pop(name, {})
        if worker is not None:
            self._seen[name] = {
                at: told for at, told in seen.items() if worker.queue(*at) is not None
            }


def _rewritten(queue: Object, found: quota.Automation) -> Plan:
    """The spec alone; the condition follows when the queue has changed."""
    plan = Plan([Patch(queue, {"spec": {"resourceGroups": found.groups}})])
    if found.dropped:
        text = (
            "Quota that is kept at the sum of the workers' has no limits; removed: "
            f"{', '.join(found.dropped)}"
        )
        plan.add(Note("QuotaLimitsRemoved", status.event_message(text), "Warning"))
    return plan


def _our_check(queue: Object, source: Source) -> Object | None:
    """The MultiKueue check of the queue: of several the first by name."""
    for name in sorted(_checks_of(queue)):
        check = source.get(kinds.ADMISSION_CHECK, "", name)
        if check is not None and checks.is_ours(check):
            return check
    return None


def _keys(queue: Object, source: Source) -> set[Key]:
    return {key_of(each) for each in source.found(LOCAL_QUEUES_OF, key_of(queue).name)}


def _checks_of(queue: Object) -> list[str]:
    strategy = (queue.get("spec") or {}).get("admissionChecksStrategy") or {}
    return [str(each["name"]) for each in strategy.get("admissionChecks") or ()]


def _queue_of(local: Object) -> str:
    return str((local.get("spec") or {}).get("clusterQueue") or "")


def _says(queue: Object, type: str, told: quota.Told) -> bool:
    found = status.find_condition(queue, type)
    if found is None:
        return False
    known = (found["status"] == "True", found.get("reason"), found.get("message"))
    generation = int(queue["metadata"].get("generation") or 0)
    return known == told and found.get("observedGeneration", 0) == generation


def _skew_before(queue: Object) -> quota.Told | None:
    """What was said of it: nobody knows better while a worker is away."""
    found = status.find_condition(queue, quota.SKEW)
    return None if found is None else (True, str(found["reason"]), str(found["message"]))


def _number(amount: Any) -> float:
    return float(amount.unscaled * 10.0**amount.exponent)


def _queues_of_check(source: Source, check: Object) -> Iterable[Key]:
    return [key_of(each) for each in source.found(QUEUES_OF_CHECK, key_of(check).name)]


def _queues_of_config(source: Source, config: Object) -> Iterable[Key]:
    found = source.found(CHECKS_OF_CONFIG, key_of(config).name)
    return [key for check in found for key in _queues_of_check(source, check)]


def _queues_of_worker(source: Source, name: str) -> Iterable[Key]:
    found = source.found(CONFIGS_OF_CLUSTER, name)
    return [key for config in found for key in _queues_of_config(source, config)]


def _queues_of_cluster(source: Source, cluster: Object) -> Iterable[Key]:
    return _queues_of_worker(source, key_of(cluster).name)


def _came_or_went(old: Object | None, new: Object | None) -> bool:
    return old is None or new is None


def _spec_changed(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return True
    return bool(old["metadata"].get("generation") != new["metadata"].get("generation"))


def _asks_otherwise(old: Object | None, new: Object | None) -> bool:
    return _spec_changed(old, new) or quota.goes_by_flavor(old) != quota.goes_by_flavor(new)
