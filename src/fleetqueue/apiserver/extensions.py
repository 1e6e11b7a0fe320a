"""API groups that somebody else in this process answers: how they are found, described and asked.

They pass the same gate as all others; nothing of them is stored.
"""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.api import served_documents
from fleetqueue.api.served_groups import Asked, Refused, ServedGroup
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.registry import Registry
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.routes import Route

Object = dict[str, Any]


class Extensions:
    """The groups of one server, by name."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._groups: dict[str, ServedGroup] = {}
        self.on_add: list[Callable[[], None]] = []

    def add(self, group: ServedGroup) -> None:
        """Serves it from now on, in place of one of the same name."""
        self._groups[group.name] = group
        # What was derived from the kinds is worked out again.
        self._registry.generation += 1
        for listener in self.on_add:
            listener()

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def __iter__(self) -> Iterator[ServedGroup]:
        return iter(sorted(self._groups.values(), key=lambda each: each.name))

    def get(self, name: str) -> ServedGroup | None:
        return self._groups.get(name)

    def answer(self, request: Request, route: Route) -> Response:
        asked = Asked(
            route.version,
            route.resource,
            route.subresource,
            route.name,
            route.namespace,
            request.query,
        )
        try:
            return Response(object=self._groups[route.group].ask(request.method, asked))
        except Refused as refused:
            raise problems.ApiError(
                refused.code, refused.reason, refused.message, refused.details
            ) from None

    # What is told of them

    def documents(self) -> dict[str, Object]:
        """OpenAPI v3, by name."""
        return {
            name: document
            for group in self
            for name, document in served_documents.documents(group).items()
        }

    def complete(self, document: Object) -> Object:
        """OpenAPI v2 of the server, with theirs in it."""
        paths, definitions = dict(document["paths"]), dict(document["definitions"])
        for group in self:
            paths |= served_documents.v2_paths(group)
            definitions |= served_documents.v2_schemas(group)
        return {**document, "paths": dict(sorted(paths.items())), "definitions": definitions}
