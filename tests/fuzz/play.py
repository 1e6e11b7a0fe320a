"""Plays drawn requests on a server in this process; checks each answer and what is left behind."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from random import Random
from types import FrameType
from typing import Any

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.storage import Store
from fleetqueue.base import documents, virtual_time
from fleetqueue.base.clock import LoopClock
from fuzz import known_failures
from fuzz.requests import Maker

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST_SECONDS_MAX = 20
REQUESTS = int(os.environ.get("FLEETQUEUE_REQUESTS", "20000"))
BATCH = 250
LOOKS = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)


def play(seed: int, count: int) -> None:
    virtual_time.run(_play(seed, count))


def play_all(requests: Sequence[Request]) -> None:
    virtual_time.run(_play_all(requests))


async def _play_all(requests: Sequence[Request]) -> None:
    instance = await _server(MemoryLog(), Random(1))
    for request in requests:
        await _send(instance, request)
    await _check_objects(instance)
    await instance.stop()


async def _play(seed: int, count: int) -> None:
    random, log = Random(seed), MemoryLog()
    instance = await _server(log, random)
    maker = Maker(random, instance.core.registry)
    for request in maker.first():
        assert (await _send(instance, request)).status == 201
    for _ in range(count):
        await _send(instance, maker.draw())
    await _check_objects(instance)
    assert instance.core.feed.count == 0, "a watch was left open"
    await instance.stop()
    _check_log(log, instance.core.store)


async def _server(log: MemoryLog, random: Random) -> Instance:
    clock = LoopClock(asyncio.get_running_loop(), EPOCH)
    instance = Instance(log, clock, random)
    await instance.start()
    return instance


async def _send(instance: Instance, request: Request) -> Response:
    request.user = ADMIN
    with told(request), _deadline():
        async with asyncio.timeout(REQUEST_SECONDS_MAX):
            response = await instance.handle(request)
            body = await _finished(response)
        check_answer(response.status, response.content_type, body)
    return response


async def _finished(response: Response) -> bytes:
    if response.frames is not None:
        with suppress(TimeoutError, StopAsyncIteration):
            for frame in await asyncio.wait_for(anext(response.frames), 1):
                assert json.loads(frame.line)["type"] == frame.type
                frame.decode()
        await response.frames.aclose()
        return b""
    return b"" if response.chunks is not None else response.encoded()


def check_answer(status: int, content_type: str, body: bytes) -> None:
    """Never a failure of the server, and always something that a client can read."""
    if content_type.startswith(("application/json", "application/yaml")) and body:
        obj = json.loads(body) if "json" in content_type else documents.load(body)
        if isinstance(obj, dict) and obj.get("kind") == "Status" and obj["status"] == "Failure":
            assert obj["code"] == status
            assert isinstance(obj["message"], str)
            assert status < 500 or known_failures.is_known(obj), body[:2000]
            return
    assert status < 500, body[:2000]


@contextmanager
def told(request: Request) -> Iterator[None]:
    """Failures show the request that led to them."""
    try:
        yield
    except (AssertionError, TimeoutError) as error:
        shown = f"{request.method} {request.path!r} {dict(request.query)} {dict(request.headers)}"
        raise AssertionError(f"{error}\nafter {shown}\n{request.body[:3000]!r}") from error


@contextmanager
def _deadline() -> Iterator[None]:
    """Real seconds: a request that computes for ever is a hang too."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"the request took more than {REQUEST_SECONDS_MAX} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(REQUEST_SECONDS_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


async def _check_objects(instance: Instance) -> None:
    """Everything that was let in can be listed, shown as a table, and read one by one."""
    for resource in list(instance.core.registry):
        for version in resource.versions:
            if "list" not in resource.versions[version].verbs:
                continue
            root = f"apis/{resource.group}" if resource.group else "api"
            path = f"/{root}/{version}/{resource.plural}"
            for look in LOOKS:
                answer = await _send(instance, Request("GET", path, headers={"accept": look}))
                assert answer.status == 200, f"{path} as {look}: {answer.encoded()[:500]!r}"
    for resource in list(instance.core.registry):
        for stored in instance.core.store.table(resource.table).live.values():
            obj: Any = json.loads(stored.data)
            assert obj["metadata"]["resourceVersion"] == str(stored.revision)


def _check_log(log: MemoryLog, store: Store) -> None:
    """A restart would find the same objects."""
    again = Store(log)
    assert again.revision == store.revision
    for name, _ in store.counts():
        live = {key: stored.data for key, stored in store.table(name).live.items()}
        assert {k: stored.data for k, stored in again.table(name).live.items()} == live
