"""One server for all tests of a module, each of which works in a namespace of its own."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from fleetqueue.apiserver.log import MemoryLog

from .conftest import Api, started

on_one_loop = pytest.mark.asyncio(loop_scope="module")
_counter = iter(range(1_000_000))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Api]:
    running = await started(MemoryLog())
    yield running
    await running.instance.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def home(shared: Api) -> str:
    """The path of a namespace that nobody else uses."""
    name = f"home-{next(_counter)}"
    await shared.post("/api/v1/namespaces", {"metadata": {"name": name}})
    await shared.settle()
    return f"/api/v1/namespaces/{name}"
