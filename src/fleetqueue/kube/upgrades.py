"""Requests that turn a connection into something else than HTTP (exec, attach, port-forward): asked
of another server, then left to whoever speaks what follows.
"""

import asyncio
import base64
import ssl
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from urllib.parse import unquote

from fleetqueue.kube import proxy_address
from fleetqueue.kube.client import Client
from fleetqueue.kube.connections import Broken, CannotConnect, Headers, why
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.transport import Call

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 1024 * 1024
SWITCHING = 101


@dataclass(slots=True)
class Upgraded:
    """The answer. Where its status is not 101, `body` is all of it, and there is no connection."""

    status: int
    headers: Headers
    head: bytes = b""
    """As it came."""
    body: bytes = b""
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    def header(self, name: str) -> str:
        return next((text for known, text in self.headers if known == name), "")

    def close(self) -> None:
        if self.writer is not None:
            self.writer.transport.abort()


@runtime_checkable
class Upgrading(Protocol):
    """A transport that can do this; one to a server in the same process cannot."""

    async def upgrade(self, call: Call) -> Upgraded: ...


async def upgrade(client: Client, call: Call) -> Upgraded:
    """`call` names the protocol in its headers. Close what comes back when done."""
    transport = client.transport.transport
    if not isinstance(transport, Upgrading):
        raise Unreachable(
            f"{call.method} {call.path}: this server cannot be reached so", sent=False
        )
    return await transport.upgrade(call)


# Connections of its own: such a one is never used again


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is, and how one gets there."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    server_name: str = ""
    proxy: str = ""


async def ask(place: Place, head: bytes) -> Upgraded:
    """Sends a request without a body and reads the head of its answer."""
    reader, writer = await _open(place)
    try:
        writer.write(head)
        answer = await _answer(reader)
    except BaseException:
        writer.transport.abort()
        raise
    if answer.status == SWITCHING:
        answer.reader, answer.writer = reader, writer
        return answer
    try:
        answer.body = await _body(reader, answer)
    finally:
        writer.transport.abort()
    return answer


async def _answer(reader: asyncio.StreamReader) -> Upgraded:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Broken("the server closed the connection") from error
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[1].isdecimal():
        raise Broken(f"the answer is no HTTP: {first[:80]}")
    pairs = (line.partition(":") for line in lines)
    return Upgraded(int(parts[1]), [(name.lower(), text.strip()) for name, _, text in pairs], head)


async def _body(reader: asyncio.StreamReader, answer: Upgraded) -> bytes:
    try:
        if "chunked" in answer.header("transfer-encoding").lower():
            return await _chunked(reader)
        length = answer.header("content-length")
        if length.isdecimal():
            return await reader.readexactly(min(int(length), BODY_BYTES_MAX))
        return await reader.read(BODY_BYTES_MAX)
    except (asyncio.IncompleteReadError, ValueError) as error:
        raise Broken("the server closed the connection") from error


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if len(body) > BODY_BYTES_MAX:
            break
    return body


# Ways there


async def _open(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    name = (place.server_name or place.host) if place.tls is not None else None
    try:
        if place.proxy:
            return await _through_proxy(place, name)
        return await asyncio.open_connection(
            place.host, place.port, ssl=place.tls, server_hostname=name, limit=HEAD_BYTES_MAX
        )
    except (OSError, UnicodeError) as error:
        raise CannotConnect(f"{why(error)} ({place.host}:{place.port})") from error


async def _through_proxy(
    place: Place, name: str | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if place.proxy.startswith("socks5://"):
        # Few need it, and its library takes long to load.
        from fleetqueue.kube.socks import tunnel

        made = await tunnel(place.proxy, place.host, place.port)
        return await asyncio.open_connection(
            sock=made, ssl=place.tls, server_hostname=name, limit=HEAD_BYTES_MAX
        )
    proxy = proxy_address.parts_of(place.proxy)
    port = proxy.port or (443 if proxy.scheme == "https" else 80)
    context = ssl.create_default_context() if proxy.scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        proxy.hostname, port, ssl=context, limit=HEAD_BYTES_MAX
    )
    try:
        writer.write(_connect(place, proxy.username, proxy.password))
        answer = await _answer(reader)
        if answer.status != 200:
            raise OSError(f"the proxy answered with {answer.status}")
        if place.tls is not None:
            await writer.start_tls(place.tls, server_hostname=name)
    except Broken as error:
        writer.transport.abort()
        raise OSError(str(error)) from error
    except BaseException:
        writer.transport.abort()
        raise
    return reader, writer


def _connect(place: Place, user: str | None, password: str | None) -> bytes:
    where = f"[{place.host}]" if ":" in place.host else place.host
    lines = [f"CONNECT {where}:{place.port} HTTP/1.1", f"host: {where}:{place.port}"]
    if user:
        pair = f"{unquote(user)}:{unquote(password or '')}".encode()
        lines.append(f"proxy-authorization: Basic {base64.b64encode(pair).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()
