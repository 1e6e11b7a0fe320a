"""A dashboard beside a cluster that runs in the same process, for those who ask for one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def shown_beside(kubeconfig: Path, port: int) -> AsyncIterator[str]:
    """Yields its URL; "" where the port is 0, and nothing is loaded then."""
    if not port:
        yield ""
        return
    from fleetqueue.dashboard.running import DashboardOptions, showing

    async with showing(DashboardOptions(kubeconfig, port=port)) as url:
        yield url
