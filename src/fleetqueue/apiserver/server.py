"""The one handler of the server: a request in, an answer out; it knows no HTTP.

The order of the chain: where to, who, may they, then the verb. Every refusal becomes a Status.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fleetqueue.apiserver import bodies, forms, homes, problems
from fleetqueue.apiserver.access.gate import Gate
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation.proxying import Proxy
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.deletes import Deleted, Deleter
from fleetqueue.apiserver.log import StorageError
from fleetqueue.apiserver.pages import Pages
from fleetqueue.apiserver.patching import Patcher
from fleetqueue.apiserver.reads import Reader, written
from fleetqueue.apiserver.registry import Resource, Version
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.routes import Route, find_route
from fleetqueue.apiserver.strategy import CUSTOM_STATUS, STATUS, WHOLE, Aspect
from fleetqueue.apiserver.subresources import Subresources
from fleetqueue.apiserver.virtual import VirtualResources
from fleetqueue.apiserver.watches import WatchOpener
from fleetqueue.apiserver.writes import Writer, Written

logger = logging.getLogger(__name__)

Object = dict[str, Any]
Verb = Callable[[Call], Awaitable[Response]]


class Server:
    """Answers requests for the resources of its core."""

    def __init__(self, core: Core, gate: Gate, pages: Pages, proxy: Proxy) -> None:
        self.core = core
        self._gate = gate
        self._pages = pages
        self._proxy = proxy
        self.reader = Reader(core)
        self.writer = Writer(core, gate)
        self.deleter = Deleter(core)
        self._patcher = Patcher(core, self.writer)
        self._watches = WatchOpener(core)
        self._subresources = Subresources(
            core, self.reader, self.writer, self.deleter, self._patcher
        )
        self._virtual = VirtualResources(core, gate, self._subresources.pods)
        self._verbs: dict[str, Verb] = {
            "get": self.reader.get,
            "list": self.reader.list_objects,
            "watch": self._watches.watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def handle(self, request: Request) -> Response:
        try:
            return await self._handle(request)
        except problems.ApiError as error:
            return failure(error, forms.media_type(request.headers.get("accept", "")))
        except StorageError as error:
            logger.error("storage failed", extra={"error": str(error)})
            return failure(problems.internal(str(error)))
        except RecursionError:
            return failure(problems.bad_request("the object is nested too deeply"))
        except Exception as error:  # a bug of ours must not end the connection or the server
            logger.exception("request failed", extra={"path": request.path})
            return failure(problems.internal(f"{type(error).__name__}: {error}"))

    async def _handle(self, request: Request) -> Response:
        route = find_route(request)
        user = self._gate.admit(request, route)
        if not route.is_resource:
            return await self._pages.answer(request, route, user)
        if route.group in self.core.extensions:
            return self.core.extensions.answer(request, route)
        remote = self.core.remotes.get(route.group, route.version)
        if remote is not None:
            return await self._proxy.pass_on(remote, request, user)
        call = self._call(request, route, user)
        if call.version.warning:
            call.warn(call.version.warning)
        try:
            response = await self._dispatch(call)
        except problems.ApiError as error:
            if error.code in (404, 409) and route.name and request.method != "GET":
                # A write under way may be the reason; the client will look at what is durable.
                await self.core.store.settled(call.resource.table, call.key)
            response = failure(error, forms.media_type(request.headers.get("accept", "")))
        response.warnings = call.warnings + response.warnings
        return response

    def _call(self, request: Request, route: Route, user: User) -> Call:
        resource = self.core.registry.find(route.group, route.version, route.resource)
        if resource is None:
            known = self.core.registry.has_group(route.group, is_custom=False)
            raise problems.unknown_path() if known else problems.unknown_page()
        version = resource.versions[route.version]
        _check_scope(resource, version, route)
        return Call(request, route, user, resource, version)

    async def _dispatch(self, call: Call) -> Response:
        route = call.route
        if call.request.method == "HEAD" and route.subresource != "proxy":
            raise problems.wrong_method()
        if not call.version.verbs or self._virtual.serves(call):
            return await self._virtual.answer(call)
        if route.subresource and route.subresource != "status":
            return await self._subresources.answer(call)
        allowed = call.version.verbs if not route.subresource else ("get", "update", "patch")
        if route.verb not in allowed:
            raise call.wrong_verb()
        if route.verb in ("create", "patch") and call.resource.is_going:
            self._check_is_staying(call)
        elsewhere = self.core.elsewhere
        if elsewhere is not None and elsewhere.shows(call):
            return await elsewhere.read(call, partial(self._verbs[route.verb], call))
        return await self._verbs[route.verb](call)

    def _check_is_staying(self, call: Call) -> None:
        if call.route.verb == "patch" and self.core.store.get(call.resource.table, call.key):
            return
        name = call.route.name
        if call.route.verb == "create":
            obj, _ = bodies.read_object(call)
            metadata = obj.get("metadata")
            name = metadata.get("name") or "" if isinstance(metadata, dict) else ""
        raise homes.going(call, name)

    # Verbs

    async def _create(self, call: Call) -> Response:
        form = forms.choose(call)
        return await self._written(call, form, await self.writer.create(call))

    async def _update(self, call: Call) -> Response:
        form = forms.choose(call)
        return await self._written(call, form, await self.writer.update(call, aspect_of(call)))

    async def _patch(self, call: Call) -> Response:
        form = forms.choose(call)
        return await self._written(call, form, await self._patcher.patch(call, aspect_of(call)))

    async def _written(self, call: Call, form: forms.Form, done: Written) -> Response:
        status = 201 if done.created else 200
        if done.stored is None:
            return self.reader.shown(call, form, done.obj, status)
        return await self.reader.answer(call, form, done.stored, status)

    async def _delete(self, call: Call) -> Response:
        form = forms.choose(call)
        deleted = await self.deleter.delete(call)
        if call.resource.strategy.delete_warning and not deleted.options.names_policy:
            call.warn(call.resource.strategy.delete_warning)
        return await self._deleted(call, form, deleted)

    async def _deleted(self, call: Call, form: forms.Form, deleted: Deleted) -> Response:
        is_waited_for = deleted.options.orphan_dependents is False
        status = 202 if not deleted.is_gone and is_waited_for else 200
        if deleted.is_gone and not call.resource.strategy.returns_deleted:
            return written(form, success(call, deleted.obj))
        shown = await self.core.convert(call.resource, [deleted.obj], call.api_version)
        return self.reader.shown(call, form, shown[0], status)

    async def _delete_collection(self, call: Call) -> Response:
        from fleetqueue.apiserver.deletes import read_options

        form = forms.choose(call)
        options = read_options(call)
        if call.resource.strategy.delete_warning and not options.names_policy:
            call.warn(call.resource.strategy.delete_warning)
        page = self.reader.page(call)
        for stored in page.items:
            namespace, _, name = stored.key.rpartition("/")
            route = call.route._replace(verb="delete", name=name, namespace=namespace)
            one = Call(call.request, route, call.user, call.resource, call.version)
            try:
                await self.deleter.delete(one, options, is_one_of_many=True)
            except problems.ApiError as error:
                if error.code != 404:
                    raise
        # The answer is the list as it was read, before anything was deleted.
        found = [self.core.store.decoded(stored) for stored in page.items]
        objects = await self.core.convert(call.resource, found, call.api_version)
        return self.reader.listed(call, form, objects, page)


def aspect_of(call: Call) -> Aspect:
    if call.route.subresource != "status":
        return WHOLE
    return CUSTOM_STATUS if call.resource.is_custom else STATUS


def success(call: Call, obj: Object) -> Object:
    """What a deletion answers that left nothing."""
    details = {"name": obj["metadata"]["name"], "kind": call.resource.plural}
    if call.resource.group:
        details["group"] = call.resource.group
    details["uid"] = obj["metadata"]["uid"]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def failure(error: problems.ApiError, media_type: str = "application/json") -> Response:
    headers = dict(error.headers)
    plain = headers.pop("Content-Type", "")
    if plain:
        body = error.message.encode()
        return Response(error.code, body=body, headers=headers, content_type=plain)
    response = written(forms.Form(media_type), error.status(), error.code)
    response.headers = headers
    return response


def _names_object(route: Route) -> bool:
    """Whether the path itself names an object; a field selector may have named one for a list."""
    return (
        bool(route.name)
        and route.verb not in ("list", "watch", "deletecollection")
        and (
            route.path.rstrip("/").rsplit("/", 1)[-1] != route.resource
            or route.path.count(f"/{route.resource}") > 1
        )
    )


def _check_scope(resource: Resource, version: Version, route: Route) -> None:
    """A path that names or creates a namespaced object must say its namespace."""
    if not resource.namespaced and route.is_nested:
        raise problems.unknown_page() if resource.is_custom else problems.unknown_path()
    is_named = _names_object(route)
    if resource.namespaced and not route.namespace and is_named:
        raise problems.unknown_path()
    needs_name = route.verb in ("get", "update", "patch", "delete")
    across = resource.namespaced and not route.namespace and route.verb not in ("list", "watch")
    if (needs_name != is_named and not route.subresource and route.verb != "watch") or across:
        raise problems.wrong_method()
    if route.subresource and route.subresource not in version.subresources:
        if resource.is_custom:
            raise problems.not_found(resource.group, resource.plural, route.name)
        raise problems.unknown_path()
