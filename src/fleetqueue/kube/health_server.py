"""Answers probes in plain HTTP: alive, and ready once the caches are full."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from aiohttp import web

from fleetqueue.kube.bind_hosts import bind_host

AGAIN_SECONDS = 60.0
ALIVE = ("/healthz", "/livez")
READY = "/readyz"
log = logging.getLogger(__name__)


class HealthServer:
    """For `Manager.add_task`."""

    def __init__(
        self,
        is_ready: Callable[[], bool],
        host: str,
        port: int,
        *,
        alive: Sequence[str] = ALIVE,
        ready: str = READY,
    ) -> None:
        """`alive`, `ready`: the paths at which it is asked."""
        self.port = port
        self._is_ready = is_ready
        self._host = bind_host(host)
        self._alive_paths = alive
        self._ready_path = ready

    def application(self) -> web.Application:
        made = web.Application()
        for path in self._alive_paths:
            made.router.add_get(path, self._alive)
        made.router.add_get(self._ready_path, self._ready)
        return made

    async def run(self) -> None:
        runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await self._open(runner)
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _open(self, runner: web.AppRunner) -> None:
        """Tries until the port is free: what is probed must not stop for want of a probe."""
        while True:
            site = web.TCPSite(runner, self._host, self.port)
            try:
                await site.start()
            except OSError as error:
                log.warning("probes cannot be answered: port=%s: %s", self.port, error)
                await site.stop()
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self.port = runner.addresses[0][1]
                return

    async def _alive(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.Response:
        if self._is_ready():
            return web.Response(text="ok")
        return web.Response(status=500, text="caches are not full yet\n")
