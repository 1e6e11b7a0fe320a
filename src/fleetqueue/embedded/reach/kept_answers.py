"""Answers `kubectl logs` for pods of which nothing but their logs is left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.request import Response
from fleetqueue.base.clock import Clock
from fleetqueue.embedded import log_answers
from fleetqueue.embedded.places import container_of
from fleetqueue.embedded.reach.kept import Kept
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.log_cursor import Cursor
from fleetqueue.runtime.logs import LogOptions, View, files


class KeptPod:
    """A pod elsewhere that is nowhere any more."""

    def __init__(self, pod: Object, kept: Kept, clock: Clock) -> None:
        self._pod = pod
        self._kept = kept
        self._clock = clock

    @property
    def pod(self) -> Object:
        return self._pod

    async def connect(self, call: Call) -> Response:
        name = call.route.name
        if call.route.subresource != "log":
            raise problems.bad_request(f"pod {name} has ended and is gone: only its logs are left")
        container, previous = container_of(call, self._pod)["name"], call.request.flag("previous")
        path = self._kept.log(self._pod, container, previous=previous)
        if not files(path):
            which = "previous terminated " if previous else ""
            raise problems.bad_request(f'{which}container "{container}" in pod "{name}" not found')
        options = log_answers.options_of(call.request, self._clock)
        return Response(chunks=_chunks(path, options), content_type="text/plain")


async def _chunks(path: Path, options: LogOptions) -> AsyncIterator[bytes]:
    view, cursor = View(options), Cursor(path, options.tail_lines)
    try:
        while not view.is_full and (lines := cursor.read(log_answers.BATCH_LINES)):
            yield b"".join(map(view.text, lines))
            await asyncio.sleep(0)
    finally:
        cursor.close()
