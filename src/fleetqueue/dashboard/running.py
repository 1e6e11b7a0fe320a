"""Runs a dashboard against a cluster, until it is told to stop."""

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

from aiohttp import web

from fleetqueue.base.clock import Clock, SystemClock
from fleetqueue.dashboard.access import Doorkeeper, check_exposure
from fleetqueue.dashboard.server import Dashboard
from fleetqueue.dashboard.sight import Sight
from fleetqueue.dashboard.streams import Streams
from fleetqueue.errors import UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect
from fleetqueue.kube.delegated_access import DelegatedAccess

MANAGER = "fleetqueue-dashboard"
CLOSING_SECONDS = 2.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """Which cluster, where, and for whom."""

    kubeconfig: Path | None = None
    context: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    has_login: bool = False


@contextlib.asynccontextmanager
async def showing(options: DashboardOptions) -> AsyncIterator[str]:
    """A dashboard that answers, until the block ends; yields its URL."""
    clock, random = SystemClock(), SystemRandom()
    check_exposure(options.host, has_login=options.has_login)
    client = connect(
        options.kubeconfig, options.context, clock=clock, random=random, field_manager=MANAGER
    )
    try:
        async with showing_with(client, clock, random, options) as url:
            yield url
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def showing_with(
    client: Client, clock: Clock, random: Random, options: DashboardOptions
) -> AsyncIterator[str]:
    """The same with a client of the caller's."""
    sight = Sight(client, random)
    reviews = DelegatedAccess(client, clock) if options.has_login else None
    dashboard = Dashboard(client, Streams(sight), Doorkeeper(reviews, options.host))
    runner = web.AppRunner(
        dashboard.application(), access_log=None, shutdown_timeout=CLOSING_SECONDS
    )
    await runner.setup()
    following = asyncio.create_task(_follow(sight), name="dashboard")
    try:
        await _open(runner, options)
        port = runner.addresses[0][1]
        yield f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{port}/"
    finally:
        await runner.cleanup()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _follow(sight: Sight) -> None:
    try:
        await sight.run()
    except Exception:
        # Whoever runs beside goes on; the page says what it knew last.
        log.exception("the dashboard no longer follows the cluster")


async def _open(runner: web.AppRunner, options: DashboardOptions) -> None:
    try:
        await web.TCPSite(runner, options.host, options.port).start()
    except OSError as error:
        why = "the port is taken" if error.errno == errno.EADDRINUSE else str(error)
        raise UserError(
            f"the dashboard cannot listen on {options.host} port {options.port} ({why}): choose"
            " another port"
        ) from error
