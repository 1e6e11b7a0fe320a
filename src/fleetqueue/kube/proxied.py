"""Exchanges with a server behind an HTTP or SOCKS5 proxy, by a library that knows those."""

import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from fleetqueue.kube import proxy_address
from fleetqueue.kube.connections import (
    CONNECT_SECONDS_MAX,
    KEEP_ALIVE_SECONDS,
    Broken,
    CannotConnect,
    Headers,
)
from fleetqueue.kube.socks import SocksConnector


class ProxiedSession:
    """To one server; close it when done."""

    def __init__(self, proxy: str, server_name: str) -> None:
        self._proxy = proxy
        self._server_name = server_name
        options: dict[str, Any] = {"limit": 0, "keepalive_timeout": KEEP_ALIVE_SECONDS}
        self._is_socks = proxy.startswith("socks5://")
        if self._is_socks:
            connector: aiohttp.TCPConnector = SocksConnector(proxy, **options)
        else:
            connector = aiohttp.TCPConnector(**options)
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar()
        )

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes,
        context: ssl.SSLContext | None,
    ) -> "ProxiedResponse":
        try:
            response = await self._session.request(
                method,
                URL(url, encoded=True),
                data=body or None,
                headers=CIMultiDict(headers),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS_MAX),
                ssl=context if context is not None else True,
                server_hostname=self._server_name or None,
                proxy=None if self._is_socks else self._proxy,
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorError as error:
            raise CannotConnect(f"{told(error)} ({error.host}:{error.port})") from error
        except ValueError:
            raise CannotConnect(proxy_address.NO_URL) from None
        except aiohttp.ClientError as error:
            raise Broken(told(error)) from _system_error(error)
        return ProxiedResponse(response)

    async def close(self) -> None:
        await self._session.close()


class ProxiedResponse:
    """As `connections.Response`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Headers = [(name.lower(), text) for name, text in response.headers.items()]
        self._response = response

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            while piece := await self._response.content.readany():
                yield piece
        except aiohttp.ClientError as error:
            raise Broken(told(error)) from _system_error(error)

    def close(self) -> None:
        self._response.close()


def told(error: aiohttp.ClientError) -> str:
    """The library's own text has the proxy's address, and with it the password."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered with {error.status}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection"
    cause = _system_error(error)
    if cause is None:
        return type(error).__name__
    return cause.strerror or str(cause) or type(cause).__name__


def _system_error(error: aiohttp.ClientError) -> OSError | None:
    """What may come along into logs."""
    for name in ("os_error", "certificate_error"):
        found = getattr(error, name, None)
        if isinstance(found, OSError):
            return found
    if isinstance(error, OSError) and error.errno:
        return OSError(error.errno, error.strerror)
    return None
