"""A server in one process, in memory and in virtual time, and a small client that speaks to it."""

import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
import pytest_asyncio

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance, Settings
from fleetqueue.apiserver.log import Log, MemoryLog
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base import codec
from fleetqueue.base.clock import LoopClock
from fleetqueue.base.virtual_time import VirtualTimeLoop

Object = dict[str, Any]
ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], VirtualTimeLoop]]:
    return {"virtual": VirtualTimeLoop}


class Api:
    """Requests in one line: `await api.post("/api/v1/namespaces", {...})` gives the answered
    object.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.status = 0
        self.warnings: list[str] = []

    async def send(
        self, method: str, path: str, body: Any = None, user: User = ADMIN, **headers: str
    ) -> Response:
        path, _, query = path.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.instance.handle(
            Request(
                method,
                path,
                parse_qs(query, keep_blank_values=True),
                {"user-agent": "test/1", "content-type": "application/json", **named},
                body if isinstance(body, bytes) else b"" if body is None else codec.encode(body),
                user=user,
            )
        )
        self.status, self.warnings = response.status, response.warnings
        return response

    async def get(self, path: str) -> Object:
        return codec.decode((await self.send("GET", path)).encoded())

    async def post(self, path: str, body: Object) -> Object:
        return codec.decode((await self.send("POST", path, body)).encoded())

    async def put(self, path: str, body: Object) -> Object:
        return codec.decode((await self.send("PUT", path, body)).encoded())

    async def patch(self, path: str, body: Any, kind: str = "merge-patch+json") -> Object:
        content_type = f"application/{kind}"
        response = await self.send("PATCH", path, body, content_type=content_type)
        return codec.decode(response.encoded())

    async def delete(self, path: str, body: Any = None) -> Object:
        return codec.decode((await self.send("DELETE", path, body)).encoded())

    async def settle(self) -> None:
        """Until the server's own keepers have nothing left to do."""
        import asyncio

        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        await loop.idle()
        while not self.instance.is_idle:
            await asyncio.sleep(0.01)
            await loop.idle()


async def started(log: Log, settings: Settings | None = None, *, is_settled: bool = True) -> Api:
    import asyncio

    clock = LoopClock(asyncio.get_running_loop(), EPOCH)
    instance = Instance(log, clock, random.Random(7), settings)
    await instance.start()
    api = Api(instance)
    if is_settled:
        await api.settle()
    return api


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest_asyncio.fixture
async def api(log: MemoryLog) -> AsyncIterator[Api]:
    running = await started(log)
    yield running
    await running.instance.stop()
