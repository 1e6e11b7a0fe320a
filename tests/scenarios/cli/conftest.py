"""The command line on clusters with Kueue, on virtual time."""

import zlib
from collections.abc import AsyncIterator

import pytest

from fleetqueue.testing import Fleet
from support.ctl import Ctl
from support.kueue import Kueue
from support.looking import Looking


@pytest.fixture
async def fleet(request: pytest.FixtureRequest) -> AsyncIterator[Fleet]:
    """With a seed of its own: what workloads ask for is remembered by their uids."""
    async with Fleet(zlib.crc32(request.node.name.encode())) as made:
        yield made


@pytest.fixture
async def cluster(fleet: Fleet) -> Kueue:
    """With what people see of its queues."""
    return Looking(await Kueue.start(fleet)).kueue


@pytest.fixture
def ctl(cluster: Kueue, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> Ctl:
    return Ctl(cluster.client, fleet.clock, capsys)
