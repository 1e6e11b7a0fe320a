"""The transport over HTTP/1.1 with keep-alive, on aiohttp: TLS, proxies, credentials."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.auth import Credential, Credentials, credentials_for
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.socks import SocksConnector
from fleetqueue.kube.tls import ClientTls
from fleetqueue.kube.transport import JSON, Answer, Call, Payload, Stream

CONNECT_SECONDS_MAX = 30.0
ANSWER_SECONDS_MAX = 60.0
KEEP_ALIVE_SECONDS = 75.0
USER_AGENT = "fleetqueue"


class HttpTransport:
    """Calls one API server. Opens its connections on the first call; close it when done."""

    def __init__(
        self,
        access: Access,
        clock: Clock,
        *,
        credentials: Credentials | None = None,
        calls_max: int = 64,
        user_agent: str = USER_AGENT,
    ) -> None:
        self.access = access
        self._credentials = credentials or credentials_for(access, clock)
        self._tls = ClientTls(access, clock)
        self._is_tls = access.server.startswith("https://")
        self._free = asyncio.Semaphore(calls_max)
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def request(self, call: Call) -> Answer:
        async with self._free:
            response = await self._send(call, call.timeout_seconds or ANSWER_SECONDS_MAX)
            try:
                body = await _guarded(response.read(), call)
            finally:
                response.release()
        warnings = _warnings(response.headers.getall("Warning", ()))
        return Answer(response.status, Payload(body), _lower(response.headers), warnings)

    async def stream(self, call: Call) -> Stream:
        """The head counts against the deadline, the body may take for ever."""
        response = await self._send(call, None)
        if response.status >= 400:
            body = await _guarded(response.read(), call)
            response.release()
            return Stream(response.status, _lower(response.headers), chunks=_none(), body=body)

        async def close() -> None:
            response.close()

        chunks = _chunks(response, call)
        return Stream(response.status, _lower(response.headers), chunks=chunks, close=close)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, call: Call, total: float | None) -> aiohttp.ClientResponse:
        credential = await self._credentials.current()
        response = await self._send_as(credential, call, total)
        if response.status == 401 and await self._credentials.refused(credential):
            response.release()
            response = await self._send_as(await self._credentials.current(), call, total)
        return response

    async def _send_as(
        self, credential: Credential, call: Call, total: float | None
    ) -> aiohttp.ClientResponse:
        body = codec.encode(call.object) if call.object is not None else call.body
        headers = self._headers(credential, call, bool(body))
        sending = self._open_session().request(
            call.method,
            self._url(call),
            data=body or None,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS_MAX),
            ssl=self._context(credential),
            server_hostname=self.access.tls_server_name or None,
            proxy=self._proxy(),
            allow_redirects=False,
        )
        head_seconds = None if total else call.timeout_seconds or ANSWER_SECONDS_MAX
        response: aiohttp.ClientResponse = await _guarded(_within(head_seconds, sending), call)
        return response

    def _headers(self, credential: Credential, call: Call, has_body: bool) -> CIMultiDict[str]:
        headers = CIMultiDict({"accept": JSON, "user-agent": self._user_agent})
        headers["accept-encoding"] = "identity" if self.access.disable_compression else "gzip"
        if has_body:
            headers["content-type"] = JSON
        headers.update(call.headers)
        headers.extend(credential.headers)
        return headers

    def _url(self, call: Call) -> URL:
        query = f"?{urlencode(call.query)}" if call.query else ""
        return URL(f"{self.access.server}{call.path}{query}", encoded=True)

    def _context(self, credential: Credential) -> ssl.SSLContext | bool:
        if not self._is_tls:
            return True
        return self._tls.context(credential.certificate, credential.key)

    def _proxy(self) -> str | None:
        if self.access.proxy_url.startswith("socks5://"):
            return None
        return self.access.proxy_url or proxy_from_environment(self.access.server)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            options: dict[str, Any] = {"limit": 0, "keepalive_timeout": KEEP_ALIVE_SECONDS}
            if self.access.proxy_url.startswith("socks5://"):
                connector: aiohttp.TCPConnector = SocksConnector(self.access.proxy_url, **options)
            else:
                connector = aiohttp.TCPConnector(**options)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=jar)
        return self._session


def proxy_from_environment(server: str) -> str | None:
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go reads them: never for this very machine."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    proxy = getproxies().get(parts.scheme)
    return None if not proxy or proxy_bypass(host) else proxy


async def _chunks(response: aiohttp.ClientResponse, call: Call) -> AsyncIterator[bytes]:
    while True:
        chunk = await _guarded(response.content.readany(), call)
        if not chunk:
            return
        yield chunk


async def _none() -> AsyncIterator[bytes]:
    return
    yield b""


async def _within(seconds: float | None, doing: Any) -> Any:
    async with asyncio.timeout(seconds):
        return await doing


async def _guarded(sending: Any, call: Call) -> Any:
    """Every failure of the network as one kind of error, which says whether the call was sent."""
    what = f"{call.method} {call.path}"
    try:
        return await sending
    except aiohttp.ClientConnectorError as error:
        raise Unreachable(f"{what}: cannot connect: {error}", sent=False) from error
    except TimeoutError as error:
        raise Unreachable(f"{what}: no answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"{what}: {error or type(error).__name__}") from error


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _warnings(values: Sequence[str]) -> list[str]:
    """The texts of `Warning: 299 - "text"` headers."""
    texts = []
    for value in values:
        _, quote, rest = value.partition('"')
        texts.append(
            rest.rsplit('"', 1)[0].replace('\\"', '"').replace("\\\\", "\\") if quote else value
        )
    return texts
