"""The transport over HTTP/1.1 with keep-alive: TLS, proxies, credentials."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.auth import Credential, Credentials, credentials_for
from fleetqueue.kube.connections import Broken, CannotConnect, Connections, Headers, Response
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.tls import ClientTls
from fleetqueue.kube.transport import JSON, Answer, Call, Payload, Stream, warning_texts

if TYPE_CHECKING:
    from fleetqueue.kube.proxied import ProxiedResponse, ProxiedSession
    from fleetqueue.kube.upgrades import Upgraded

ANSWER_SECONDS_MAX = 60.0
USER_AGENT = "fleetqueue"
WITH_BODY = ("POST", "PUT", "PATCH")


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
        self._free = asyncio.Semaphore(calls_max)
        self._user_agent = user_agent
        parts = urlsplit(access.server)
        self._is_tls = parts.scheme == "https"
        self._authority = parts.netloc.rpartition("@")[2]
        self._base = parts.path.rstrip("/")
        port = parts.port or (443 if self._is_tls else 80)
        self._connections = Connections(parts.hostname or "", port)
        self._proxy = access.proxy_url or proxy_from_environment(access.server)
        self._proxied: ProxiedSession | None = None

    async def request(self, call: Call) -> Answer:
        async with self._free:
            with _guarded(call):
                async with asyncio.timeout(call.timeout_seconds or ANSWER_SECONDS_MAX):
                    response = await self._send(call)
                    body = await _whole(response)
        warnings = warning_texts([text for name, text in response.headers if name == "warning"])
        return Answer(response.status, Payload(body), dict(response.headers), warnings)

    async def stream(self, call: Call) -> Stream:
        """The head counts against the deadline, the body may take for ever."""
        with _guarded(call):
            async with asyncio.timeout(call.timeout_seconds or ANSWER_SECONDS_MAX):
                response = await self._send(call)
                if response.status >= 400:
                    body = await _whole(response)
                    headers = dict(response.headers)
                    return Stream(response.status, headers, chunks=_none(), body=body)

        async def close() -> None:
            response.close()

        chunks = _chunks(response, call)
        return Stream(response.status, dict(response.headers), chunks=chunks, close=close)

    async def upgrade(self, call: Call) -> "Upgraded":
        """The connection that an upgrade leaves, which is the caller's to close."""
        with _guarded(call):
            async with asyncio.timeout(call.timeout_seconds or ANSWER_SECONDS_MAX):
                credential = await self._credentials.current()
                answer = await self._upgrade_as(credential, call)
                if answer.status == 401 and await self._credentials.refused(credential):
                    answer = await self._upgrade_as(await self._credentials.current(), call)
                return answer

    async def close(self) -> None:
        await self._connections.close()
        if self._proxied is not None:
            await self._proxied.close()
            self._proxied = None

    async def _send(self, call: Call) -> "Response | ProxiedResponse":
        credential = await self._credentials.current()
        response = await self._send_as(credential, call)
        if response.status == 401 and await self._credentials.refused(credential):
            await _whole(response)
            response = await self._send_as(await self._credentials.current(), call)
        return response

    async def _send_as(self, credential: Credential, call: Call) -> "Response | ProxiedResponse":
        body = codec.encode(call.object) if call.object is not None else call.body
        headers = self._headers(credential, call, bool(body))
        query = f"?{urlencode(call.query)}" if call.query else ""
        target = f"{call.path}{query}"
        context = self._context(credential)
        if self._proxy:
            url = f"{self.access.server}{target}"
            session = self._session(self._proxy)
            return await session.send(call.method, url, headers, body, context)
        head = self._head(call.method, f"{self._base}{target}", headers, len(body))
        connection = await self._connections.take(context, self.access.tls_server_name)
        try:
            await connection.ask(head + body, has_body=call.method != "HEAD")
        except BaseException:
            connection.close()
            raise
        return Response(connection)

    async def _upgrade_as(self, credential: Credential, call: Call) -> "Upgraded":
        # Few need it.
        from fleetqueue.kube.upgrades import Place, ask

        query = f"?{urlencode(call.query)}" if call.query else ""
        headers = self._headers(credential, call, has_body=False)
        head = self._head(call.method, f"{self._base}{call.path}{query}", headers, 0)
        place = Place(
            *self._connections.address,
            tls=self._context(credential),
            server_name=self.access.tls_server_name,
            proxy=self._proxy or "",
        )
        return await ask(place, head)

    def _head(self, method: str, target: str, headers: Headers, length: int) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"host: {self._authority}"]
        lines += [f"{name}: {text}" for name, text in headers]
        if length or method in WITH_BODY:
            lines.append(f"content-length: {length}")
        # A value must not begin another line.
        text = "\0".join(lines).replace("\r", "").replace("\n", "").replace("\0", "\r\n")
        return f"{text}\r\n\r\n".encode()

    def _headers(self, credential: Credential, call: Call, has_body: bool) -> Headers:
        headers = {"accept": JSON, "user-agent": self._user_agent}
        headers["accept-encoding"] = "identity" if self.access.disable_compression else "gzip"
        if has_body:
            headers["content-type"] = JSON
        headers.update(call.headers)
        return [*headers.items(), *credential.headers]

    def _context(self, credential: Credential) -> ssl.SSLContext | None:
        if not self._is_tls:
            return None
        return self._tls.context(credential.certificate, credential.key)

    def _session(self, proxy: str) -> "ProxiedSession":
        if self._proxied is None:
            # Few need it, and its library takes long to load.
            from fleetqueue.kube.proxied import ProxiedSession

            self._proxied = ProxiedSession(proxy, self.access.tls_server_name)
        return self._proxied


def proxy_from_environment(server: str) -> str | None:
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go reads them: never for this very machine."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    proxy = getproxies().get(parts.scheme)
    return None if not proxy or proxy_bypass(host) else proxy


async def _whole(response: "Response | ProxiedResponse") -> bytes:
    try:
        return await response.read()
    except BaseException:
        response.close()
        raise


async def _chunks(response: "Response | ProxiedResponse", call: Call) -> AsyncIterator[bytes]:
    with _guarded(call):
        async for piece in response.chunks():
            yield piece


async def _none() -> AsyncIterator[bytes]:
    return
    yield b""


@contextmanager
def _guarded(call: Call) -> Iterator[None]:
    """Every failure of the network as one kind of error, which says whether the call was sent."""
    what = f"{call.method} {call.path}"
    try:
        yield
    except CannotConnect as error:
        raise Unreachable(f"{what}: cannot connect: {error}", sent=False) from error
    except TimeoutError as error:
        raise Unreachable(f"{what}: no answer in time") from error
    except (Broken, OSError) as error:
        raise Unreachable(f"{what}: {error or type(error).__name__}") from error
