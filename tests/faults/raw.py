"""Clients that do not behave: bytes on a TLS connection, sent and read as a test likes."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fleetqueue.app import Running, ServeOptions, serving
from fleetqueue.base import codec

DEADLINE_SECONDS = 60


@dataclass
class Target:
    """A server in this process with a real door."""

    running: Running
    token: str
    authority: Path

    @property
    def port(self) -> int:
        return urlsplit(self.running.url).port or 0

    @property
    def watches(self) -> int:
        return self.running.instance.core.feed.count

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    async def connect(
        self, context: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context or self.context(), limit=2**26
        )

    def head(self, method: str, path: str, *headers: str, token: str | None = None) -> bytes:
        token = self.token if token is None else token
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        return "\r\n".join([*lines, "", ""]).encode()

    async def send(
        self, method: str, path: str, body: bytes = b"", *headers: str, token: str | None = None
    ) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        async with asyncio.timeout(DEADLINE_SECONDS), connection(self) as (reader, writer):
            kind = (
                ()
                if any("Content-Type" in h for h in headers)
                else ("Content-Type: application/json",)
            )
            length = f"Content-Length: {len(body)}"
            lines = ("Connection: close", length, *kind, *headers)
            writer.write(self.head(method, path, *lines, token=token) + body)
            return split(await reader.read())

    async def create(self, name: str, size: int = 0) -> int:
        obj = {"metadata": {"name": name}, "data": {"filling": "x" * size}}
        status, _ = await self.send(
            "POST", "/api/v1/namespaces/default/configmaps", codec.encode(obj)
        )
        return status


@contextlib.asynccontextmanager
async def target(directory: Path) -> AsyncIterator[Target]:
    async with serving(ServeOptions(directory, durability="memory")) as running:
        token = (directory / "pki" / "admin-token").read_text().strip()
        yield Target(running, token, directory / "pki" / "ca.crt")


@contextlib.asynccontextmanager
async def connection(
    target: Target, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await target.connect(context)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def split(answer: bytes) -> tuple[int, bytes]:
    """The status and the body of an answer; 0 where the server said nothing."""
    if not answer:
        return 0, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


async def ended(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes the connection, which it must."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        try:
            return await reader.read()
        except (ConnectionError, ssl.SSLError):
            return b""
