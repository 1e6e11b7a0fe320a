"""What recordings of Kueue have in common, in words of our own, and how a replay is compared with
one: per object every state in its order, what queues counted, how pods became ready, and events.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from tests.support.recorder import Facts, Recorder, Story

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.stages import NEVER, RUN_SECONDS
from fleetqueue.testing import job as a_job

IN_USE = {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True)
class Maybe:
    """A state that is seen where something else happens to be late."""

    state: Any


@dataclass(frozen=True)
class Ends:
    """How some of the objects that go by the name went on."""

    states: Sequence[Any]


@dataclass(frozen=True)
class Either:
    """Two ways to the same end."""

    one: Sequence[Any]
    other: Sequence[Any]


Told: TypeAlias = Facts | Maybe | Ends | Either
Event: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Lives:
    """Objects of one name, one after the other, each with its story."""

    stories: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Recording:
    stories: dict[str, Sequence[Told] | Lives]
    """By kind and name; where several objects go by a name, each of them."""
    counts: dict[str, Sequence[str | Maybe]] = field(default_factory=dict)
    """What queues said of their workloads."""
    ready: dict[str, Sequence[str | Maybe] | Lives] = field(default_factory=dict)
    """What the PodsReady condition of workloads said."""
    tracks: dict[str, Sequence[Any]] = field(default_factory=dict)
    """What one more fact was, one value after the other; `Job one active`."""
    events: Iterable[Event] = ()
    chance: Iterable[Event] = ()
    """Events that are told where something else happens to be late."""

    def compare(self, seen: Recorder) -> None:
        for title, expected in self.stories.items():
            found = seen.stories(*_names(title))
            assert found, f"{title} was not seen"
            _same_lives(found, expected, title)
        for title, lines in self.counts.items():
            same(seen.counters(*_names(title)), lines, title)
        for title, lines in self.ready.items():
            _same_lives(seen.tracks(*_names(title), "PodsReady"), lines, title)
        for title, values in self.tracks.items():
            kind, name, fact = title.split(" ")
            same(seen.track(kind, name, fact), values, title)
        told, chance = set(self.events), set(self.chance)
        events = {each for each in seen.events() if not each[0].startswith("Node ")}
        assert sorted(events - (chance - told)) == sorted(told)


def same(found: Sequence[Any], expected: Sequence[Any], title: str) -> None:
    """`found` is one of the ways that things may have gone."""
    ways = _ways(expected)
    if list(found) not in ways:
        closest = max(ways, key=lambda way: sum(each in way for each in found))
        assert list(found) == closest, title


def _same_lives(found: Sequence[Any], expected: Sequence[Any] | Lives, title: str) -> None:
    lives = expected.stories if isinstance(expected, Lives) else [expected] * len(found)
    assert len(found) == len(lives), f"{title}: {found}"
    for each, told in zip(found, lives, strict=True):
        same(each, told, title)


def _ways(expected: Sequence[Any]) -> list[list[Any]]:
    return [[each for part in way for each in part] for way in product(*map(_choices, expected))]


def _choices(expected: Any) -> list[list[Any]]:
    if isinstance(expected, Maybe):
        return [[expected.state], []]
    if isinstance(expected, Either):
        return [*_ways(expected.one), *_ways(expected.other)]
    if isinstance(expected, Ends):
        return [[], *_ways(expected.states)]
    return [[expected]]


def _names(title: str) -> tuple[str, str]:
    kind, _, name = title.partition(" ")
    return kind, name


# What a test sends


def job(name: str, queue: str, cpu: str, space: str, **more: Any) -> Object:
    """Its pods run that many seconds (`runs`), or for ever."""
    notes, labels = more.pop("annotations", None), {QUEUE_NAME: queue, **more.pop("labels", {})}
    runs, pods = more.pop("runs", NEVER), more.pop("pods", 1)
    resources = {"requests": {"cpu": cpu}, **more.pop("resources", {})}
    template = {
        "metadata": {"annotations": {RUN_SECONDS: runs}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "resources": resources}],
        },
    }
    spec = {"completions": pods, "parallelism": pods, "suspend": True, "template": template}
    return a_job(name, namespace=space, labels=labels, annotations=notes, spec=spec)


# Queues


def queue(quota: str = "4", flavor: str = "default", **said: Any) -> Facts:
    """A ClusterQueue as it is created; `said` with dots as double underscores."""
    amounts = [{"name": "cpu", "nominalQuota": quota}]
    flavors = [{"name": flavor, "resources": amounts}]
    return {
        **IN_USE,
        "generation": 1,
        "spec.flavorFungibility.whenCanBorrow": "MayStopSearch",
        "spec.flavorFungibility.whenCanPreempt": "TryNextFlavor",
        "spec.namespaceSelector": {},
        "spec.preemption.borrowWithinCohort.policy": "Never",
        "spec.preemption.reclaimWithinCohort": "Never",
        "spec.preemption.withinClusterQueue": "Never",
        "spec.queueingStrategy": "BestEffortFIFO",
        "spec.resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "spec.stopPolicy": "None",
        **{f"spec.{path.replace('__', '.')}": value for path, value in said.items()},
    }


def admits(generation: int = 1) -> Facts:
    return {"Active": f"True Ready @{generation}: Can admit new workloads"}


def local(cluster_queue: str, stop_policy: str = "None") -> Facts:
    return {
        "generation": 1,
        "spec.clusterQueue": cluster_queue,
        "spec.stopPolicy": stop_policy,
    }


def submits(generation: int = 1) -> Facts:
    return {"Active": f"True Ready @{generation}: Can submit new workloads to localQueue"}


def submits_not(reason: str = "ClusterQueueIsInactive") -> Facts:
    return {"Active": f"False {reason} @1: Can't submit new workloads to clusterQueue"}


# Jobs

_GIVEN = "spec.template.metadata"


def job_made(name: str, queue: str, cpu: str, pods: int = 1, **more: Any) -> Facts:
    container = "spec.template.spec.containers[c]"
    return {
        "generation": 1,
        f"labels.{QUEUE_NAME}": queue,
        "spec.backoffLimit": 6,
        "spec.completionMode": "NonIndexed",
        "spec.completions": pods,
        "spec.manualSelector": False,
        "spec.parallelism": pods,
        "spec.podReplacementPolicy": "TerminatingOrFailed",
        "spec.selector.matchLabels.batch.kubernetes.io/controller-uid": "<uid>",
        "spec.suspend": True,
        **{f"{_GIVEN}.{label}": value for label, value in _pod_labels(name).items()},
        f"{container}.image": "busybox",
        f"{container}.imagePullPolicy": "Always",
        f"{container}.resources.requests.cpu": cpu,
        "spec.template.spec.restartPolicy": "Never",
        **more.pop("facts", {}),
    }


def _pod_labels(name: str) -> Facts:
    return {
        "labels.batch.kubernetes.io/controller-uid": "<uid>",
        "labels.batch.kubernetes.io/job-name": name,
        "labels.controller-uid": "<uid>",
        "labels.job-name": name,
    }


def _given(name: str, cluster_queue: str, queue: str) -> Facts:
    """What an admitted job's pods are told."""
    return {
        "annotations.kueue.x-k8s.io/workload": f"job-{name}-*",
        "labels.kueue.x-k8s.io/cluster-queue-name": cluster_queue,
        "labels.kueue.x-k8s.io/local-queue-name": queue,
        "labels.kueue.x-k8s.io/podset": "main",
    }


