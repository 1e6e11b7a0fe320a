"""The server's own keepers after a storage failure: what they could not write, they write later."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import MemoryLog, Row, StorageError
from fleetqueue.apiserver.request import Request
from fleetqueue.base import codec, virtual_time
from fleetqueue.base.clock import LoopClock

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))


class FullLog(MemoryLog):
    """Refuses rows of some resources while the disk is full."""

    refused: tuple[str, ...] = ()

    def append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None:
        if any(row.resource in self.refused for row in rows):
            raise StorageError("the disk is full")
        super().append(rows, superseded, compacted)


async def send(instance: Instance, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else codec.encode(body)
    headers = {"content-type": "application/json"}
    response = await instance.handle(Request(method, path, {}, headers, data, user=ADMIN))
    return response.status, response.decoded()


def test_a_namespace_gets_its_service_account_when_there_is_space_again() -> None:
    virtual_time.run(_gets_account())


async def _gets_account() -> None:
    log = FullLog()
    clock = LoopClock(asyncio.get_running_loop(), datetime(2026, 1, 1, tzinfo=UTC))
    instance = Instance(log, clock, Random(1))
    await instance.start()
    log.refused = ("serviceaccounts", "configmaps")
    assert (await send(instance, "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}))[
        0
    ] == 201
    await asyncio.sleep(60)
    path = "/api/v1/namespaces/n/serviceaccounts/default"
    assert (await send(instance, "GET", path))[0] == 404
    log.refused = ()
    await asyncio.sleep(600)
    assert (await send(instance, "GET", path))[0] == 200
    await instance.stop()


def test_a_namespace_that_is_deleted_goes_when_there_is_space_again() -> None:
    virtual_time.run(_goes())


async def _goes() -> None:
    log = FullLog()
    clock = LoopClock(asyncio.get_running_loop(), datetime(2026, 1, 1, tzinfo=UTC))
    instance = Instance(log, clock, Random(1))
    await instance.start()
    await send(instance, "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    secret = {"metadata": {"name": "s"}}
    assert (await send(instance, "POST", "/api/v1/namespaces/n/secrets", secret))[0] == 201
    log.refused = ("secrets",)
    assert (await send(instance, "DELETE", "/api/v1/namespaces/n"))[0] == 200
    await asyncio.sleep(60)
    assert (await send(instance, "GET", "/api/v1/namespaces/n"))[0] == 200
    log.refused = ()
    await asyncio.sleep(600)
    assert (await send(instance, "GET", "/api/v1/namespaces/n"))[0] == 404
    await instance.stop()
