"""Writes that the server itself makes: they take the same path as a client's, as a system user."""

from collections.abc import Callable
from typing import Any

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.deletes import Deleted, Deleter, Options
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.registry import Resource
from fleetqueue.apiserver.request import Request
from fleetqueue.apiserver.routes import Route
from fleetqueue.apiserver.strategy import STATUS, WHOLE, Aspect
from fleetqueue.apiserver.writes import Writer

Object = dict[str, Any]

SYSTEM = User("system:apiserver", groups=("system:masters", "system:authenticated"))


class Internal:
    """The server as its own client."""

    def __init__(self, core: Core, writer: Writer, deleter: Deleter) -> None:
        self._core = core
        self._writer = writer
        self._deleter = deleter

    async def create(self, obj: Object, manager: str = "fleetqueue") -> Object | None:
        """Create an object; None where one of that name exists already."""
        resource = self._resource(obj)
        metadata = obj["metadata"]
        key = resource.key(metadata.get("namespace", ""), metadata.get("name", ""))
        if self._core.store.latest(resource.table, key) is not None:
            return None
        call = self._call(resource, "create", metadata.get("namespace", ""), "", manager)
        fresh = private(obj)
        fresh, _ = call.version.shape.clean(fresh)
        try:
            return (await self._writer.create_object(call, fresh)).obj
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return None

    async def edit(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        change: Callable[[Object], None],
        *,
        aspect: Aspect = WHOLE,
        manager: str = "fleetqueue",
    ) -> Object | None:
        """Change an object in place; None where it does not exist. A change of nothing is not
        written.
        """
        call = self._call(resource, "update", namespace, name, manager)

        def make(old: Object) -> Object:
            obj = private(old)
            change(obj)
            return obj

        try:
            return (await self._writer.change(call, aspect, make)).obj
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    async def edit_status(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Object], None]
    ) -> Object | None:
        return await self.edit(resource, namespace, name, change, aspect=STATUS)

    async def delete(
        self, resource: Resource, namespace: str, name: str, options: Options
    ) -> Deleted | None:
        call = self._call(resource, "delete", namespace, name, "fleetqueue")
        try:
            return await self._deleter.delete(call, options)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            return None

    def _resource(self, obj: Object) -> Resource:
        group, _, _ = obj["apiVersion"].rpartition("/")
        found = self._core.registry.by_kind(group, obj["kind"])
        assert found is not None, f"{obj['apiVersion']} {obj['kind']} is served"
        return found

    def _call(self, resource: Resource, verb: str, namespace: str, name: str, manager: str) -> Call:
        route = Route(
            verb, "", resource.group, resource.storage_version, resource.plural, "", namespace, name
        )
        request = Request(verb, "", headers={"user-agent": manager}, user=SYSTEM)
        return Call(request, route, SYSTEM, resource, resource.storage)
