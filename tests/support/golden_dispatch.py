"""What recordings of MultiKueue have in common, in words of our own: a manager, two workers, jobs
that run on one of them, and all that was seen of the three.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.support import dispatching, golden
from tests.support import kueue as objects
from tests.support.dispatching import CHECK, WORKERS, Dispatching, Side
from tests.support.golden import Either, Event, Maybe, Recording, Told
from tests.support.recorder import Facts, Recorder

from fleetqueue import kueue
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import kinds, parts
from fleetqueue.multikueue.settings import DispatchSettings
from fleetqueue.testing import Fleet

QUEUE = dispatching.LOCAL_QUEUE
BY_CONTROLLER = "kueue-workload-controller"
ORIGIN = {"labels.kueue.x-k8s.io/multikueue-origin": "multikueue"}
OF_WORKER = "labels.kueue.x-k8s.io/multikueue-worker-workload-pod"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
GIVEN = "spec.template.metadata"
GONE: Facts = {"gone": True}
OUR_EVENTS = {"PendingOnWorkers"}
"""Told by nobody else: why no worker has admitted a workload yet."""
STOPPED = "The ClusterQueue is stopped"
NO_QUOTA = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, "
    "previously considered podsets requests (0) + current podset request (1) > maximum capacity (0)"
)
NOT_NOW = (
    "couldn't assign flavors to pod set main: "
    "insufficient unused quota for cpu in flavor default, 1 more needed"
)
READY = [golden.not_started(), golden.all_ready()]
"""How the pods of a job became ready."""


def install(
    manager: Manager,
    options: KueueOptions,
    settings: DispatchSettings,
    connect: Callable[[Access], Client],
) -> Any:
    """The whole of dispatching."""
    made = kueue.install(manager, options)
    return parts.install(
        manager, settings, connect, made.metrics, lambda kind: True, writer=made.writer
    )


async def start(
    fleet: Fleet,
    space: str,
    *,
    quota: Mapping[str, str] | None = None,
    order: Sequence[str] = WORKERS,
    check: str = CHECK,
    preemption: Object | None = None,
    seen: Sequence[Resource] = (),
    **options: Any,
) -> Dispatching:
    """Joined, with queues that have the name of the namespace.

    `quota`: cpu of each worker; `order`: of the workers in the configuration, the first of which
    gets a job that several admit in the same second; `seen`: kinds that are recorded besides.
    """
    world = await dispatching.start(fleet, install=install, space=space, **options)
    if seen:
        for side in (world.manager, *world.workers.values()):
            side.seen = Recorder(side.client, (*dispatching.SEEN, *seen))
    name = cluster_queue_of(space)
    strategy = {"admissionChecks": [{"name": check}]}
    await world.manager.create(
        dispatching.config(*order),
        dispatching.admission_check(check),
        objects.flavor(),
        objects.cluster_queue(name, "8", admissionChecksStrategy=strategy),
        objects.local_queue(QUEUE, name),
    )
    more = {"preemption": preemption} if preemption else {}
    for worker, side in world.workers.items():
        cpu = (quota or {}).get(worker, "4")
        await side.create(
            objects.flavor(),
            objects.cluster_queue(name, cpu, **more),
            objects.local_queue(QUEUE, name),
        )
    await world.join()
    return world


async def prefer(world: Dispatching, *order: str) -> None:
    """From now on the first of these gets what several admit in the same second. Kueue draws lots
    there; so a replay can take the way that was recorded.
    """
    patch = {"spec": {"clusters": list(order)}}
    await world.manager.patch(kinds.CONFIG, dispatching.CONFIG, patch)


async def set_stop(side: Side, policy: str) -> None:
    """The stop policy of the only queue there."""
    patch = {"spec": {"stopPolicy": policy}}
    await side.patch(kinds.CLUSTER_QUEUE, cluster_queue_of(side.space), patch)


def cluster_queue_of(space: str) -> str:
    return f"{space}-cq"


def compare(world: Dispatching, recorded: Mapping[str, Recording]) -> None:
    """Each cluster with what was recorded of it; jobs, workloads and pods that the recording does
    not tell of were not there.
    """
    for side in (world.manager, *world.workers.values()):
        expected = recorded.get(side.name, Recording(stories={}))
        ours = [event for event in side.seen.events() if event[2] in OUR_EVENTS]
        replace(expected, chance=[*expected.chance, *ours]).compare(side.seen)
        for kind in ("Workload", "Job", "Pod"):
            told = {f"{kind} {name}" for name in side.seen.names(kind)}
            assert told <= set(expected.stories), side.name


@dataclass(frozen=True)
class Sent:
    """A Job that goes to a worker, and what is told of it there and here."""

    name: str
    space: str
    cpu: str = "1"
    pods: int = 1
    check: str = CHECK
    priority: Facts = field(default_factory=dict)
    """What its Workload says of its class."""
    labels: Facts = field(default_factory=dict)

    @property
    def cluster_queue(self) -> str:
        return cluster_queue_of(self.space)

    @property
    def workload(self) -> str:
        return f"job-{self.name}-*"

    @property
    def total(self) -> str:
        return str(int(self.cpu) * self.pods)

    # The job on the manager

    def job(self) -> Facts:
        facts = {"spec.managedBy": kinds.CONTROLLER, **self.labels}
        return golden.job_made(self.name, QUEUE, self.cpu, self.pods, facts=facts)

    def started(self, generation: int = 2) -> list[Told]:
        return [*golden.started(self.name, self.cluster_queue, QUEUE, generation)]

    def stopped(self, generation: int = 3) -> list[Told]:
        return [*golden.stopped(self.name, generation)]

    def put_out(self) -> list[Told]:
        """Stopped after its mirror, which may already be seen."""
        told = self.stopped()
        return [Either(told, [golden.SUSPENDED, *told[:-1]])]

    # The workload on the manager

    def made(self) -> Facts:
        return golden.workload_made(self.name, QUEUE, self.cpu, self.pods, **self.priority)

    def queued(self, *workers: str) -> list[Told]:
        """Quota for the first time, and these workers are asked, or both. Kueue tells in a write of
        its own that checks are missing, somewhere on the way.
        """
        check, asked, both = golden.check_pending(self.check), nominated(*workers), self.reserved()
        quota = {key: fact for key, fact in both.items() if key != "Admitted"}
        missing = Maybe({"Admitted": both["Admitted"]})
        after = Either([missing, asked], [asked, missing])
        return [
            Either(
                [check, Either([both, asked], [quota, after])],
                [quota, check, after],
            )
        ]

    def reserved(self, at: int = 1) -> Facts:
        facts = golden.admitted(self.cluster_queue, self.total, self.pods, at)
        text = "The workload has not all checks ready"
        return {**facts, "Admitted": f"False UnsatisfiedAdmissionChecks @{at}: {text}"}

    def claimed(self, worker: str, at: int = 1) -> list[Told]:
        """A worker has it."""
        return [
            {
                "nominatedClusterNames": None,
                "clusterName": worker,
                **self.checked("Ready", admitted_on(worker)),
            },
            {"Admitted": f"True Admitted @{at}: The workload is admitted"},
        ]

    def claimed_from_others(self, worker: str) -> list[Told]:
        """A worker has it that somebody else nominated: the list is theirs, so it is emptied first,
        as the admission policy does that Kueue has for this, and is gone with the next write.
        """
        first, then = self.claimed(worker)
        assert isinstance(first, dict)
        gone = {"nominatedClusterNames": None}
        return [{**first, "nominatedClusterNames": []}, then, gone]

    def checked(self, state: str, message: str, **more: Any) -> Facts:
        of = f"admissionChecks[{self.check}]"
        said = {"state": state, "message": message, **more}
        return {f"{of}.{name}": value for name, value in said.items()}

    def evicted(self, reason: str, message: str, before: str, at: int = 1, **more: Any) -> Facts:
        """It leaves its worker; the check, which was in the state `before`, starts over."""
        text = f"Reset to Pending after eviction. Previously: {before}"
        count = {"retryCount": 1} if before == "Retry" else {}
        return {
            **golden.evicted(reason, message, at, **more),
            "clusterName": None,
            **self.checked("Pending", text, **count),
        }

    def retried(self, message: str, seconds: int) -> list[Told]:
        """The check asks for another worker."""
        text, reason = self.retry_text(message), "AdmissionCheck"
        return [
            self.checked("Retry", message),
            self.evicted(reason, text, "Retry"),
            golden.released(reason, text, seconds, requeued=False),
            {"Requeued": "True BackoffFinished @1: The workload backoff was finished"},
        ]

    def retry_text(self, message: str) -> str:
        return f'Evicted due to AdmissionCheck in Retry state: "{self.check}" ({message})'

    def reserved_again(self, reason: str, at: int = 1) -> Facts:
        """With quota after an eviction; `reason`: its message."""
        return {**self.reserved(at), "Evicted": f"False QuotaReserved @{at}: Previously: {reason}"}

    # On a worker

    def copy(self, **more: Any) -> Facts:
        """Nobody's yet."""
        of_manager = ("owner ", "finalizers", "labels.kueue.x-k8s.io/job-uid")
        kept = {key: fact for key, fact in self.made().items() if not key.startswith(of_manager)}
        return {**kept, **ORIGIN, **more}

    def admitted(self, at: int = 1, **more: Any) -> Facts:
        return golden.admitted(self.cluster_queue, self.total, self.pods, at, **more)

    def adopted(self) -> Facts:
        return {f"owner Job {self.name}": True, "labels.kueue.x-k8s.io/job-uid": "<uid>"}

    def runs(self) -> list[Told]:
        """The copy on the worker that has it."""
        return [self.copy(), self.admitted(), self.adopted()]

    def stopped_by_manager(self, message: str, seconds: int) -> list[Told]:
        """That copy, after an eviction on the manager."""
        told = f"Evicted on manager: {message}"
        reason, text = "DeactivatedDueToEvictedOnManagerCluster", off_text(message)
        return [
            {"DeactivationTarget": f"True EvictedOnManagerCluster @1: {told}"},
            {"generation": 2, "spec.active": False},
            {
                **golden.evicted(reason, text, at=2, cause="EvictedOnManagerCluster"),
                "DeactivationTarget": None,
            },
            golden.released(reason, text, seconds, at=2, requeued=False),
            golden.no_quota("Deactivated", "The workload is deactivated", at=2),
            GONE,
        ]

    def never_admitted(self) -> list[Told]:
        """A worker without any quota."""
        return [self.copy(), golden.waits("ExceedsMaxQuota", NO_QUOTA, cpu=self.total), GONE]

    def lost(self) -> list[Told]:
        """Another worker was faster."""
        return [self.copy(), Maybe(self.admitted()), GONE]

    def mirror(self) -> list[Told]:
        facts = {
            **ORIGIN,
            f"annotations.{PREBUILT}": self.workload,
            # Kueue writes the annotation alone; a label as well serves those who look for one.
            f"labels.{PREBUILT}": self.workload,
            **self.labels,
        }
        return [
            golden.job_made(self.name, QUEUE, self.cpu, self.pods, facts=facts),
            golden.SUSPENDED,
        ]

    def mirror_started(self, generation: int = 2) -> list[Told]:
        more = {f"{GIVEN}.{OF_WORKER}": "true"}
        return [*golden.started(self.name, self.cluster_queue, QUEUE, generation, **more)]

    def mirror_stopped(self, generation: int = 3) -> list[Told]:
        first, start, restored, suspended = golden.stopped(self.name, generation)
        return [first, start, {**restored, f"{GIVEN}.{OF_WORKER}": None}, suspended]

    def pod(self) -> list[Told]:
        facts = golden.pod(self.name, self.cluster_queue, QUEUE)
        return [{**facts, OF_WORKER: "true"}, *golden.RUNS]

    # Events

    def queued_events(self) -> list[Event]:
        reserved, _ = self._admitted_events()
        text = f"Created Workload: {self.space}/{self.workload}"
        return [golden.on_job(self.name, "CreatedWorkload", text), reserved]

    def claimed_events(self, worker: str) -> list[Event]:
        _, admitted = self._admitted_events()
        return [
            self.told(admitted_on(worker)),
            (*admitted[:4], BY_CONTROLLER, admitted[5]),
            golden.on_job(self.name, "Started", f"Admitted by clusterQueue {self.cluster_queue}"),
        ]

    def told(self, message: str, type: str = "Normal", reason: str = "MultiKueue") -> Event:
        return golden.on_workload(self.name, reason, message, type, BY_CONTROLLER)

    def finished_events(self) -> list[Event]:
        [_, finished] = golden.finished_events(self.name, self.space)
        return [finished]

    def run_events(self) -> list[Event]:
        """On the worker that runs it."""
        return [
            golden.of_job_controller(self.name, "Suspended", "Job suspended"),
            *golden.started_events(self.name, self.space, self.cluster_queue),
        ]

    def never_admitted_event(self) -> Event:
        return golden.on_workload(self.name, "ExceedsMaxQuota", NO_QUOTA, "Warning")

    def retried_events(self, message: str) -> list[Event]:
        text = self.retry_text(message)
        return [
            self.told(text, reason="EvictedDueToAdmissionCheck"),
            *self.reset_events(text, "Retry"),
        ]

    def reset_events(self, message: str, before: str) -> list[Event]:
        """The local job stops, and its check is in another state than `before`."""
        reset = f"{self.check}: Reset to Pending after eviction. Previously: {before}"
        return [
            golden.on_job(self.name, "Stopped", message),
            golden.on_job(self.name, "UpdatedAdmissionCheck", reset),
        ]

    def stopped_by_manager_events(self, message: str) -> list[Event]:
        reason = "EvictedDueToDeactivatedDueToEvictedOnManagerCluster"
        return [
            *golden.stopped_events(self.name, off_text(message)),
            self.told(off_text(message), reason=reason),
        ]

    def lost_events(self) -> list[Event]:
        """On a worker that was slower; told where it was hardly so."""
        return self._admitted_events()

    def _admitted_events(self) -> list[Event]:
        return golden.started_events(self.name, self.space, self.cluster_queue)[:2]