SUSPENDED = {"Suspended": "True JobSuspended: Job suspended"}
RESUMED = {"Suspended": "False JobResumed: Job resumed", "startTime": "<t>"}
_REACHED = "True CompletionsReached: Reached expected number of succeeded pods"
COMPLETED: list[Told] = [
    {"SuccessCriteriaMet": _REACHED},
    {"Complete": _REACHED, "completionTime": "<t>"},
]


def started(name: str, cluster_queue: str, queue: str, generation: int = 2, **more: Any) -> Story:
    told = {f"{_GIVEN}.{key}": value for key, value in _given(name, cluster_queue, queue).items()}
    return [{"generation": generation, "spec.suspend": False, **told, **more}, RESUMED]


def stopped(name: str, generation: int = 3) -> Story:
    """Suspended, its start forgotten, its template as it was, and gone quiet."""
    gone = {f"{_GIVEN}.{key}": None for key in _given(name, "", "")}
    stopping = "annotations.kueue.x-k8s.io/stopping"
    return [
        {"generation": generation, "spec.suspend": True, stopping: "true"},
        {"startTime": None},
        {"generation": generation + 1, stopping: None, **gone},
        SUSPENDED,
    ]


# Workloads


def workload_made(name: str, queue: str, cpu: str, count: int = 1, **facts: Any) -> Facts:
    main, container = "spec.podSets[main]", "spec.podSets[main].template.spec.containers[c]"
    return {
        **IN_USE,
        "generation": 1,
        "labels.kueue.x-k8s.io/job-uid": "<uid>",
        f"owner Job {name}": True,
        "spec.active": True,
        f"{main}.count": count,
        f"{main}.template.metadata.labels.batch.kubernetes.io/job-name": name,
        f"{container}.image": "busybox",
        f"{container}.imagePullPolicy": "Always",
        f"{container}.resources.requests.cpu": cpu,
        f"{main}.template.spec.restartPolicy": "Never",
        f"{main}.topologyRequest.podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "spec.priority": 0,
        "spec.queueName": queue,
        **facts,
    }


