"""Notes who owns which field of what is written, in whatever version others have written it."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from fleetqueue.apiserver.awaited import Conversions
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.merge import field_sets, managed
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.strategy import Aspect

Object = dict[str, Any]
T = TypeVar("T")
STATUS_FIELDS = field_sets.of(("status",))


class FieldOwners:
    """Keeps managedFields for one server."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def converter(self, call: Call) -> managed.Convert | None:
        """Brings an object to the versions in which others own fields of it."""
        resource = call.resource
        # A custom resource may have had more versions once: what was owned in those is let go.
        is_alone = len(resource.versions) == 1 and not resource.is_custom
        if is_alone:
            return None

        def convert(obj: Object, api_version: str) -> tuple[Object, Node] | None:
            group, _, name = api_version.rpartition("/")
            version = resource.versions.get(name)
            if version is None or group != resource.group:
                return None
            whole = obj if "metadata" in obj else {**obj, "metadata": {}}
            if call.conversions is not None:
                return call.conversions.find(whole, api_version), version.shape.node
            return self._core.convert_now(resource, whole, api_version), version.shape.node

        return convert

    async def complete(self, call: Call, compute: Callable[[], T]) -> T:
        """What `compute` returns; it may ask for conversions that a webhook makes."""
        resource = call.resource
        if resource.convert_later is None:
            return compute()

        async def convert(obj: Object, api_version: str) -> Object:
            return (await self._core.convert(resource, [obj], api_version))[0]

        call.conversions = call.conversions or Conversions()
        return await call.conversions.complete(compute, convert)

    async def track(self, call: Call, old: Object | None, obj: Object, aspect: Aspect) -> None:
        """Note in managedFields which fields this write changed."""
        track = partial(
            managed.track_update,
            old,
            obj,
            call.version.shape.node,
            manager=call.manager,
            api_version=call.api_version,
            subresource=aspect.name,
            now=self._core.now(),
            reset=reset_fields(call, aspect),
            convert=self.converter(call),
        )
        is_direct = call.resource.convert_later is None
        entries = track() if is_direct else await self.complete(call, track)
        if entries:
            obj["metadata"]["managedFields"] = entries
        else:
            obj["metadata"].pop("managedFields", None)


def reset_fields(call: Call, aspect: Aspect) -> field_sets.FieldSet:
    """What a write to this part cannot change, and so nobody comes to own by it."""
    if aspect.name == "status" and not call.resource.is_custom:
        return dict(call.resource.strategy.status_reset)
    if aspect.name:
        return aspect.reset
    if call.resource.strategy.reset:
        return dict(call.resource.strategy.reset)
    if call.resource.strategy.has_status and "status" in call.version.subresources:
        return STATUS_FIELDS
    return {}
