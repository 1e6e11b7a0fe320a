"""Answers as bytes of HTTP/1.1: heads, chunks of a stream, and bodies compressed where it pays."""

import asyncio
import zlib
from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from fleetqueue.apiserver.request import Response

GZIP_BYTES_MIN = 128 * 1024
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
_CLOSE = b"Connection: close\r\n"
_GZIP = 31
"""Deflate in the frame that gzip has."""


def head(response: Response, framing: bytes, *, closes: bool) -> bytes:
    """All lines before the body. `framing` says how the body ends."""
    lines = [_opening(response.status, response.content_type), framing, _date()]
    lines += [
        b"%b: %b\r\n" % (name.encode(), _one_line(value))
        for name, value in response.headers.items()
    ]
    lines += [b"Warning: %b\r\n" % _one_line(warning(text)) for text in response.warnings]
    if closes:
        lines.append(_CLOSE)
    lines.append(b"\r\n")
    return b"".join(lines)


def length(pieces: Sequence[bytes]) -> bytes:
    return b"Content-Length: %d\r\n" % sum(map(len, pieces))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def body_of(response: Response, accepted: str) -> Sequence[bytes]:
    """The body in pieces, compressed where it is long and its client takes that."""
    pieces = response.pieces if response.pieces is not None else (response.encoded(),)
    if "gzip" not in accepted or sum(map(len, pieces)) <= GZIP_BYTES_MIN:
        return pieces
    response.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    # Compressing takes a core for a while, and nobody needs the event loop for it.
    return await asyncio.get_running_loop().run_in_executor(None, _compressed, pieces)


def _compressed(pieces: Sequence[bytes]) -> Sequence[bytes]:
    compressor = zlib.compressobj(level=1, wbits=_GZIP)
    return [*(compressor.compress(piece) for piece in pieces), compressor.flush()]


def warning(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{quoted}"'


def _one_line(value: str) -> bytes:
    """A value cannot begin another header."""
    return value.replace("\r", " ").replace("\n", " ").encode(errors="surrogateescape")


@lru_cache(maxsize=256)
def _opening(status: int, content_type: str) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    text = (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\n"
        "Cache-Control: no-cache, private\r\n"
    )
    return text.encode()


def _date() -> bytes:
    # Once a second is enough.
    return _date_line(int(asyncio.get_running_loop().time()))


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    return b"Date: %b\r\n" % formatdate(usegmt=True).encode()
