"""A fleet for every scenario of provisioning."""

from collections.abc import AsyncIterator

import pytest

from fleetqueue.testing import Fleet


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet() as made:
        yield made
