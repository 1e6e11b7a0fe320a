"""A small HTTPS server for pages that are only read: metrics, and API groups that are answered
beside the API server. Its certificate is the one of the webhooks.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fleetqueue.kube.bind_hosts import bind_host
from fleetqueue.kube.certificates import Bundle
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.tls import ORDINARY, ServerRules, load_pair, server_context
from fleetqueue.kube.webhook_certificates import Certificates

CHECK_SECONDS = 60.0
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
HEALTH = ("/healthz", "/livez", "/readyz")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """One request; names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    certificate: bytes | None = None
    """Of the client, DER encoded, if it showed one."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer."""

    body: bytes
    status: int = 200
    content_type: str = JSON


Answer = Callable[[Question], Awaitable[Page]]


class PageServer:
    """`answer` gets every request but those for our health."""

    def __init__(
        self,
        answer: Answer,
        certificates: Certificates,
        access: DelegatedAccess,
        *,
        host: str = "0.0.0.0",
        port: int = 0,
        tls: ServerRules = ORDINARY,
    ) -> None:
        self.port = port
        self._answer = answer
        self._certificates = certificates
        self._access = access
        self._host = bind_host(host)
        self._bundle: Bundle | None = None
        self._authorities = b""
        self._context = server_context(tls)
        self._listening = asyncio.Event()

    async def run(self) -> None:
        """Serves until it is cancelled; for `Manager.add_task`."""
        await self._certificates.prepare()
        await self._refresh()
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=5.0)
        await runner.setup()
        try:
            await self._open(runner)
            self.port = runner.addresses[0][1]
            self._listening.set()
            while True:
                await asyncio.sleep(CHECK_SECONDS)
                await self._refresh()
        finally:
            await runner.cleanup()

    async def _open(self, runner: web.AppRunner) -> None:
        """Tries until the port is free: what people look at must not stop what they look for."""
        while True:
            try:
                site = web.TCPSite(runner, self._host, self.port, ssl_context=self._context)
                await site.start()
                return
            except OSError as error:
                log.error("pages cannot be served: port=%s: %s", self.port, error)
                await site.stop()
                await asyncio.sleep(CHECK_SECONDS)

    async def wait_listening(self) -> None:
        await self._listening.wait()

    async def _refresh(self) -> None:
        """The certificate may have been renewed, and the cluster's authorities replaced."""
        bundle = self._certificates.bundle
        if bundle != self._bundle:
            load_pair(self._context, bundle.serving.certificate, bundle.serving.key)
            self._bundle = bundle
        try:
            trust = await self._access.refresh()
        except KubeError as error:
            log.warning("whom the cluster trusts could not be read: %s", error)
            return
        if trust.authorities.strip() and trust.authorities != self._authorities:
            self._context.load_verify_locations(cadata=trust.authorities.decode())
            self._context.verify_mode = ssl.CERT_OPTIONAL
            self._authorities = trust.authorities

    async def _handle(self, request: web.Request) -> web.Response:
        if request.path in HEALTH:
            return web.Response(text="ok")
        try:
            page = await self._answer(_question(request))
        except KubeError as error:
            log.warning("a request could not be answered: path=%s: %s", request.path, error)
            page = Page(b"the API server could not be asked\n", 500, TEXT)
        headers = {"Content-Type": page.content_type}
        return web.Response(status=page.status, body=page.body, headers=headers)


def _question(request: web.Request) -> Question:
    secured: Any = request.transport and request.transport.get_extra_info("ssl_object")
    query = {name: request.query.getall(name) for name in request.query}
    headers = tuple((name.lower(), value) for name, value in request.headers.items())
    certificate = secured.getpeercert(binary_form=True) if secured else None
    return Question(request.method, request.path, query, headers, certificate)
