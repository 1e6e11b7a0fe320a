"""Answers `kubectl logs`: which attempt of a container is meant, and its text as it grows."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from fleetqueue.api import times
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base.clock import Clock
from fleetqueue.embedded.places import Places, container_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.log_cursor import Cursor
from fleetqueue.runtime.logs import LogOptions, View
from fleetqueue.runtime.pod_facts import is_terminal
from fleetqueue.runtime.pod_status import ContainerFacts, Running, Terminated, Waiting
from fleetqueue.runtime.preparation import process_id
from fleetqueue.runtime.recovery import known_containers

POLL_SECONDS = 0.1
BATCH_LINES = 2000
SIMULATED_LOG = "fleetqueue.io/sim-log"
PULL_FAILURES = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


async def answer(call: Call, pod: Object, places: Places) -> Response:
    name = str(container_of(call, pod)["name"])
    options = options_of(call.request, places.clock)
    follow, previous = call.request.flag("follow"), call.request.flag("previous")
    attempt = choose_attempt(pod, name, places.facts(pod, name), previous=previous)
    if places.is_simulated(pod):
        text = _simulated(pod, name, options, places, follow=follow and not previous)
    else:
        log = FollowedLog(pod, name, attempt, places, ends=previous or not follow)
        text = log.chunks(options)
    return Response(chunks=text, content_type="text/plain")


def options_of(request: Request, clock: Clock) -> LogOptions:
    """What the query asks for; its form was checked before."""
    since = None
    if seconds := request.first("sinceSeconds"):
        since = clock.now() - timedelta(seconds=int(seconds))
    elif moment := request.first("sinceTime"):
        since = times.parse_time(moment)
    tail, limit = request.first("tailLines"), request.first("limitBytes")
    return LogOptions(
        since=since,
        tail_lines=int(tail) if tail else None,
        limit_bytes=int(limit) if limit else None,
        timestamps=request.flag("timestamps"),
        stream=request.first("stream") or "All",
    )


def choose_attempt(
    pod: Object, container: str, facts: ContainerFacts | None, *, previous: bool
) -> int:
    """Whose log is meant: that of the present attempt, or of the one that ended before it."""
    named = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if facts is None:
        raise problems.bad_request(f"{named} is not available")
    if previous:
        if facts.last is None or not facts.last.id:
            raise problems.bad_request(f"previous terminated {named} not found")
        return _attempt_of(pod, container, facts, facts.last)
    if isinstance(facts.state, Running):
        return facts.restarts
    if isinstance(facts.state, Terminated) and not facts.state.id and facts.id:
        return facts.restarts
    for ended in (facts.state, facts.last):
        if isinstance(ended, Terminated) and ended.id:
            return _attempt_of(pod, container, facts, ended)
    if isinstance(facts.state, Waiting):
        reason = PULL_FAILURES.get(facts.state.reason, facts.state.reason)
        raise problems.bad_request(f"{named} is waiting to start: {reason}")
    raise problems.bad_request(f"{named} is terminated")


def _attempt_of(pod: Object, container: str, facts: ContainerFacts, ended: Terminated) -> int:
    """The count of restarts runs ahead of the attempt that ended last."""
    uid = str(pod["metadata"]["uid"])
    for attempt in range(facts.restarts, -1, -1):
        if process_id(uid, container, attempt) == ended.id:
            return attempt
    return facts.restarts


class FollowedLog:
    """The log of a container, over its restarts, until it has ended for good."""

    def __init__(
        self, pod: Object, container: str, attempt: int, places: Places, *, ends: bool
    ) -> None:
        self._pod = pod
        self._container = container
        self._attempt = attempt
        self._places = places
        self._ends = ends
        """Whether what there is now is all that was asked for."""
        self._worker = places.worker(pod, container)

    async def chunks(self, options: LogOptions) -> AsyncIterator[bytes]:
        view, tail = View(options), options.tail_lines
        while True:
            cursor = Cursor(self._path(), tail)
            try:
                async for chunk in self._attempt_chunks(cursor, view):
                    yield chunk
            finally:
                cursor.close()
            if view.is_full or self._is_over():
                return
            self._attempt += 1
            tail = None

    async def _attempt_chunks(self, cursor: Cursor, view: View) -> AsyncIterator[bytes]:
        while not view.is_full:
            # Looked at before the log: what comes after that is still read.
            is_complete = self._is_over() or self._is_next_begun()
            lines = cursor.read(BATCH_LINES)
            chunk = b"".join(map(view.text, lines))
            if chunk:
                yield chunk
            if lines:
                await asyncio.sleep(0)
            elif is_complete:
                return
            else:
                await asyncio.sleep(POLL_SECONDS)

    def _path(self) -> Path:
        return self._places.log(self._pod, self._container, self._attempt)

    def _is_next_begun(self) -> bool:
        return self._worker is not None and self._worker.shown.restarts > self._attempt

    def _is_over(self) -> bool:
        """Whether nothing follows this attempt."""
        if self._ends:
            return True
        present = self._places.worker(self._pod, self._container)
        self._worker = present or self._worker
        if self._worker is None or self._is_next_begun():
            return self._worker is None
        has_ended = isinstance(self._worker.shown.state, Terminated) and not self._worker.is_live
        return present is None or has_ended


async def _simulated(
    pod: Object, container: str, options: LogOptions, places: Places, *, follow: bool
) -> AsyncIterator[bytes]:
    """Simulated containers say what an annotation has them say, all at their start."""
    said = str((pod["metadata"].get("annotations") or {}).get(SIMULATED_LOG) or "")
    facts = places.facts(pod, container)
    state = facts.state if facts is not None else None
    started = getattr(state, "started_at", None) or places.clock.now()
    stamp = f"{times.format_micro_time(started)[:-1]}000Z stdout F ".encode()
    lines = [stamp + line.encode() + b"\n" for line in said.splitlines()]
    if options.tail_lines is not None:
        lines = lines[len(lines) - min(options.tail_lines, len(lines)) :]
    view = View(options)
    yield b"".join(map(view.text, lines))
    is_open = follow and not view.is_full
    while is_open:
        await asyncio.sleep(POLL_SECONDS)
        is_open = _is_running(places.latest(pod), pod, container)


def _is_running(now: Object | None, pod: Object, container: str) -> bool:
    if now is None or now["metadata"]["uid"] != pod["metadata"]["uid"] or is_terminal(now):
        return False
    facts = known_containers(now).get(container)
    return facts is not None and not isinstance(facts.state, Terminated)
