"""The server that browsers speak with: the page, streams of snapshots, objects as they are."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from aiohttp import WSCloseCode, WSMsgType, web

from fleetqueue.api import names
from fleetqueue.base import codec, documents
from fleetqueue.dashboard import assets
from fleetqueue.dashboard.access import PROTOCOL, Denied, Doorkeeper, Wish, token_of
from fleetqueue.dashboard.kinds import readable
from fleetqueue.dashboard.masking import presentable
from fleetqueue.dashboard.streams import Listener, Streams
from fleetqueue.dashboard.topics import OF_ONE_NAMESPACE, PAGES, Topic
from fleetqueue.kube.client import Client
from fleetqueue.kube.delegated_access import Person
from fleetqueue.kube.errors import KubeError, Refused

HEARTBEAT_SECONDS = 30.0
SEND_SECONDS_MAX = 60.0
"""A browser that takes nothing for so long is gone."""
CHECK_SECONDS = 60.0
"""How often it is asked whether somebody may still listen."""
LISTENERS_MAX = 500
MESSAGE_BYTES_MAX = 4096
"""Browsers have nothing to say here."""
NO_LONGER_ALLOWED = 4403
JSON, YAML = "application/json", "application/yaml; charset=utf-8"
log = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Dashboard:
    """All routes. `client` reads single objects, as they are."""

    def __init__(self, client: Client, streams: Streams, doorkeeper: Doorkeeper) -> None:
        self._client = client
        self._streams = streams
        self._doorkeeper = doorkeeper
        self._assets = assets.load()
        self._sockets: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._guard], client_max_size=MESSAGE_BYTES_MAX)
        add = application.router.add_get
        for page, described in PAGES.items():
            add(described.path, partial(self._listen, page), allow_head=False)
        add("/api/{type}/{name}", self._object)
        add("/auth/status", self._status)
        add("/healthz", self._health)
        add("/static/{file}", self._asset)
        for route in assets.UI_ROUTES:
            add(route, self._page)
        application.on_shutdown.append(self._close_all)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every answer has the headers of safety; what goes wrong is told in a sentence."""
        try:
            self._doorkeeper.check_origin(request.headers)
            answer = await handler(request)
        except Denied as denied:
            answer = _problem(denied.status, denied.text)
        except Refused as refused:
            answer = _problem(refused.code, str(refused))
        except KubeError as error:
            answer = _problem(503, f"the cluster could not be asked: {error}")
        except web.HTTPNotFound:
            answer = self._not_found(request)
        except web.HTTPException as error:
            answer = _problem(error.status, error.reason)
        if not answer.prepared:
            answer.headers.update(assets.SAFETY)
        return answer

    # Streams

    async def _listen(self, page: str, request: web.Request) -> web.StreamResponse:
        if len(self._sockets) >= LISTENERS_MAX:
            raise Denied(503, "too many listen already: close other pages")
        person = await self._doorkeeper.admit(token_of(request.headers))
        topic = await self._doorkeeper.topic(person, _topic(page, request))
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_SECONDS,
            protocols=(PROTOCOL,),
            compress=False,
            max_msg_size=MESSAGE_BYTES_MAX,
        )
        if not socket.can_prepare(request):
            raise Denied(426, "this address speaks WebSocket")
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            async with self._streams.listening(topic) as listener:
                await self._serve(socket, listener, token_of(request.headers), topic)
        finally:
            self._sockets.discard(socket)
        return socket

    async def _serve(
        self, socket: web.WebSocketResponse, listener: Listener, token: str, topic: Topic
    ) -> None:
        """Until the browser leaves, or may no longer listen."""
        working = [
            asyncio.create_task(_send(socket, listener)),
            asyncio.create_task(self._watch_rights(socket, token, topic)),
        ]
        try:
            async for _ in socket:
                pass
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _watch_rights(self, socket: web.WebSocketResponse, token: str, topic: Topic) -> None:
        while self._doorkeeper.has_login:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                person = await self._doorkeeper.admit(token)
                allowed = await self._doorkeeper.topic(person, topic)
            except Denied as denied:
                await socket.close(code=NO_LONGER_ALLOWED, message=denied.text.encode()[:120])
                return
            except KubeError as error:
                log.warning("rights could not be asked for: topic=%s: %s", topic, error)
                continue
            if allowed != topic:
                await socket.close(code=WSCloseCode.SERVICE_RESTART)
                return

    async def _close_all(self, application: web.Application) -> None:
        for socket in list(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    # Single answers

    async def _object(self, request: web.Request) -> web.Response:
        """An object as the cluster has it, as JSON or YAML."""
        kind = readable(request.match_info["type"])
        if kind is None:
            raise Denied(404, f'"{request.match_info["type"]}" is nothing that is shown here')
        name, namespace = (
            _name(request.match_info["name"]),
            _name(request.query.get("namespace", "")),
        )
        if kind.namespaced and not namespace:
            raise Denied(400, f"{kind} are in namespaces: say which with ?namespace=")
        person = await self._doorkeeper.admit(token_of(request.headers))
        await self._doorkeeper.check(person, [Wish("get", kind, namespace, name)])
        found = presentable(await self._client.get(kind, name, namespace))
        if _wants_yaml(request):
            return web.Response(body=documents.dump(found).encode(), headers={"Content-Type": YAML})
        return web.Response(body=codec.encode(found), headers={"Content-Type": JSON})

    async def _status(self, request: web.Request) -> web.Response:
        """Whether login is needed here, and who it is that asks."""
        person: Person | None = await self._doorkeeper.who(token_of(request.headers))
        told = {
            "enabled": self._doorkeeper.has_login,
            "authenticated": person is not None,
            "user": person.name if person is not None else "",
        }
        return _json(told)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _asset(self, request: web.Request) -> web.Response:
        found = self._assets.get(request.match_info["file"])
        if found is None:
            raise web.HTTPNotFound
        headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == found.tag:
            return web.Response(status=304, headers=headers)
        return web.Response(
            body=found.body, headers={**headers, "Content-Type": found.content_type}
        )

    async def _page(self, request: web.Request) -> web.Response:
        return self._index(200)

    def _not_found(self, request: web.Request) -> web.Response:
        if "text/html" in request.headers.get("Accept", ""):
            return self._index(404)
        return _problem(404, "there is no such page")

    def _index(self, status: int) -> web.Response:
        page = self._assets["index.html"]
        headers = {"Content-Type": page.content_type, "Cache-Control": "no-cache"}
        return web.Response(status=status, body=page.body, headers=headers)


async def _send(socket: web.WebSocketResponse, listener: Listener) -> None:
    """One snapshot after the other, each when the one before has been taken."""
    with suppress(ConnectionError):
        while True:
            data = await listener.next()
            try:
                async with asyncio.timeout(SEND_SECONDS_MAX):
                    await socket.send_frame(data, WSMsgType.TEXT)
            except TimeoutError:
                await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, drain=False)
                return


def _topic(page: str, request: web.Request) -> Topic:
    found = request.match_info
    namespace = found.get("namespace", "")
    if page in OF_ONE_NAMESPACE:
        namespace = request.query.get("namespace", "")
    return Topic(page, _name(namespace), _name(found.get("name", "")))


def _name(text: str) -> str:
    """Names go into paths and selectors: what is none must not get there."""
    if text and names.dns1123_subdomain(text):
        raise Denied(400, f'"{text}" is no name of an object')
    return text


def _wants_yaml(request: web.Request) -> bool:
    return "yaml" in (request.query.get("output") or request.headers.get("Accept") or "")


def _json(value: object, status: int = 200) -> web.Response:
    headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
    return web.Response(status=status, body=codec.encode(value), headers=headers)


def _problem(status: int, text: str) -> web.Response:
    return _json({"error": text}, status)