def of_class(name: str, value: int) -> Facts:
    return {
        "spec.priority": value,
        "spec.priorityClassRef.group": "kueue.x-k8s.io",
        "spec.priorityClassRef.kind": "WorkloadPriorityClass",
        "spec.priorityClassRef.name": name,
    }


def waits(reason: str, message: str, at: int = 1, **requests: str) -> Facts:
    """Without quota for the first time."""
    return {
        **no_quota(reason, message, at),
        "Admitted": f"False NoReservation @{at}: The workload has no reservation",
        **{f"resourceRequests[main].resources.{key}": value for key, value in requests.items()},
    }


def check_pending(name: str) -> Facts:
    check = f"admissionChecks[{name}]"
    return {
        f"{check}.lastTransitionTime": "<t>",
        f"{check}.message": "",
        f"{check}.state": "Pending",
    }


def no_quota(reason: str, message: str, at: int = 1) -> Facts:
    return {"QuotaReserved": f"False {reason} @{at}: {message}"}


def admitted(
    cluster_queue: str, cpu: str, count: int = 1, at: int = 1, flavor: str = "default", **more: Any
) -> Facts:
    main = "admission.podSetAssignments[main]"
    reserved = f"Quota reserved in ClusterQueue {cluster_queue}"
    return {
        "QuotaReserved": f"True QuotaReserved @{at}: {reserved}",
        "Admitted": f"True Admitted @{at}: The workload is admitted",
        "admission.clusterQueue": cluster_queue,
        f"{main}.count": count,
        f"{main}.flavors.cpu": flavor,
        f"{main}.resourceUsage.cpu": cpu,
        **more,
    }


WAITED = {"resourceRequests[main].resources.cpu": None}
"""One that is admitted after it waited asks for nothing any more."""
FINISHED = {"Finished": "True Succeeded @1: Reached expected number of succeeded pods"}
LET_GO: Facts = {"finalizers": None}


def evicted(reason: str, message: str, at: int = 1, cause: str = "", **more: Any) -> Facts:
    kind = "Deactivated" if reason.startswith("Deactivated") else reason
    count = {"reason": kind, "underlyingCause": cause, "count": 1}
    return {
        "Evicted": f"True {reason} @{at}: {message}",
        "schedulingStats.evictions": [count],
        **more,
    }


