"""Asks a cluster, and the workers of a manager, what they know of one workload; for `explain`."""

import asyncio
from collections.abc import Awaitable

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import explanation, visibility
from fleetqueue.cli import lost_workers, pod_looking, pod_words, preflighting
from fleetqueue.cli.explaining import Asked, Known, Place, has_failed
from fleetqueue.cli.fleets import PATIENCE_SECONDS
from fleetqueue.cli.pod_words import Seen
from fleetqueue.cli.preflighting import Findings, Subject
from fleetqueue.errors import FleetqueueError
from fleetqueue.kube import calls
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Forbidden, NoAnswer, NotFound, Unreachable
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.reach.search import Search
from fleetqueue.multikueue.session import Connect


class Asking:
    """The workers, about one workload."""

    def __init__(
        self,
        manager: Client,
        search: Search,
        connect: Connect,
        workload: Object,
        system_namespace: str,
    ) -> None:
        self._manager, self._search, self._connect = manager, search, connect
        self._workload, self._system_namespace = workload, system_namespace
        self._sent_to = str((workload.get("status") or {}).get("clusterName") or "")
        self.failure: list[str] = []
        """Why it failed, where it was sent."""
        self._workers: dict[str, Asked] = {}
        self._missing: dict[str, list[str]] = {}

    async def run(self) -> tuple[dict[str, Asked], dict[str, list[str]]]:
        """What those say that were offered it, and what is missing on all that it may go to."""
        offered, clusters = _offered(self._workload), dict[str, Object]()
        subject = preflighting.Subject(self._workload)
        if _waits(self._workload):
            clusters = await preflighting.workers_of(self._manager, self._workload)
            subject = await preflighting.subject_of(self._manager, self._workload)
        names = dict.fromkeys([*offered, *clusters])
        await asyncio.gather(
            *(self._ask(name, name in offered, clusters.get(name), subject) for name in names)
        )
        return self._workers, self._missing

    async def _ask(
        self, name: str, is_offered: bool, cluster: Object | None, subject: Subject
    ) -> None:
        lost = await self._lost(name, cluster, subject)
        self._missing[name] = lost
        try:
            client = self._connect(await self._search.access(name))
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    if has_failed(self._workload):
                        await self._ask_of_failure(client, name)
                    elif is_offered:
                        self._workers[name] = await _copy(client, name, self._workload)
                    if cluster is not None and not lost:
                        self._note(name, await preflighting.findings(client, name, subject))
            finally:
                await client.close()
        except (FleetqueueError, TimeoutError) as error:
            if is_offered or not lost:
                self._workers[name] = why_silent(error, is_lost=bool(lost))

    async def _lost(self, name: str, cluster: Object | None, subject: Subject) -> list[str]:
        """What is told where the manager does not reach it."""
        if cluster is not None:
            return preflighting.lost(subject, cluster)
        if name != self._sent_to or status.is_finished(self._workload):
            return []
        return await lost_workers.told_of(self._manager, name, self._system_namespace)

    async def _ask_of_failure(self, worker: Client, name: str) -> None:
        seen = await pod_looking.left_of(self._manager, worker, name, self._workload)
        told = pod_words.why_failed(seen, _message_of_failure(self._workload))
        self.failure = [f"on {name}, {line}" for line in told]

    def _note(self, name: str, found: Findings) -> None:
        """What is not known is told of workers that are spoken of anyway."""
        if found.problems or name in self._workers:
            self._missing[name] = [*found.problems, *filter(None, [found.unknown])]


def _waits(workload: Object) -> bool:
    """Whether it may still be sent to somebody."""
    is_over = status.is_finished(workload) or status.is_admitted(workload)
    sent = (workload.get("status") or {}).get("clusterName")
    return status.is_active(workload) and not is_over and not sent


def _offered(workload: Object) -> list[str]:
    """Whoever has it can say more of it, too; or had it when it failed."""
    told = workload.get("status") or {}
    if status.is_finished(workload) and not (has_failed(workload) and told.get("clusterName")):
        return []
    chosen = told.get("clusterName")
    return (
        [str(chosen)] if chosen else [str(each) for each in told.get("nominatedClusterNames", ())]
    )


def why_silent(error: Exception, *, is_lost: bool) -> str:
    """Of a worker. `is_lost`: the manager does not reach it either, and says so."""
    if isinstance(error, NoAnswer | TimeoutError):
        return "it does not answer"
    if isinstance(error, Unreachable):
        _, _, why = str(error).partition(": ")
        return "it cannot be reached" if is_lost else f"it cannot be reached from here: {why}"
    return str(error)


def _message_of_failure(workload: Object) -> str:
    finished = status.find_condition(workload, status.FINISHED) or {}
    return str(finished.get("message") or "")


async def _copy(worker: Client, name: str, workload: Object) -> Asked:
    metadata = workload["metadata"]
    try:
        copy = await worker.get(kinds.WORKLOAD, metadata["name"], metadata["namespace"])
    except NotFound:
        return "it has no copy"
    if _has_pods(copy):
        return await _with_pods(copy, pod_looking.on_worker(worker, name, workload, copy))
    return await known_of(worker, copy)


async def known_of(client: Client, workload: Object) -> Known:
    is_sent = bool((workload.get("status") or {}).get("clusterName"))
    if not is_sent and (_has_pods(workload) or has_failed(workload)):
        return await _with_pods(workload, pod_looking.on_this_cluster(client, workload))
    if status.has_quota(workload) or status.is_finished(workload):
        return Known(workload)
    space, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    path = f"/apis/{explanation.GROUP}/{explanation.VERSION}/namespaces/{space}/workloads/{name}"
    verdict = await _read(client, f"{path}/explanation")
    return Known(workload, verdict, await _place(client, workload))


def _has_pods(workload: Object) -> bool:
    """Whether it has, or should have, pods that are not all ready."""
    is_over = status.is_finished(workload) or status.is_true(workload, status.PODS_READY)
    return status.is_active(workload) and status.is_admitted(workload) and not is_over


async def _with_pods(workload: Object, looking: Awaitable[Seen]) -> Known:
    try:
        seen = await looking
    except Forbidden as error:
        return Known(workload, pods=[f"what its pods say may not be read: {error}"])
    if has_failed(workload):
        return Known(workload, pods=pod_words.why_failed(seen, _message_of_failure(workload)))
    is_told = status.find_condition(workload, status.PODS_READY) is not None
    lines = pod_words.why_unready(seen, is_told=is_told)
    return Known(workload, pods=lines, are_pods_ready=pod_words.are_ready(seen.pods))


async def _place(client: Client, workload: Object) -> Place | None:
    space, queue = workload["metadata"]["namespace"], workload["spec"].get("queueName") or ""
    path = f"/apis/{visibility.GROUP}/v1beta2/namespaces/{space}/localqueues/{queue}"
    found = (await _read(client, f"{path}/pendingworkloads")).get("items") or ()
    for number, each in enumerate(found, 1):
        if each["metadata"]["name"] == workload["metadata"]["name"]:
            return Place(number, len(found), int(each["positionInClusterQueue"]) + 1)
    return None


async def _read(client: Client, path: str) -> Object:
    """Nothing where nobody answers there, as on a cluster with another Kueue."""
    try:
        return dict((await client.call(calls.read(path, []))).payload.decoded())
    except (NotFound, Forbidden):
        return {}
