"""Servers of ours in a fleet, with all that `fleetqueue serve` adds but processes."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue import kueue
from fleetqueue.embedded.live import Live
from fleetqueue.embedded.options import LiveOptions
from fleetqueue.testing import Fleet


@asynccontextmanager
async def prepared(
    fleet: Fleet,
    directory: Path,
    config: str | None = None,
    gates: Mapping[str, bool] | None = None,
) -> AsyncIterator[Live]:
    """All of a cluster that needs neither pods nor this machine."""
    server = await fleet.add_cluster("one")
    options = LiveOptions(directory, simulates=True, kueue=kueue.read_options(config, gates))
    live = Live(server.instance, fleet.clock, random.Random(1), options)
    await live.prepare()
    try:
        yield live
    finally:
        await live.stop()
