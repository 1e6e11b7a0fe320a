"""Fetches the logs of a finished job before its mirror is deleted. A worker that hangs is not
waited for: what has come until then is kept.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.embedded.reach.kept import Kept, is_well_named, kept_job, log_path
from fleetqueue.embedded.reach.stored_lines import StoredLines
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import PODS, Object, Resource, key_of, uid_of
from fleetqueue.kube.transport import Call
from fleetqueue.multikueue.connection import Connection
from fleetqueue.multikueue.reach import pods_of
from fleetqueue.multikueue.reach.dispatched import Dispatched
from fleetqueue.multikueue.workers import Worker

JOB_SECONDS_MAX = 5.0
"""So long at most is the removal of a mirror put off."""
LOGS_MAX = 64
"""Of one job."""
AT_ONCE_MAX = 8
"""Logs that are fetched at the same time, of all jobs together."""
BYTES_MAX = 10 * 1024 * 1024
"""So much of the end of each log is kept."""
_STATUSES = ("initContainerStatuses", "containerStatuses")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One log."""

    pod: Object
    container: str
    previous: bool = False


def wanted_logs(pods: Sequence[Object]) -> Iterator[Wanted]:
    """Of containers that ran, those of each pod together."""
    for pod in filter(is_well_named, pods):
        status = pod.get("status") or {}
        for each in (one for name in _STATUSES for one in status.get(name) or ()):
            state, last = each.get("state") or {}, each.get("lastState") or {}
            if state.get("running") or state.get("terminated") or last.get("terminated"):
                yield Wanted(pod, str(each["name"]))
            if last.get("terminated"):
                yield Wanted(pod, str(each["name"]), previous=True)


class Keeping:
    """Told of every finished job whose mirror is about to go."""

    def __init__(self, kept: Kept, dispatched: Dispatched) -> None:
        self._kept = kept
        self._dispatched = dispatched
        self._free = asyncio.Semaphore(AT_ONCE_MAX)

    async def keep(self, worker: Worker, kind: Resource, mirrors: Sequence[Object]) -> None:
        """Whatever happens, the mirrors may be deleted afterwards."""
        assert isinstance(worker, Connection)
        try:
            async with asyncio.timeout(JOB_SECONDS_MAX):
                await asyncio.gather(*(self._keep(worker, kind, each) for each in mirrors))
        except (KubeError, TimeoutError, OSError) as error:
            log.info("logs were not kept: worker=%s: %r", worker.name, error)

    async def _keep(self, worker: Connection, kind: Resource, mirror: Object) -> None:
        job = self._dispatched.job_of(worker.name, kind, mirror)
        if job is None or uid_of(job) in self._kept.jobs():
            return
        pods = await self._dispatched.of_mirror(worker, kind, mirror)
        if not pods:
            return
        place = self._kept.begin(uid_of(job))
        try:
            await self._fetch_all(worker.client, place, pods)
        finally:
            self._end(job, kind, worker.name, mirror, pods)

    def _end(
        self, job: Object, kind: Resource, worker: str, mirror: Object, pods: Sequence[Object]
    ) -> None:
        if not self._dispatched.exists(kind, job):
            self._kept.abandon(uid_of(job))
            return
        uids = {uid_of(mirror): uid_of(job)}
        shown = [pods_of.shown(pod, uids) for pod in pods]
        self._kept.end(kept_job(job, kind, worker, shown))

    async def _fetch_all(self, client: Client, place: Path, pods: Sequence[Object]) -> None:
        wanted = list(wanted_logs(pods))
        if len(wanted) > LOGS_MAX:
            log.warning("of %d logs %d are kept: %s", len(wanted), LOGS_MAX, key_of(pods[0]))
        await asyncio.gather(*(self._fetch(client, place, each) for each in wanted[:LOGS_MAX]))

    async def _fetch(self, client: Client, place: Path, wanted: Wanted) -> None:
        key = key_of(wanted.pod)
        query = [("container", wanted.container), ("timestamps", "true")]
        if wanted.previous:
            query.append(("previous", "true"))
        path = log_path(place, key.name, wanted.container, previous=wanted.previous)
        headers = {"accept": "*/*", "accept-encoding": "identity"}
        asked = Call("GET", PODS.path(key.namespace, key.name, "log"), query, headers)
        async with self._free:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with StoredLines(path, BYTES_MAX) as stored:
                try:
                    async for chunk in client.stream(asked):
                        stored.feed(chunk)
                except KubeError as error:
                    log.info("a log was not kept: pod=%s: %s", key, error)
