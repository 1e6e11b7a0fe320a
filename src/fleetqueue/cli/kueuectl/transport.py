"""A transport for a few calls in a row: one connection, and nothing that takes long to load.

`HttpTransport` does what it leaves out: streams, and servers behind a proxy.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import httptools

from fleetqueue.base import codec
from fleetqueue.base.clock import Clock
from fleetqueue.kube.auth import Credential, credentials_for
from fleetqueue.kube.errors import BadAnswer, Unreachable
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.tls import ClientTls
from fleetqueue.kube.transport import JSON, Answer, Call, Payload, Stream, Transport, warning_texts

ANSWER_SECONDS_MAX = 60.0
CHUNK = 2**18
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")


def transport_for(
    access: Access, clock: Clock, environ: Mapping[str, str], user_agent: str
) -> Transport:
    if access.proxy_url or any(environ.get(name) for name in PROXIES):
        return _full(access, clock, user_agent)
    return PlainTransport(access, clock, user_agent)


class PlainTransport:
    """Calls one after the other. Opens its connection on the first one; close it when done."""

    def __init__(self, access: Access, clock: Clock, user_agent: str) -> None:
        self._access = access
        self._clock = clock
        self._user_agent = user_agent
        self._at = urlsplit(access.server)
        self._credentials = credentials_for(access, clock)
        self._tls = ClientTls(access, clock)
        self._line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()
        self._other: Transport | None = None

    async def request(self, call: Call) -> Answer:
        credential = await self._credentials.current()
        answer = await self._send(credential, call)
        if answer.status == 401 and await self._credentials.refused(credential):
            self._hang_up()
            answer = await self._send(await self._credentials.current(), call)
        return answer

    async def stream(self, call: Call) -> Stream:
        self._other = self._other or _full(self._access, self._clock, self._user_agent)
        return await self._other.stream(call)

    async def close(self) -> None:
        self._hang_up()
        if self._other is not None:
            await self._other.close()

    async def _send(self, credential: Credential, call: Call) -> Answer:
        what = f"{call.method} {call.path}"
        async with self._turn:
            try:
                async with asyncio.timeout(call.timeout_seconds or ANSWER_SECONDS_MAX):
                    return await self._exchange(credential, call, what)
            except TimeoutError as error:
                self._hang_up()
                raise Unreachable(f"{what}: no answer in time") from error
            except OSError as error:
                self._hang_up()
                raise Unreachable(f"{what}: {error or type(error).__name__}") from error

    async def _exchange(self, credential: Credential, call: Call, what: str) -> Answer:
        reader, writer = self._line or await self._open(credential, what)
        writer.write(self._head(credential, call))
        await writer.drain()
        response = _Response()
        parser = httptools.HttpResponseParser(response)
        while not response.is_whole:
            data = await reader.read(CHUNK)
            if not data and response.has_head and not parser.should_keep_alive():
                # Its end is the end of the connection.
                break
            if not data:
                self._hang_up()
                raise Unreachable(f"{what}: the connection was closed")
            try:
                parser.feed_data(data)
            except httptools.HttpParserError as error:
                self._hang_up()
                raise BadAnswer(f"{what}: the answer is no HTTP: {error}") from error
        if not parser.should_keep_alive():
            self._hang_up()
        return response.answer(parser.get_status_code())

    async def _open(
        self, credential: Credential, what: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        is_tls = self._at.scheme == "https"
        host, port = self._at.hostname or "", self._at.port or (443 if is_tls else 80)
        context: ssl.SSLContext | None = None
        if is_tls:
            context = self._tls.context(credential.certificate, credential.key)
        name = (self._access.tls_server_name or host) if is_tls else None
        try:
            self._line = await asyncio.open_connection(
                host, port, ssl=context, server_hostname=name
            )
        except OSError as error:
            raise Unreachable(f"{what}: cannot connect: {error}", sent=False) from error
        return self._line

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line[1].transport.abort()
            self._line = None

    def _head(self, credential: Credential, call: Call) -> bytes:
        body = codec.encode(call.object) if call.object is not None else call.body
        path = f"{self._at.path.rstrip('/')}{call.path}"
        query = f"?{urlencode(call.query)}" if call.query else ""
        headers = {"accept": JSON, "user-agent": self._user_agent}
        if body:
            headers["content-type"] = JSON
        headers |= call.headers
        lines = [f"{call.method} {path}{query} HTTP/1.1", f"host: {self._at.netloc}"]
        lines += [f"{name}: {value}" for name, value in (*headers.items(), *credential.headers)]
        lines.append(f"content-length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class _Response:
    """What the parser tells of an answer."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    has_head: bool = False
    is_whole: bool = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode().lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.is_whole = True

    def answer(self, status: int) -> Answer:
        warnings = warning_texts([value for name, value in self.headers if name == "warning"])
        return Answer(status, Payload(b"".join(self.parts)), dict(self.headers), warnings)


def _full(access: Access, clock: Clock, user_agent: str) -> Transport:
    from fleetqueue.kube.http_transport import HttpTransport

    return HttpTransport(access, clock, user_agent=user_agent)
