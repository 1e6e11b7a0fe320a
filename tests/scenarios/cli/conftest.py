"""kueuectl on a cluster with Kueue, on virtual time."""

from collections.abc import AsyncIterator

import pytest

from fleetqueue.testing import Fleet
from support.ctl import Ctl
from support.kueue import Kueue
from support.looking import Looking


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with Fleet() as made:
        yield made


@pytest.fixture
async def cluster(fleet: Fleet) -> Kueue:
    """With what people see of its queues."""
    return Looking(await Kueue.start(fleet)).kueue


@pytest.fixture
def ctl(cluster: Kueue, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> Ctl:
    return Ctl(cluster.client, fleet.clock, capsys)
