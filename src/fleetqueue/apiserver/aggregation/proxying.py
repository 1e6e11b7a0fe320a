"""Passes requests on to the API server that an APIService names, for the user who asked."""

import asyncio
from urllib.parse import quote, urlencode

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import MASTERS, User
from fleetqueue.apiserver.aggregation import headers
from fleetqueue.apiserver.aggregation.calling import Caller, Incoming, Outgoing
from fleetqueue.apiserver.aggregation.services import Known, RemoteService
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.reaching import CallFailed, go_words, service_address
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.routes import find_route
from fleetqueue.base import codec

DISCOVERY_SECONDS = 5.0
REQUEST_SECONDS = 60.0
"""As kube-apiserver has it, for all that is not meant to last."""
LASTING = frozenset(("attach", "exec", "log", "portforward", "proxy"))
"""Subresources that are."""
AGGREGATOR = User("system:kube-aggregator", groups=(MASTERS,))
"""As whom this server asks on its own account."""
_SAFE = "/:@!$&'()*+,;=~"


class Proxy:
    """Asks the servers beside this one, for others or for itself."""

    def __init__(self, core: Core, caller: Caller) -> None:
        self._core = core
        self.caller = caller

    async def pass_on(self, known: Known, request: Request, user: User) -> Response:
        if request.channel is not None:
            raise _plain(501, "connections that leave HTTP are not passed on")
        if not known.is_available:
            raise _unavailable("service unavailable")
        service = known.service
        try:
            address = self.address(service)
        except CallFailed:
            raise _unavailable("service unavailable") from None
        body = request.body or (b"" if request.object is None else codec.encode(request.object))
        outgoing = Outgoing(
            request.method,
            f"https://{address}{_target(request)}",
            headers.sent(request.headers, user),
            body,
            service.server_name,
            service.bundle,
            service.is_unverified,
            _seconds(request, service),
        )
        try:
            incoming = await self.caller.call(outgoing)
        except CallFailed as error:
            raise _unavailable(f"error trying to reach service: {error}") from error
        return _response(incoming)

    async def ask(
        self, service: RemoteService, path: str, accept: str = "application/json", etag: str = ""
    ) -> Incoming:
        """What the server says of itself; CallFailed where it says nothing."""
        pairs = [("Accept", accept), *headers.told(AGGREGATOR)]
        if etag:
            pairs.append(("If-None-Match", etag))
        return await self._whole(
            Outgoing(
                "GET",
                f"https://{self.address(service)}{path}",
                pairs,
                server_name=service.server_name,
                bundle=service.bundle,
                is_unverified=service.is_unverified,
                seconds=DISCOVERY_SECONDS,
            )
        )

    async def probe(self, service: RemoteService, address: str) -> Incoming:
        """Whether it answers at all. As upstream, anybody's certificate will do for that."""
        url = f"https://{address}{service.path}"
        pairs = [("Accept", "application/json"), *headers.told(AGGREGATOR)]
        return await self._whole(
            Outgoing("GET", url, pairs, is_unverified=True, seconds=DISCOVERY_SECONDS)
        )

    async def _whole(self, outgoing: Outgoing) -> Incoming:
        try:
            async with asyncio.timeout(DISCOVERY_SECONDS):
                found = await self.caller.call(outgoing)
                return Incoming(found.status, found.headers, await found.whole())
        except TimeoutError as error:
            raise CallFailed(go_words(error)) from error

    def address(self, service: RemoteService) -> str:
        return service_address(self._core, service.namespace, service.service, service.port)


def _seconds(request: Request, service: RemoteService) -> float | None:
    if request.path.rstrip("/") == service.path:
        return DISCOVERY_SECONDS
    route = find_route(request)
    return None if route.verb == "watch" or route.subresource in LASTING else REQUEST_SECONDS


def _target(request: Request) -> str:
    path = quote(request.path, safe=_SAFE, errors="surrogateescape")
    query = urlencode(sorted(request.query.items()), doseq=True, errors="surrogateescape")
    return f"{path}?{query}" if query else path


def _response(incoming: Incoming) -> Response:
    found = headers.answered(incoming.headers)
    return Response(
        incoming.status,
        body=incoming.body,
        chunks=incoming.chunks,
        headers=found.headers,
        content_type=found.content_type,
        warnings=found.warnings,
    )


def _unavailable(why: str) -> problems.ApiError:
    return _plain(503, why, "ServiceUnavailable")


def _plain(code: int, why: str, reason: str = "") -> problems.ApiError:
    """Said in plain text, as kube-aggregator does."""
    return problems.ApiError(code, reason, f"{why}\n", headers=dict(problems.PLAIN_TEXT))
