"""Subresources other than status: scale, the parts of an object, and what pods offer."""

from collections.abc import Awaitable, Callable
from typing import Any

from fleetqueue.apiserver import bodies, forms, problems, scales
from fleetqueue.apiserver.call import Call, check_options
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import Deleter
from fleetqueue.apiserver.merge import managed
from fleetqueue.apiserver.patching import APPLY_PATCH, Patcher
from fleetqueue.apiserver.pod_actions import PodActions
from fleetqueue.apiserver.reads import Reader
from fleetqueue.apiserver.registry import Resource, Version
from fleetqueue.apiserver.request import Response
from fleetqueue.apiserver.shapes import BuiltinShape
from fleetqueue.apiserver.strategy import Aspect, View
from fleetqueue.apiserver.writes import Writer

Object = dict[str, Any]
Answer = Callable[[Call], Awaitable[Response]]

SCALE = Aspect(
    "scale",
    lambda obj, old: obj,
    view=View(("autoscaling", "v1", "Scale"), scales.read_scale, scales.with_replicas),
)


class Subresources:
    """Finds who answers for a subresource."""

    def __init__(
        self, core: Core, reader: Reader, writer: Writer, deleter: Deleter, patcher: Patcher
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._patcher = patcher
        self._core = core
        self.pods = PodActions(core, writer, deleter)

    async def answer(self, call: Call) -> Response:
        name, verb = call.route.subresource, call.route.verb
        described = call.version.subresources[name]
        if verb not in described.verbs:
            raise call.wrong_verb()
        if name == "scale":
            return await self._scale(call)
        aspect = call.resource.strategy.aspects.get(name)
        if aspect is not None:
            return await self._part(call, aspect)
        action = self.pods.find(call)
        if action is None:
            raise problems.wrong_method()
        return await action(call)

    async def _part(self, call: Call, aspect: Aspect) -> Response:
        """A subresource that shows the whole object and writes a part of it."""
        if call.route.verb == "get":
            return await self._reader.get(call)
        form = forms.choose(call)
        if call.route.verb == "patch":
            done = await self._patcher.patch(call, aspect)
        else:
            done = await self._writer.update(call, aspect)
        if done.stored is None:
            return self._reader.shown(call, form, done.obj)
        return await self._reader.answer(call, form, done.stored)

    # Scale

    async def _scale(self, call: Call) -> Response:
        form = forms.choose(call)
        if call.route.verb == "get":
            stored = self._core.store.get(call.resource.table, call.key)
            if stored is None:
                raise call.not_found()
            obj = await self._core.in_version(call.resource, stored, call.api_version)
            return self._reader.shown(call, form, scales.read_scale(call, obj))
        change = self._scale_change(call)
        done = await self._writer.change(
            call, SCALE, lambda old: scales.scaled(call, old, change), owned=True
        )
        return self._reader.shown(call, form, scales.read_scale(call, done.obj))

    def _scale_change(self, call: Call) -> scales.Change:
        scale_call = self._scale_call(call)
        if call.route.verb == "update":
            check_options(call, "UpdateOptions")
            body, found = bodies.read_object(call)
            bodies.check_identity(scale_call, body)
            body, unknown = scale_call.version.shape.clean(body)
            bodies.report_unknown(scale_call, found + unknown)
            return lambda old: self._tracked(call, old, body)
        kind = self._patcher.check(scale_call)
        if kind == APPLY_PATCH:
            applied = self._patcher.read_applied(scale_call)
            return lambda old: self._patcher.applied(scale_call, SCALE, applied, old)
        patch, odd = self._patcher.read_patch(scale_call, kind)
        return lambda old: self._tracked(
            call, old, self._patcher.patched(scale_call, kind, patch, odd, old)
        )

    def _scale_call(self, call: Call) -> Call:
        """The same request, as one for a Scale."""
        shape = BuiltinShape("io.k8s.api.autoscaling.v1.Scale", "Scale", "v1")
        version = Version("v1", "Scale", shape)
        resource = Resource(
            *("autoscaling", call.resource.plural, "", "Scale", "", call.resource.namespaced),
            versions={"v1": version},
            storage_version="v1",
        )
        return Call(call.request, call.route, call.user, resource, version, call.warnings)

    def _tracked(self, call: Call, old: Object, scale: Object) -> Object:
        scale["metadata"]["managedFields"] = managed.track_update(
            old,
            scale,
            scales.node(),
            manager=call.manager,
            api_version="autoscaling/v1",
            subresource="scale",
            now=self._core.now(),
        )
        return scale
