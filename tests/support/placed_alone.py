"""A hub on which only placements are looked at: the scheduler, the roll-out and the members are
played by the test.
"""

import pytest
from tests.support import placing

from fleetqueue.fleet.hub import parts
from fleetqueue.fleet.hub import placement as placements
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.testing import Fleet


async def start(
    fleet: Fleet, patch: pytest.MonkeyPatch, settings: HubSettings = placing.IMMEDIATE
) -> placing.World:
    patch.setattr(parts, "PARTS", (placements.install,))
    return await placing.start(fleet, members=(), settings=settings)