# Somebody else who nominates workers

OTHER = "example-dispatcher"
EXCLUSIVE = "clusterName and nominatedClusterNames are mutually exclusive"
IMMUTABLE = "clusterName is immutable once set"


async def say(side: Side, workload: Object, **status: Any) -> None:
    """They write this into the status of a workload."""
    await side.client.patch(
        kinds.WORKLOAD, workload["metadata"]["name"], {"status": status}, side.space,
        subresource="status", field_manager=OTHER,
    )  # fmt: skip
    await side.fleet.settle()


async def refusal(side: Side, workload: Object, **status: Any) -> str:
    """Why they must not."""
    with pytest.raises(Invalid) as refused:
        await say(side, workload, **status)
    [cause] = refused.value.causes
    assert cause["field"] == "status"
    return str(cause["message"]).removeprefix('Invalid value: "object": ')


# Connections


def activity(world: Dispatching, worker: str) -> list[str]:
    """What the MultiKueueCluster said of the connection, without times."""
    said = world.manager.seen.track("MultiKueueCluster", worker, "Active")
    return [re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "<t>", line) for line in said if line]


CONNECTED = "True Active @1: Connected"


def unreachable(attempts: int) -> str:
    return (
        "False ClientConnectionFailed @1: failed to get server groups: "
        'Get "https://127.0.0.1:1/api": dial tcp 127.0.0.1:1: connect: connection refused; '
        f"connection attempts: {attempts}, next connection attempt: <t>"
    )


