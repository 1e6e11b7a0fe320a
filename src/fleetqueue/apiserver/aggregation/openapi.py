"""OpenAPI of API servers beside this one: asked for when somebody wants ours, and then kept."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation import documents
from fleetqueue.apiserver.aggregation.proxying import Proxy
from fleetqueue.apiserver.aggregation.services import Known, RemoteService
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.reaching import CallFailed
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base import codec

logger = logging.getLogger(__name__)

Object = dict[str, Any]

KEPT_SECONDS = 60.0
V2, V3 = "/openapi/v2", "/openapi/v3"


@dataclass(slots=True)
class _Kept:
    """What one server said."""

    service: RemoteService
    asked_at: float = float("-inf")
    etags: dict[str, str] = field(default_factory=dict)
    found: dict[str, Object] = field(default_factory=dict)
    """By the path it was asked for."""


class RemoteOpenApi:
    """The documents of all that are available."""

    def __init__(self, core: Core, proxy: Proxy) -> None:
        self._core = core
        self._proxy = proxy
        self._kept: dict[str, _Kept] = {}

    async def refresh(self) -> None:
        """Ask those again that were not asked for a while."""
        if not self._core.remotes:
            self._kept.clear()
            return
        now = self._core.clock.monotonic()
        due = []
        for known in self._core.remotes:
            service = known.service
            kept = self._kept.get(service.name)
            if kept is None or kept.service != service:
                kept = self._kept[service.name] = _Kept(service)
            if known.is_available and kept.asked_at + KEPT_SECONDS <= now:
                kept.asked_at = now
                due += [self._ask(kept, V2), self._ask(kept, V3)]
        if any(await asyncio.gather(*due)):
            self._core.remotes.changed()

    def complete(self, document: Object, check: Callable[[Object], object]) -> Object:
        """OpenAPI v2 of the server, with theirs in it; `check` raises over what cannot be told."""
        for known in self._core.remotes:
            found = self._found(known).get(V2)
            if found is None:
                continue
            prefix = f"{known.service.path}/"
            try:
                check(documents.merge({"paths": {}, "definitions": {}}, found, prefix))
                document = documents.merge(document, found, prefix)
            except Exception as error:  # others may send anything, and ours is told all the same
                about = {"api_service": known.service.name, "error": repr(error)}
                logger.warning("OpenAPI of another server makes no sense", extra=about)
        return document

    def index(self) -> dict[str, Object]:
        """Their part of the index of OpenAPI v3."""
        found = {}
        for known in self._core.remotes:
            name = known.service.path.removeprefix("/")
            paths = self._found(known).get(V3, {}).get("paths") or {}
            if isinstance(paths, dict) and isinstance(paths.get(name), dict):
                found[name] = paths[name]
        return found

    async def answer(self, request: Request, path: str, user: User) -> Response | None:
        """A document of OpenAPI v3 from whoever has it; None: not one of theirs."""
        name = path.removeprefix(f"{V3}/")
        for known in self._core.remotes:
            if known.service.path == f"/{name}" and name in self.index():
                return await self._proxy.pass_on(known, request, user)
        return None

    def _found(self, known: Known) -> dict[str, Object]:
        kept = self._kept.get(known.service.name)
        return kept.found if kept is not None and kept.service == known.service else {}

    async def _ask(self, kept: _Kept, path: str) -> bool:
        """Whether it says something new; one that says nothing keeps what it said."""
        try:
            answer = await self._proxy.ask(kept.service, path, etag=kept.etags.get(path, ""))
            document = codec.decode(answer.body or b"") if answer.status == 200 else None
        except (CallFailed, *documents.SENSELESS):
            return False
        if not isinstance(document, dict) or kept.found.get(path) == document:
            return False
        kept.found[path] = document
        named = {name.lower(): value for name, value in answer.headers}
        kept.etags[path] = named.get("etag", "")
        return True
