"""Simulations live on virtual time, and what would never end fails."""

from typing import Any

from fleetqueue.base.virtual_time import VirtualTimeLoop

# A story takes about 20,000.
ROUNDS_MAX = 200_000


def pytest_asyncio_loop_factories(config: Any, item: Any) -> dict[str, Any]:
    return {"virtual": lambda: VirtualTimeLoop(ROUNDS_MAX)}
