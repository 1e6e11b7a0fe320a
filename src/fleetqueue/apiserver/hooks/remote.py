"""How webhooks are reached: a URL or a Service, over HTTPS, with the bundle they name."""

import asyncio
import base64
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fleetqueue.apiserver import bodies
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.reaching import CallFailed, go_words, service_address
from fleetqueue.base import codec

if TYPE_CHECKING:
    import aiohttp

Object = dict[str, Any]

SECONDS_DEFAULT = 10
ANSWER_BYTES_MAX = 8 * 1024 * 1024


class Target(NamedTuple):
    """Where to send a review."""

    url: str
    """As the client configuration names it, for messages."""
    address: str
    """What to connect to."""
    server_name: str
    bundle: bytes


class Remote(Protocol):
    """The Transport seam towards webhooks."""

    async def post(self, target: Target, body: bytes, seconds: float) -> tuple[int, bytes]: ...

    async def close(self) -> None: ...


class HttpsRemote:
    """Keeps one session, and one TLS context per certificate bundle."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def post(self, target: Target, body: bytes, seconds: float) -> tuple[int, bytes]:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(seconds):
                async with self._session.post(
                    target.address,
                    data=body,
                    headers={"Content-Type": "application/json", "Accept": "application/json"},
                    ssl=self._context(target.bundle),
                    server_hostname=target.server_name or None,
                    allow_redirects=False,
                ) as response:
                    return response.status, await _whole(response.content)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise CallFailed(go_words(error)) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _context(self, bundle: bytes) -> ssl.SSLContext:
        context = self._contexts.get(bundle)
        if context is None:
            context = ssl.create_default_context()
            if bundle:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.load_verify_locations(cadata=bundle.decode())
            self._contexts[bundle] = context
        return context


async def _whole(content: "aiohttp.StreamReader") -> bytes:
    """All of an answer: one read gives only what has arrived by then."""
    parts: list[bytes] = []
    size = 0
    async for part in content.iter_any():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise CallFailed("http: request body too large")
        parts.append(part)
    return b"".join(parts)


def find_target(core: Core, client: Object, default_path: str = "") -> Target:
    """Where a client configuration points; a Service is found through its endpoints."""
    bundle = base64.b64decode(client.get("caBundle") or "")
    if client.get("url"):
        return Target(client["url"], client["url"], "", bundle)
    service = client["service"]
    namespace, name = service["namespace"], service["name"]
    port, path = service.get("port") or 443, service.get("path") or default_path
    host = f"{name}.{namespace}.svc"
    url = f"https://{host}:{port}/{path.lstrip('/')}"
    address = service_address(core, namespace, name, port)
    return Target(url, f"https://{address}/{path.lstrip('/')}", host, bundle)


STATUS_WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: "unknown",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}
SERVER_ERROR = 'an error on the server ("unknown") has prevented the request from succeeding'


def decode_review(body: bytes, status: int, kind: str, version: str) -> Object:
    """The response part of a review, or CallFailed in the words of a Go client."""
    if not 200 <= status < 300:
        raise CallFailed(f"failed to call webhook: {STATUS_WORDS.get(status, SERVER_ERROR)}")
    try:
        review = codec.decode(body)
    except codec.DecodeError:
        review = body.decode(errors="replace")
    if not isinstance(review, dict):
        found = bodies.no_struct(bodies.json_type(review))
        raise CallFailed(
            f"failed to call webhook: couldn't get version/kind; json parse error: {found}"
        )
    given = str(review.get("apiVersion", ""))
    if (given, review.get("kind")) != (version, kind):
        found = bodies.not_registered(given, str(review.get("kind", "")))
        raise CallFailed(f"failed to call webhook: {found}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise CallFailed("received invalid webhook response: webhook response was absent")
    return response