def released(
    reason: str, message: str, seconds: int, at: int = 1, *, requeued: bool = True
) -> Facts:
    """Its job has stopped: the quota is free."""
    gone = {key: None for key in admitted("", "") if key.startswith("admission.")}
    return {
        **gone,
        **waits("PendingEvaluation", message, at),
        "Requeued": f"{requeued} {reason} @{at}: {message}",
        "accumulatedPastExecutionTimeSeconds": seconds,
    }


SOON = Maybe(
    no_quota("PendingEvaluation", "Workload is pending evaluation in the scheduling queue")
)
"""Between the end of what kept it back and the next look of the scheduler."""


def not_started(at: int = 1) -> str:
    return f"False WaitForStart @{at}: Not all pods are ready or succeeded"


def all_ready(at: int = 1) -> str:
    return f"True Started @{at}: All pods reached readiness and the workload is running"


def recovers(at: int = 1) -> str:
    return f"False WaitForRecovery @{at}: At least one pod has failed, waiting for recovery"


STALE = [Maybe(recovers()), Maybe(not_started())]
"""Kueue writes again what it had read before; we do not."""


# Pods


def pod(name: str, cluster_queue: str, queue: str) -> Facts:
    return {
        **_pod_labels(name),
        **_given(name, cluster_queue, queue),
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "generation": 1,
        f"owner Job {name}": True,
        "phase": "Pending",
    }


RUNS: list[Told] = [
    {"PodScheduled": "True", "spec.nodeName": "<node>"},
    {"Ready": "True", "phase": "Running"},
]
SUCCEEDS: list[Told] = [{"Ready": "False PodCompleted", "phase": "Succeeded"}, LET_GO]
GOES: list[Told] = [
    LET_GO,
    {"deletionGracePeriodSeconds": 30, "deletionTimestamp": "<t>", "generation": 2},
    Maybe({"Ready": "False PodCompleted", "phase": "Succeeded"}),
    {"deletionGracePeriodSeconds": 0},
    {"gone": True},
]


# Events


def on_workload(
    name: str, reason: str, message: str, type: str = "Normal", by: str = "kueue-admission"
) -> Event:
    return f"Workload job-{name}-*", type, reason, message, by, reason


def on_job(name: str, reason: str, message: str) -> Event:
    return f"Job {name}", "Normal", reason, message, "batch/job-kueue-controller", reason


def of_job_controller(name: str, reason: str, message: str) -> Event:
    return f"Job {name}", "Normal", reason, message, "job-controller", ""


def queued_events(name: str, space: str) -> list[Event]:
    return [
        of_job_controller(name, "Suspended", "Job suspended"),
        on_job(name, "CreatedWorkload", f"Created Workload: {space}/job-{name}-*"),
    ]


def started_events(name: str, space: str, cluster_queue: str, flavors: str = "") -> list[Event]:
    reserved = f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was <d>"
    since = f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was <d>"
    bound = f"Successfully assigned {space}/{name}-* to <node>"
    return [
        on_workload(name, "QuotaReserved", reserved + flavors),
        on_workload(name, "Admitted", since),
        on_job(name, "Started", f"Admitted by clusterQueue {cluster_queue}"),
        of_job_controller(name, "Resumed", "Job resumed"),
        of_job_controller(name, "SuccessfulCreate", f"Created pod: {name}-*"),
        (f"Pod {name}-*", "Normal", "Scheduled", bound, "default-scheduler", "Binding"),
    ]


def stopped_events(name: str, message: str) -> list[Event]:
    return [
        on_job(name, "Stopped", message),
        of_job_controller(name, "SuccessfulDelete", f"Deleted pod: {name}-*"),
    ]


def finished_events(name: str, space: str) -> list[Event]:
    return [
        of_job_controller(name, "Completed", "Job completed"),
        on_job(name, "FinishedWorkload", f"Workload '{space}/job-{name}-*' is declared finished"),
    ]
