"""Answers the proxy of pods and services: hands an HTTP request on to a port of a pod."""

import os
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from fleetqueue.api.endpoint_slices import port_numbers
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.proxy_names import Target, split_target
from fleetqueue.apiserver.request import Response
from fleetqueue.embedded.forwarding import used_port
from fleetqueue.embedded.places import Places
from fleetqueue.kube.resources import Object

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

READ_BYTES_MAX = 64 * 1024
_OF_ONE_CONNECTION = "connection content-length host keep-alive proxy-connection te trailer"
NOT_HANDED_ON = frozenset(
    (*_OF_ONE_CONNECTION.split(" "), "transfer-encoding", "upgrade", "authorization")
)
"""Headers of one connection alone, and what the server itself was told."""
_NOT_ASKED = ("impersonate-", "sec-websocket-")
"""The same of a request, by how they begin: a WebSocket's list of protocols may hold a token."""


async def answer(call: Call, obj: Object, places: Places) -> Response:
    path = call.request.path
    if not call.route.rest and not path.endswith("/") and call.request.method in ("GET", "HEAD"):
        return Response(301, body=b"", headers={"Location": f"{path}/"}, content_type="")
    target = split_target(call)
    if call.resource.plural == "services":
        address, port = _service_place(obj, target, places)
    else:
        address, port = _pod_place(obj, target, places)
    return await _hand_on(call, f"{target.scheme or 'http'}://{address}:{port}{_rest(call)}")


def _rest(call: Call) -> str:
    rest = "/" + quote(call.route.rest, safe="/~:@!$&'()*+,;=")
    if call.route.rest and call.request.path.endswith("/"):
        rest += "/"
    query = urlencode(call.request.query, doseq=True)
    return f"{rest}?{query}" if query else rest


def _pod_place(pod: Object, target: Target, places: Places) -> tuple[str, int]:
    worker = places.find(pod)
    sandbox = getattr(worker, "sandbox", None)
    if sandbox is None:
        raise problems.bad_request("address not allowed")
    port = target.port
    if not port:
        declared = [p for c in pod["spec"]["containers"] for p in c.get("ports") or ()]
        port = str(declared[0]["containerPort"]) if declared else "80"
    if not port.isdecimal():
        raise problems.service_unavailable(f'error trying to reach service: unknown port "{port}"')
    return sandbox.address, used_port(pod, sandbox, int(port))


def _service_place(service: Object, target: Target, places: Places) -> tuple[str, int]:
    metadata, name = service["metadata"], target.port
    if name.isdecimal():
        known = [p for p in service["spec"].get("ports") or () if p["port"] == int(name)]
        if not known:
            raise problems.service_unavailable(
                f'no service port {name} found for service "{metadata["name"]}"'
            )
        name = known[0].get("name") or ""
    for part in places.slices(service):
        numbers = port_numbers(part, name)
        ready = [e for e in part.get("endpoints") or () if _is_ready(e)]
        if numbers and ready:
            return str(ready[0]["addresses"][0]), int(numbers[0])
    shown = metadata["name"] if not target.port else f"{metadata['name']}:{target.port}"
    raise problems.service_unavailable(f'no endpoints available for service "{shown}"')


def _is_ready(endpoint: Object) -> bool:
    return (endpoint.get("conditions") or {}).get("ready") is not False


async def _hand_on(call: Call, url: str) -> Response:
    # Most servers never see such a request, and this library takes long to load.
    import aiohttp
    from yarl import URL

    request = call.request
    session = aiohttp.ClientSession(
        auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None, connect=30)
    )
    try:
        given = await session.request(
            request.method,
            URL(url, encoded=True),
            headers=handed_on(request.headers),
            data=request.body or None,
            allow_redirects=False,
            ssl=False,
        )
    except (TimeoutError, aiohttp.ClientError) as error:
        await session.close()
        why = f"error trying to reach service: {_words(error)}"
        raise problems.service_unavailable(why) from error
    except BaseException:
        await session.close()
        raise
    return _taken(given, session)


def handed_on(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The door joins the values of a repeated header by line breaks."""
    return [
        (name, value)
        for name, joined in headers.items()
        if name not in NOT_HANDED_ON and not name.startswith(_NOT_ASKED)
        for value in joined.split("\n")
    ]


def _words(error: Exception) -> str:
    """As those who know Go read them."""
    reason = getattr(error, "os_error", None)
    if reason is None:
        return str(error) or type(error).__name__
    where = f"{getattr(error, 'host', '')}:{getattr(error, 'port', '')}"
    words = os.strerror(reason.errno).lower() if reason.errno else str(reason)
    return f"dial tcp {where}: connect: {words}"


def _taken(given: "ClientResponse", session: "ClientSession") -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        try:
            async for chunk in given.content.iter_chunked(READ_BYTES_MAX):
                yield chunk
        finally:
            given.close()
            await session.close()

    headers = {n: v for n, v in given.headers.items() if n.lower() not in NOT_HANDED_ON}
    content_type = headers.pop("Content-Type", "")
    return Response(given.status, chunks=chunks(), headers=headers, content_type=content_type)
