"""What a door hands to the server and what it gets back; neither knows HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fleetqueue.apiserver.access.users import User
from fleetqueue.base import codec

JSON = "application/json"


@dataclass(slots=True)
class Request:
    """One call. `object` is a decoded body from the in-process door; a write copies it."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    object: Any = None
    user: User | None = None
    """Set by a door that has authenticated already; None: the server does it from the headers."""
    peer_certificate: bytes | None = None
    """The client certificate that TLS verified, DER encoded."""
    channel: Any = None
    """What an upgrade (exec, port-forward) needs from its door."""

    def first(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        """As apimachinery reads booleans of a query: anything but "false" and "0" is true."""
        values = self.query.get(name)
        return values is not None and values[:1] != [] and values[0].lower() not in ("false", "0")


class Frame(NamedTuple):
    """One watch event: `line` for HTTP (with its newline), `type` and `object` for the in-process
    door.
    """

    type: str
    line: bytes
    decode: Callable[[], Any]


class Frames(Protocol):
    """Watch events in batches, until the watch is over or its reader closes it."""

    def __aiter__(self) -> AsyncIterator[list[Frame]]: ...

    def __anext__(self) -> Awaitable[list[Frame]]: ...

    async def aclose(self) -> None: ...


@dataclass(slots=True)
class Response:
    """One answer: encoded bytes, or an object, or a stream of watch frames or of bytes."""

    status: int = 200
    body: bytes | None = None
    pieces: list[bytes] | None = None
    """A long body in parts, so that nobody has to hold it twice."""
    object: Any = None
    """Shared with the server and others: never change it."""
    frames: Frames | None = None
    chunks: AsyncIterator[bytes] | None = None
    upgrade: Callable[[Any], Awaitable[Any]] | None = None
    """Takes over the connection (exec, attach, port-forward)."""
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON
    warnings: list[str] = field(default_factory=list)
    decode: Callable[[], Any] | None = None
    """Gives the object of an answer that is held as bytes only, from the server's cache."""

    async def aclose(self) -> None:
        """Nobody reads it any further."""
        for stream in (self.frames, self.chunks):
            if stream is not None and hasattr(stream, "aclose"):
                await stream.aclose()

    def encoded(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.pieces is not None:
            return b"".join(self.pieces)
        return b"" if self.object is None else codec.encode(self.object) + b"\n"

    def decoded(self) -> Any:
        if self.object is not None:
            return self.object
        if self.decode is not None:
            return self.decode()
        body = self.encoded()
        return codec.decode(body) if body else None


Handler = Callable[[Request], Awaitable[Response]]
