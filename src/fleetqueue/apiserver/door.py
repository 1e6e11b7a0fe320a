"""The HTTPS door: listens, and gives every client that comes a connection of its own."""

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver.connection import Connection
from fleetqueue.apiserver.request import Handler

if TYPE_CHECKING:
    from fleetqueue.apiserver.upgrades import Upgrades

HANDSHAKE_SECONDS = 15.0
ARRIVING_BYTES_MAX = 256 * 1024 * 1024
"""Of bodies, on all connections together: they arrive before it is known who sends them."""
CLOSING_SECONDS = 2.0
"""How long answers that are under way may take when the door closes."""


class Door:
    """One listening address of a server."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None) -> None:
        self.handler = handler
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._arriving: dict[Connection, int] = {}
        """The bytes of bodies that are not whole yet; who began first comes first."""
        self._arriving_bytes = 0
        self._upgrades: Upgrades | None = None
        self._emptied = asyncio.Event()
        self._is_closing = False
        self.port = 0

    async def open(self, host: str, port: int, listener: socket.socket | None = None) -> None:
        """`listener`: a socket that is bound to host and port already."""
        handshake = HANDSHAKE_SECONDS if self._tls is not None else None
        where: dict[str, Any] = {"host": host, "port": port, "reuse_address": True}
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            **(where if listener is None else {"sock": listener}),
            ssl=self._tls,
            backlog=1024,
            ssl_handshake_timeout=handshake,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def close(self) -> None:
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            if connection.is_idle:
                connection.close()
        if self._connections:
            try:
                await asyncio.wait_for(self._emptied.wait(), CLOSING_SECONDS)
            except TimeoutError:
                for connection in list(self._connections):
                    connection.transport.abort()
        if self._upgrades is not None:
            await self._upgrades.close()

    # Of its connections

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.arrived(connection)
        if not self._connections:
            self._emptied.set()

    def arriving(self, connection: Connection, count: int) -> None:
        """Part of a body. Where there are too many, who sends for longest makes room."""
        self._arriving[connection] = self._arriving.get(connection, 0) + count
        self._arriving_bytes += count
        while self._arriving_bytes > ARRIVING_BYTES_MAX:
            slowest = next(iter(self._arriving))
            self.arrived(slowest)
            slowest.transport.abort()

    def arrived(self, connection: Connection) -> None:
        """Nothing of it arrives any longer."""
        self._arriving_bytes -= self._arriving.pop(connection, 0)

    def upgrade(self, transport: asyncio.Transport, received: bytes) -> None:
        if self._upgrades is None:
            # Most servers never see one, and its library takes long to load.
            from fleetqueue.apiserver.upgrades import Upgrades

            self._upgrades = Upgrades(self.handler)
        self._upgrades.take(transport, received)
