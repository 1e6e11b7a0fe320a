"""The frames of SPDY/3.1, which older clients speak for exec and all of kubectl for port-forward.

Only what those use: no flow control, as their library has none either.
"""

import zlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

VERSION = 3
FIN = 0x01
HEAD_BYTES = 8
CONTROL_BYTES_MAX = 64 * 1024
"""Headers here are a few words; whoever sends more means harm."""
CANCEL = 5
PROTOCOL_ERROR = 1

Headers: TypeAlias = Mapping[str, str]


class SpdyError(Exception):
    """The other side does not speak SPDY as it should."""


class SynStream(NamedTuple):
    """The other side opens a stream."""

    stream: int
    headers: Headers
    is_last: bool = False


class SynReply(NamedTuple):
    """A stream is accepted."""

    stream: int
    headers: Headers
    is_last: bool = False


class Reset(NamedTuple):
    """A stream ends at once, in both directions."""

    stream: int
    status: int


class Settings(NamedTuple):
    """How the other side would like to be sent to; nothing here depends on it."""


class Ping(NamedTuple):
    """To be sent back as it is."""

    id: int


class GoAway(NamedTuple):
    """No further streams are taken."""

    last_stream: int = 0
    status: int = 0


class MoreHeaders(NamedTuple):
    """Further headers of a stream."""

    stream: int
    headers: Headers
    is_last: bool = False


class WindowUpdate(NamedTuple):
    """The other side has room for more."""

    stream: int
    delta: int


class Data(NamedTuple):
    """A piece of a stream."""

    stream: int
    data: bytes
    is_last: bool = False


Frame: TypeAlias = (
    SynStream | SynReply | Reset | Settings | Ping | GoAway | MoreHeaders | WindowUpdate | Data
)


class Decoder:
    """Bytes of one direction of a connection, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> list[Frame]:
        self._buffer += data
        frames: list[Frame] = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        while len(self._buffer) >= HEAD_BYTES:
            first = int.from_bytes(self._buffer[:4], "big")
            flags, size = self._buffer[4], int.from_bytes(self._buffer[5:8], "big")
            is_control = bool(first >> 31)
            if is_control and size > CONTROL_BYTES_MAX:
                raise SpdyError(f"a control frame of {size} bytes")
            if len(self._buffer) < HEAD_BYTES + size:
                return None
            body = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + size])
            del self._buffer[: HEAD_BYTES + size]
            if not is_control:
                return Data(first, body, bool(flags & FIN))
            if (first >> 16) & 0x7FFF != VERSION:
                raise SpdyError(f"version {(first >> 16) & 0x7FFF}")
            frame = self._control(first & 0xFFFF, flags, body)
            if frame is not None:
                return frame
        return None

    def _control(self, kind: int, flags: int, body: bytes) -> Frame | None:
        is_last = bool(flags & FIN)
        if kind == 1:
            return SynStream(_number(body, 0) & 0x7FFFFFFF, self._headers(body[10:]), is_last)
        if kind == 2:
            return SynReply(_number(body, 0) & 0x7FFFFFFF, self._headers(body[4:]), is_last)
        if kind == 3:
            return Reset(_number(body, 0) & 0x7FFFFFFF, _number(body, 4))
        if kind == 4:
            return Settings()
        if kind == 6:
            return Ping(_number(body, 0))
        if kind == 7:
            return GoAway(_number(body, 0) & 0x7FFFFFFF, _number(body, 4))
        if kind == 8:
            return MoreHeaders(_number(body, 0) & 0x7FFFFFFF, self._headers(body[4:]), is_last)
        if kind == 9:
            return WindowUpdate(_number(body, 0) & 0x7FFFFFFF, _number(body, 4) & 0x7FFFFFFF)
        # Frames that nobody knows are passed over.
        return None

    def _headers(self, packed: bytes) -> Headers:
        try:
            block = self._inflate.decompress(packed, CONTROL_BYTES_MAX)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be unpacked: {error}") from error
        if self._inflate.unconsumed_tail:
            raise SpdyError("headers that are too large")
        headers: dict[str, str] = {}
        at = 4
        for _ in range(_number(block, 0)):
            name, at = _text(block, at)
            value, at = _text(block, at)
            headers[name.lower()] = value
        return headers


class Encoder:
    """Frames of the other direction, into bytes."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        if isinstance(frame, Data):
            head = _pack(frame.stream) + bytes([FIN if frame.is_last else 0])
            return head + len(frame.data).to_bytes(3, "big") + frame.data
        kind, body = self._body(frame)
        flags = FIN if getattr(frame, "is_last", False) else 0
        head = _pack(1 << 31 | VERSION << 16 | kind) + bytes([flags])
        return head + len(body).to_bytes(3, "big") + body

    def _body(self, frame: Frame) -> tuple[int, bytes]:
        if isinstance(frame, SynStream):
            return 1, _pack(frame.stream) + bytes(6) + self._packed(frame.headers)
        if isinstance(frame, SynReply):
            return 2, _pack(frame.stream) + self._packed(frame.headers)
        if isinstance(frame, Reset):
            return 3, _pack(frame.stream) + _pack(frame.status)
        if isinstance(frame, Settings):
            return 4, _pack(0)
        if isinstance(frame, Ping):
            return 6, _pack(frame.id)
        if isinstance(frame, GoAway):
            return 7, _pack(frame.last_stream) + _pack(frame.status)
        if isinstance(frame, MoreHeaders):
            return 8, _pack(frame.stream) + self._packed(frame.headers)
        assert isinstance(frame, WindowUpdate)
        return 9, _pack(frame.stream) + _pack(frame.delta)

    def _packed(self, headers: Headers) -> bytes:
        block = _pack(len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += _pack(len(text)) + text
        return self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def _pack(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _number(data: bytes, at: int) -> int:
    if len(data) < at + 4:
        raise SpdyError("a frame that is too short")
    return int.from_bytes(data[at : at + 4], "big")


def _text(block: bytes, at: int) -> tuple[str, int]:
    end = at + 4 + _number(block, at)
    if end > len(block):
        raise SpdyError("a header that is too short")
    return block[at + 4 : end].decode("utf-8", "replace"), end


_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url "
    "public set-cookie keep-alive origin"
)
_PHRASES = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """What both sides take as said before the first header."""
    words = [word.replace("_", " ").encode() for word in _WORDS.split(" ")]
    return b"".join(_pack(len(word)) + word for word in words) + _PHRASES.encode()


DICTIONARY = _dictionary()
