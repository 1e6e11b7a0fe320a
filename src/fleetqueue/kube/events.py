"""Records Events about objects: never blocks, aggregates, and drops what would flood the server."""

import asyncio
import logging
import socket
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from fleetqueue.api import kinds
from fleetqueue.api.times import format_micro_time, format_time
from fleetqueue.base.backoff import Backoff
from fleetqueue.base.clock import Clock
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import AlreadyExists, KubeError, NotFound, Refused, ServerError
from fleetqueue.kube.event_correlation import COMBINED_PREFIX, Correlator, Occurrence, Write
from fleetqueue.kube.resources import EVENTS, Object

NORMAL, WARNING = "Normal", "Warning"
MESSAGE_LENGTH_MAX = 1024
WAITING_MAX = 1000
ATTEMPTS_MAX = 4
NAMES_MAX = 10
"""Names that are tried for an event, one nanosecond after the other."""
COUNTED = ("count", "lastTimestamp", "message")
BACKOFF = Backoff(1.0, 10.0, jitter=0.5)
FLUSH_SECONDS_MAX = 5.0
log = logging.getLogger(__name__)


class EventRecorder:
    """`record` only puts an event in line; a task of its own sends it."""

    def __init__(self, client: Client, component: str, *, clock: Clock, random: Random) -> None:
        self.component = component
        self.dropped = 0
        """Events that never reached the server: a full line, a flood, or refusals."""
        self._client = client
        self._clock = clock
        self._random = random
        self._correlator = Correlator()
        self._waiting: deque[Occurrence] = deque()
        self._last = datetime.min.replace(tzinfo=UTC)
        self._arrived = asyncio.Event()
        self._is_stopping = False
        self._task: asyncio.Task[None] | None = None

    def normal(self, obj: kinds.Resource | Object, reason: str, message: str) -> None:
        self.record(obj, NORMAL, reason, message)

    def warning(self, obj: kinds.Resource | Object, reason: str, message: str) -> None:
        self.record(obj, WARNING, reason, message)

    def record(
        self,
        obj: kinds.Resource | Object,
        type: str,
        reason: str,
        message: str,
        component: str = "",
        action: str = "",
    ) -> None:
        """`component`: who says so, where several speak through one recorder. `action`: what was
        done; with one the event has the form of events.k8s.io.
        """
        if len(self._waiting) >= WAITING_MAX:
            self.dropped += 1
            return
        about = tuple(sorted(reference(obj).items()))
        text = message[:MESSAGE_LENGTH_MAX]
        # Events are named by their moment, so no two may have the same.
        self._last = now = max(self._clock.now(), self._last + timedelta(microseconds=1))
        speaker = component or self.component
        self._waiting.append(Occurrence(about, type, reason, text, speaker, now, action))
        self._arrived.set()

    def start(self) -> None:
        if self._task is None:
            self._is_stopping = False
            self._task = asyncio.create_task(self._send_all(), name="event recorder")

    async def stop(self) -> None:
        """Sends what waits, for a few seconds at most."""
        if self._task is None:
            return
        self._is_stopping = True
        self._arrived.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS_MAX):
                await self._task
        self._task = None

    async def _send_all(self) -> None:
        while True:
            while self._waiting:
                await self._send(self._waiting.popleft())
            if self._is_stopping:
                return
            self._arrived.clear()
            await self._arrived.wait()

    async def _send(self, occurrence: Occurrence) -> None:
        write = self._correlator.correlate(occurrence)
        if write is None:
            self.dropped += not occurrence.action
            return
        for attempt in range(ATTEMPTS_MAX):
            try:
                self._correlator.written(write, await self._write(write))
                return
            except KubeError as error:
                if isinstance(error, Refused) and not isinstance(error, ServerError):
                    log.debug("an event was refused: reason=%s: %s", occurrence.reason, error)
                    break
                await asyncio.sleep(BACKOFF.delay(attempt, self._random))
        self.dropped += 1

    async def _write(self, write: Write) -> Object:
        event, at = event_of(write), write.occurrence.at
        namespace = event["metadata"]["namespace"]
        if write.name:
            fields = ("series", "lastTimestamp") if write.occurrence.action else COUNTED
            patch = {field: event[field] for field in fields}
            with suppress(NotFound):
                return await self._client.patch(
                    EVENTS, write.name, patch, namespace, type=PatchType.MERGE
                )
        for attempt in range(NAMES_MAX):
            with suppress(AlreadyExists):
                return await self._client.create(event, resource=EVENTS)
            # Somebody else spoke of that object at the same moment.
            name = event_name(event["involvedObject"].get("name", ""), at, attempt + 1)
            event["metadata"]["name"] = name
        return await self._client.create(event, resource=EVENTS)


def reference(obj: kinds.Resource | Object) -> dict[str, str]:
    """Which object is meant, as `involvedObject` says it."""
    if isinstance(obj, dict):
        metadata: Any = obj.get("metadata") or {}
        found = {
            "apiVersion": obj.get("apiVersion", ""),
            "kind": obj.get("kind", ""),
            "namespace": metadata.get("namespace", ""),
            "name": metadata.get("name", ""),
            "uid": metadata.get("uid", ""),
        }
    else:
        found = {
            "apiVersion": obj.api_version,
            "kind": obj.kind,
            "namespace": obj.metadata.namespace,
            "name": obj.metadata.name,
            "uid": obj.metadata.uid,
        }
    return {name: value for name, value in found.items() if value}


def event_of(write: Write) -> Object:
    occurrence = write.occurrence
    about = dict(occurrence.about)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(about.get("name", ""), occurrence.at),
            # Events about objects without a namespace live in the default one.
            "namespace": about.get("namespace") or "default",
        },
        "involvedObject": about,
        "reason": occurrence.reason,
        "message": occurrence.message,
        "type": occurrence.type,
        "reportingComponent": "" if _is_combined(write) else occurrence.component,
        **(_in_series(write) if occurrence.action else _counted(write)),
    }


def _is_combined(write: Write) -> bool:
    """Of such an event only the source says who reported it, as with client-go."""
    return write.occurrence.message.startswith(COMBINED_PREFIX)


def _counted(write: Write) -> Object:
    return {
        "source": {"component": write.occurrence.component},
        "reportingInstance": "",
        "firstTimestamp": format_time(write.first_at),
        "lastTimestamp": format_time(write.occurrence.at),
        "count": write.count,
    }


def _in_series(write: Write) -> Object:
    """As events.k8s.io has it: the moment it began, and how often it came since."""
    at = format_micro_time(write.occurrence.at)
    made: Object = {
        "source": {},
        "action": write.occurrence.action,
        "eventTime": format_micro_time(write.first_at),
        # Clients of the older form look at these alone.
        "firstTimestamp": format_time(write.first_at),
        "lastTimestamp": format_time(write.occurrence.at),
        "reportingInstance": f"{write.occurrence.component}-{socket.gethostname()}"[:128],
    }
    if write.count > 1:
        made["series"] = {"count": write.count, "lastObservedTime": at}
    return made


def event_name(name: str, at: datetime, later: int = 0) -> str:
    """The object's name and the time in hexadecimal, as client-go names events."""
    nanoseconds = int(at.timestamp()) * 1_000_000_000 + at.microsecond * 1000 + later
    return f"{name[:230]}.{nanoseconds:x}"