def check_made() -> Facts:
    """The MultiKueue check, connected."""
    return {
        **golden.IN_USE,
        "generation": 1,
        "Active": "True Active @1: The admission check is active",
        "spec.controllerName": kinds.CONTROLLER,
        "spec.parameters.apiGroup": "kueue.x-k8s.io",
        "spec.parameters.kind": "MultiKueueConfig",
        "spec.parameters.name": dispatching.CONFIG,
    }


def nominated(*workers: str) -> Facts:
    return {"nominatedClusterNames": list(workers or WORKERS)}


def evicted_on(worker: str) -> str:
    return (
        f'Workload evicted on worker cluster: "{worker}", resetting for re-admission.'
        ' Previously: "Ready"'
    )


def off_text(message: str) -> str:
    return f"The workload is deactivated due to Evicted on manager: {message}"


def admitted_on(worker: str) -> str:
    return f'The workload was admitted on "{worker}"'


# The local job before it runs: its mirror says that it is suspended, or that is told for it

SET_BY_ADAPTER = {"Suspended": "True MultiKueueAdapter: Set by MultiKueue adapter"}
MAY_BE_SUSPENDED: Told = Either([Maybe(golden.SUSPENDED)], [SET_BY_ADAPTER])
ENDED: Facts = golden.COMPLETED[0] | golden.COMPLETED[1]  # type: ignore[operator]
"""A mirror ends in two steps, and both are copied together."""
_DELETED = {"deletionGracePeriodSeconds": 30, "deletionTimestamp": "<t>", "generation": 2}
OWNER_GONE: Told = Maybe(
    {"Finished": "True OwnerNotFound @1: The workload's owner no longer exists"}
)
"""What a worker may find in the moment between the end of a mirror and that of its copy."""
PULLED_AWAY: list[Told] = [
    Either(
        [golden.LET_GO, _DELETED],
        [_DELETED, golden.LET_GO],
    ),
    *golden.GOES[2:],
]
"""A pod that runs when its mirror is deleted."""
TAKEN_ALONG: list[Told] = [
    *golden.SUCCEEDS,
    {"deletionGracePeriodSeconds": 0, "deletionTimestamp": "<t>", "generation": 2},
    GONE,
]
"""A pod that succeeds, and goes with the mirror."""
