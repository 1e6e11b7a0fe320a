"""The seam between the client and an API server: one call in, one answer or one stream out.

`http_transport` speaks to a server over the network; `InProcessTransport` calls a server's handler
in this process and shares its decoded objects, without encoding or copying.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from fleetqueue.base import codec
from fleetqueue.kube.errors import BadAnswer

JSON = "application/json"
T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """One request. A body is either `body`, or `object`, which the transport encodes if it must."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    object: Any = None
    timeout_seconds: float | None = None
    """How long an answer, or the head of a stream, may take; None leaves it to the transport."""


class Payload:
    """JSON that came from a server: bytes, or an object that is shared and must not be changed."""

    __slots__ = ("_data", "_decode", "_object")

    def __init__(
        self,
        data: bytes | msgspec.Raw = b"",
        *,
        shared: Any = None,
        decode: Callable[[], Any] | None = None,
    ) -> None:
        self._data = data
        self._object = shared
        self._decode = decode

    @property
    def data(self) -> bytes:
        if not self._data and (shared := self.decoded()) is not None:
            return codec.encode(shared)
        return bytes(self._data)

    @property
    def is_decoded(self) -> bool:
        """Whether reading it costs no decoding, as of a server in this process."""
        return self._object is not None or self._decode is not None

    def decoded(self) -> Any:
        if self._object is None:
            if self._decode is not None:
                self._object = self._decode()
            elif self._data:
                self._object = _or_bad_answer(codec.decode, self._data)
        return self._object

    def typed(self, kind: type[T]) -> T:
        """Decoded into a wire type; straight from the bytes where those are what came."""
        if not self.is_decoded:
            return msgspec.json.decode(self._data, type=kind)
        return msgspec.convert(self.decoded(), kind)


@dataclass(slots=True)
class Answer:
    """One response, whole."""

    status: int
    payload: Payload
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    warnings: Sequence[str] = ()


@dataclass(slots=True)
class Frame:
    """One watch event as it came: its type, and its object still undecoded."""

    type: str
    payload: Payload


@dataclass(slots=True)
class Stream:
    """A response whose body keeps coming. Read `frames` of a watch or `chunks`, then close."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes] | None = None
    frames: AsyncIterator[list[Frame]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    body: bytes = b""
    """Where the status is an error: the whole answer."""

    async def aclose(self) -> None:
        if self.close is not None:
            await self.close()

    def watch_frames(self) -> AsyncIterator[list[Frame]]:
        if self.frames is not None:
            return self.frames
        assert self.chunks is not None
        return frames_of(self.chunks)


class Transport(Protocol):
    """What a client talks through."""

    async def request(self, call: Call) -> Answer: ...

    async def stream(self, call: Call) -> Stream: ...

    async def close(self) -> None: ...


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


_line_decoder = msgspec.json.Decoder(_Line)


async def frames_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[Frame]]:
    """Cuts a byte stream into watch events: one JSON document a line."""
    rest = b""
    async for chunk in chunks:
        lines = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        rest = lines.pop()
        frames = [_frame(line) for line in lines if line.strip()]
        if frames:
            yield frames
    if rest.strip():
        # A stream may end without its last newline; half a document means the connection broke.
        with suppress(BadAnswer):
            yield [_frame(rest)]


def _frame(line: bytes) -> Frame:
    read = _or_bad_answer(_line_decoder.decode, line)
    return Frame(read.type, Payload(read.object))


def _or_bad_answer(decode: Callable[[Any], Any], data: bytes | msgspec.Raw) -> Any:
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the server sent what is not valid JSON: {error}") from error


@dataclass(slots=True)
class LocalRequest:
    """What `InProcessTransport` hands to a handler, unless it is given the handler's own class."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes = b""
    object: Any = None
    user: Any = None


class LocalFrame(Protocol):
    """A watch event of an in-process server."""

    @property
    def type(self) -> str: ...
    @property
    def decode(self) -> Callable[[], Any]: ...


class LocalResponse(Protocol):
    """What a handler answers: an object or bytes, or watch frames, or chunks of bytes."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def object(self) -> Any: ...
    @property
    def decode(self) -> Callable[[], Any] | None: ...
    @property
    def frames(self) -> AsyncIterator[Sequence[LocalFrame]] | None: ...
    @property
    def chunks(self) -> AsyncIterator[bytes] | None: ...
    @property
    def warnings(self) -> Sequence[str]: ...

    def encoded(self) -> bytes: ...


class InProcessTransport:
    """Straight into a server's handler. `request` is the handler's own request class, if any."""

    def __init__(
        self,
        handler: Callable[[Any], Awaitable[LocalResponse]],
        *,
        request: Callable[..., Any] = LocalRequest,
        user: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._handler = handler
        self._request = request
        self._user = user
        self._headers = dict(headers or {})

    async def request(self, call: Call) -> Answer:
        response = await self._handler(self._local(call))
        if response.chunks is not None:
            body = b"".join([chunk async for chunk in response.chunks])
            return Answer(response.status, Payload(body), lower(response.headers))
        payload = _payload(response)
        return Answer(response.status, payload, lower(response.headers), response.warnings)

    async def stream(self, call: Call) -> Stream:
        response = await self._handler(self._local(call))
        headers = lower(response.headers)
        if response.frames is not None:
            source = response.frames
            return Stream(
                response.status, headers, frames=_local_frames(source), close=_closer(source)
            )
        if response.chunks is not None:
            chunks = response.chunks
            return Stream(response.status, headers, chunks=chunks, close=_closer(chunks))
        body = _payload(response).data
        return Stream(response.status, headers, chunks=_once(body), body=body)

    async def close(self) -> None:
        """There is no connection to close."""

    def _local(self, call: Call) -> Any:
        query: dict[str, list[str]] = {}
        for name, value in call.query:
            query.setdefault(name, []).append(value)
        headers = {**self._headers, **call.headers}
        return self._request(
            method=call.method,
            path=call.path,
            query=query,
            headers=headers,
            body=call.body,
            object=call.object,
            user=self._user,
        )


def _payload(response: LocalResponse) -> Payload:
    """Without decoding what the server holds decoded already."""
    if response.object is not None or response.decode is not None:
        return Payload(shared=response.object, decode=response.decode)
    return Payload(response.encoded())


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _local_frames(
    source: AsyncIterator[Sequence[LocalFrame]],
) -> AsyncIterator[list[Frame]]:
    async for batch in source:
        made = [Frame(frame.type, Payload(decode=frame.decode)) for frame in batch]
        # Until the next batch comes nobody needs this one any more.
        del batch
        yield made


async def _once(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


def _closer(source: Any) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        aclose = getattr(source, "aclose", None)
        if aclose is not None:
            # A generator that is just being read by a cancelled task cannot be closed twice.
            with suppress(RuntimeError):
                await aclose()

    return close


def warning_texts(values: Sequence[str]) -> list[str]:
    """The texts of `Warning: 299 - "text"` headers."""
    texts = []
    for value in values:
        _, quote, rest = value.partition('"')
        texts.append(
            rest.rsplit('"', 1)[0].replace('\\"', '"').replace("\\\\", "\\") if quote else value
        )
    return texts
