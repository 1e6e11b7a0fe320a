"""How API servers beside this one are called: over HTTPS, as the front proxy that they trust."""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fleetqueue.apiserver.aggregation.headers import Pairs
from fleetqueue.apiserver.reaching import CallFailed, go_words

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 30.0
WHOLE_BYTES_MAX = 1024 * 1024
"""A longer answer, or one of unknown length, is passed on as it comes."""
DOCUMENT_BYTES_MAX = 64 * 1024 * 1024
"""Of what a server says of itself; that of a large cluster is a tenth of it."""


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """Who this server is to those that it passes requests on to."""

    authority: bytes
    """PEM: who vouches for the client certificate."""
    certificate: Path
    key: Path


class Outgoing(NamedTuple):
    """A request to another server."""

    method: str
    url: str
    headers: Pairs
    body: bytes = b""
    server_name: str = ""
    bundle: bytes = b""
    is_unverified: bool = False
    seconds: float | None = None
    """How long the answer may take, to its end; None: as long as it likes, as a watch does."""


@dataclass(slots=True)
class Incoming:
    """An answer: whole, or in chunks that have to be read or closed."""

    status: int
    headers: Pairs
    body: bytes | None = None
    chunks: AsyncIterator[bytes] | None = None

    async def whole(self) -> bytes:
        """CallFailed where it is longer than any document."""
        if self.body is not None:
            return self.body
        assert self.chunks is not None
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks:
            size += len(chunk)
            if size > DOCUMENT_BYTES_MAX:
                raise CallFailed(f"the answer is longer than {DOCUMENT_BYTES_MAX} bytes")
            parts.append(chunk)
        return b"".join(parts)


class Caller(Protocol):
    """The Transport seam towards them."""

    async def call(self, outgoing: Outgoing) -> Incoming:
        """CallFailed where there is no answer."""

    async def close(self) -> None: ...


class HttpsCaller:
    """Keeps one session, and one TLS context for each way to verify a server."""

    def __init__(self, identity: FrontProxy | None) -> None:
        self._identity = identity
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[tuple[bytes, bool], ssl.SSLContext] = {}

    async def call(self, outgoing: Outgoing) -> Incoming:
        import aiohttp
        from yarl import URL

        try:
            response = await self._opened().request(
                outgoing.method,
                URL(outgoing.url, encoded=True),
                data=outgoing.body or None,
                headers=outgoing.headers,
                ssl=self._context(outgoing.bundle, outgoing.is_unverified),
                server_hostname=outgoing.server_name or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(outgoing.seconds, sock_connect=CONNECT_SECONDS),
            )
            return await _read(response)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise CallFailed(go_words(error)) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> "aiohttp.ClientSession":
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Whatever comes is passed on as it is.
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                connector=aiohttp.TCPConnector(limit=0),
            )
        return self._session

    def _context(self, bundle: bytes, is_unverified: bool) -> ssl.SSLContext:
        context = self._contexts.get((bundle, is_unverified))
        if context is None:
            context = _client_context(bundle, is_unverified)
            if self._identity is not None:
                context.load_cert_chain(self._identity.certificate, self._identity.key)
            self._contexts[bundle, is_unverified] = context
        return context


def _client_context(bundle: bytes, is_unverified: bool) -> ssl.SSLContext:
    if not bundle and not is_unverified:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if is_unverified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=bundle.decode())
    return context


async def _read(response: "aiohttp.ClientResponse") -> Incoming:
    headers = list(response.headers.items())
    length = response.content_length
    is_short = length is not None and length <= WHOLE_BYTES_MAX
    has_none = response.method == "HEAD" or response.status in (204, 304)
    if has_none or (is_short and "Content-Encoding" not in response.headers):
        return Incoming(response.status, headers, await response.read())
    return Incoming(response.status, headers, chunks=_chunks(response))


async def _chunks(response: "aiohttp.ClientResponse") -> AsyncIterator[bytes]:
    import aiohttp

    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (TimeoutError, aiohttp.ClientError) as error:
        raise CallFailed(go_words(error)) from error
    finally:
        response.close()
