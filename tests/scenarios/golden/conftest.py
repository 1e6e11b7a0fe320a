"""A fleet for every replay."""

from collections.abc import AsyncIterator

import pytest

pytest.register_assert_rewrite("tests.support.golden")

from fleetqueue.testing import Fleet  # noqa: E402


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet() as made:
        yield made
