"""Scenarios live on virtual time, each with a fleet of its own."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fleetqueue.base.virtual_time import VirtualTimeLoop
from fleetqueue.testing import Fleet


def pytest_asyncio_loop_factories(config: Any, item: Any) -> dict[str, Any]:
    return {"virtual": VirtualTimeLoop}


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet() as made:
        yield made
