"""What waits here waits on virtual time."""

from typing import Any

from fleetqueue.base.virtual_time import VirtualTimeLoop


def pytest_asyncio_loop_factories(config: Any, item: Any) -> dict[str, Any]:
    return {"virtual": VirtualTimeLoop}
