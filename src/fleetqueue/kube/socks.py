"""Reaches an API server through a SOCKS5 proxy, which also resolves the server's name."""

import asyncio
import errno
import socket
from typing import Any
from urllib.parse import SplitResult, unquote

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from fleetqueue.kube import proxy_address

VERSION = 5
NO_AUTHENTICATION, PASSWORD = 0, 2
CONNECT, DOMAIN_NAME = 1, 3
REFUSALS = {
    1: "it failed",
    2: "its rules do not allow it",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "the time to live expired",
}


class SocksConnector(aiohttp.TCPConnector):
    """A connector whose every connection is a tunnel through the proxy."""

    def __init__(self, proxy_url: str, **options: Any) -> None:
        super().__init__(resolver=_Unresolved(), **options)
        self._proxy_url = proxy_url

    async def _wrap_create_connection(self, *args: Any, req: Any, **kwargs: Any) -> Any:
        kwargs.pop("addr_infos", None)
        timeout: aiohttp.ClientTimeout = kwargs.pop("timeout")
        client_error = kwargs.pop("client_error", aiohttp.ClientConnectorError)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout.sock_connect):
                made = await tunnel(self._proxy_url, req.url.host or "", req.url.port or 443)
                return await loop.create_connection(*args, **kwargs, sock=made)
        except OSError as error:
            raise client_error(req.connection_key, error) from error


class _Unresolved(AbstractResolver):
    """Leaves names to the proxy."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host="0.0.0.0", port=port, family=family, proto=0, flags=0)
        ]

    async def close(self) -> None:
        """Nothing is held."""


async def tunnel(proxy_url: str, host: str, port: int) -> socket.socket:
    """A connection to a host through the proxy."""
    loop, proxy = asyncio.get_running_loop(), proxy_address.parts_of(proxy_url)
    address = (proxy.hostname or "localhost", proxy.port or 1080)
    found = await loop.getaddrinfo(*address, type=socket.SOCK_STREAM)
    family, kind, protocol, _, target = found[0]
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    try:
        await loop.sock_connect(made, target)
        await _greet(loop, made, proxy)
        await _ask(loop, made, host, port)
    except BaseException:
        made.close()
        raise
    return made


async def _greet(
    loop: asyncio.AbstractEventLoop, tunnel: socket.socket, proxy: SplitResult
) -> None:
    offered = [NO_AUTHENTICATION, PASSWORD] if proxy.username else [NO_AUTHENTICATION]
    await loop.sock_sendall(tunnel, bytes([VERSION, len(offered), *offered]))
    version, method = await _read(loop, tunnel, 2)
    if version != VERSION or method not in offered:
        raise OSError(
            errno.ECONNREFUSED, "the SOCKS proxy accepts none of our ways to authenticate"
        )
    if method == PASSWORD:
        user = unquote(proxy.username or "").encode()
        password = unquote(proxy.password or "").encode()
        message = bytes([1, len(user)]) + user + bytes([len(password)]) + password
        await loop.sock_sendall(tunnel, message)
        if (await _read(loop, tunnel, 2))[1] != 0:
            raise OSError(errno.ECONNREFUSED, "the SOCKS proxy refused the user name or password")


async def _ask(
    loop: asyncio.AbstractEventLoop, tunnel: socket.socket, host: str, port: int
) -> None:
    name = host.encode("idna")
    request = bytes([VERSION, CONNECT, 0, DOMAIN_NAME, len(name)]) + name + port.to_bytes(2, "big")
    await loop.sock_sendall(tunnel, request)
    _, code, _, address_type = await _read(loop, tunnel, 4)
    if code:
        raise OSError(
            errno.ECONNREFUSED,
            f"the SOCKS proxy did not connect: {REFUSALS.get(code, f'code {code}')}",
        )
    lengths = {1: 4, 4: 16}
    length = lengths.get(address_type) or (await _read(loop, tunnel, 1))[0]
    await _read(loop, tunnel, length + 2)


async def _read(loop: asyncio.AbstractEventLoop, tunnel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await loop.sock_recv(tunnel, size - len(data))
        if not more:
            raise OSError(errno.ECONNREFUSED, "the SOCKS proxy closed the connection")
        data += more
    return data
