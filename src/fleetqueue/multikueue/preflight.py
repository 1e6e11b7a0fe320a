"""What keeps one worker from running a workload, found before it is sent there.

Each problem is a sentence or two: what, where, and what to do. What is not known is no problem: a
manager need not have the right to read everything on a worker.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from fleetqueue.api.meta import Key
from fleetqueue.jobs.kinds.train_job import RUNTIMES
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, key_of
from fleetqueue.multikueue import worker_quota
from fleetqueue.queueing.amounts import print_amount


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one worker; None where nothing is."""

    worker: str
    is_connected: bool = True
    takes_kind: bool | None = None
    """Whether it has the kind of the job."""
    has_namespace: bool | None = None
    local_queues: Sequence[Object] | None = None
    cluster_queues: Sequence[Object] | None = None
    absent: Iterable["Needed"] = ()
    """What the job needs and the worker said it does not have."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An object that a job names, and that must be where it runs."""

    kind: Resource
    key: Key


class Problems(Sequence[str]):
    """Those of one worker, found when somebody asks: most dispatchers never do, and the others not
    of every worker.
    """

    def __init__(self, find: Callable[[], Sequence[str]]) -> None:
        self._find = find
        self._found: Sequence[str] | None = None

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> Sequence[str]:
        if self._found is None:
            self._found = self._find()
        return self._found


def problems_of(workload: Object, kind: str, facts: Facts) -> list[str]:
    """All that is wrong there, in the order in which one would put it right; `kind` is the title
    of the job's.
    """
    if not facts.is_connected:
        return [
            f'Worker "{facts.worker}" cannot be reached: see the condition Active of'
            f' MultiKueueCluster "{facts.worker}".'
        ]
    found = [*_missing(workload, kind, facts), *_queue_problems(workload, facts)]
    return [text for text in found if text]


def needed_by(job: Object) -> list[Needed]:
    """What is to be looked for on a worker before the job goes there: the runtime of a TrainJob."""
    reference: Object = (job.get("spec") or {}).get("runtimeRef") or {}
    if job.get("kind") != "TrainJob" or not reference.get("name"):
        return []
    runtime = RUNTIMES.get(str(reference.get("kind") or "ClusterTrainingRuntime"))
    if runtime is None:
        return []
    namespace = key_of(job).namespace if runtime.namespaced else ""
    return [Needed(runtime, Key(namespace, str(reference["name"])))]


def namespace_of(job: Object) -> Needed:
    """Where the job is to be, on workers too."""
    return Needed(NAMESPACES, Key("", key_of(job).namespace))


def _missing(workload: Object, kind: str, facts: Facts) -> Iterator[str]:
    there = f'worker "{facts.worker}"'
    if facts.takes_kind is False:
        yield (
            f"The kind {kind} is not served on {there}: install its CRD and its operator there,"
            " and let the manager read it."
        )
    if facts.has_namespace is False:
        namespace = key_of(workload).namespace
        yield f'Namespace "{namespace}" does not exist on {there}: create it there.'
    for each in facts.absent:
        name = f'{each.kind.kind} "{_title(each.key)}"'
        yield f"{name} does not exist on {there}, and the job names it: create it there."


def _queue_problems(workload: Object, facts: Facts) -> Iterator[str]:
    there = f'worker "{facts.worker}"'
    if facts.local_queues is None or facts.has_namespace is False:
        return
    name = str((workload.get("spec") or {}).get("queueName") or "")
    title = f'LocalQueue "{key_of(workload).namespace}/{name}"'
    local = worker_quota.local_queue_of(workload, facts.local_queues)
    if local is None:
        yield f"{title} does not exist on {there}: create it there."
        return
    spec: Object = local.get("spec") or {}
    if (spec.get("stopPolicy") or "None") != "None":
        yield f"{title} on {there} is stopped: set its stopPolicy to None."
    if facts.cluster_queues is None:
        return
    queue = worker_quota.cluster_queue_of(workload, [local], facts.cluster_queues)
    if queue is None:
        wanted = f'ClusterQueue "{spec.get("clusterQueue")}"'
        yield f"{wanted}, which {title} names, does not exist on {there}: create it there."
        return
    yield _inactive(queue, there)
    yield from _excesses(workload, queue, there)


def _inactive(queue: Object, there: str) -> str:
    """A queue that says nothing of itself yet is given the benefit of the doubt."""
    for condition in (queue.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Active" and condition["status"] == "False":
            title = f'ClusterQueue "{key_of(queue).name}" on {there}'
            return f"{title} is not active: {condition['message']}"
    return ""


def _excesses(workload: Object, queue: Object, there: str) -> Iterator[str]:
    title = f'ClusterQueue "{key_of(queue).name}" on {there}'
    demands = worker_quota.demands_of(workload, is_least=True)
    for each in worker_quota.shortages_of(demands, queue):
        name = each.resource
        if each.given is None:
            yield f"{title} has no quota for {name}, which the workload requests: add the resource."
        else:
            wanted, limit = print_amount(name, each.asked), print_amount(name, each.given)
            yield (
                f"The workload requests {wanted} of {name}, and {title} can never give more than"
                f" {limit}: raise its quota, or ask for less."
            )


def _title(key: Key) -> str:
    return f"{key.namespace}/{key.name}" if key.namespace else key.name
