"""The client: get, list, create, update, patch, apply, delete and watch for any kind.

A wire type as `kind` gives typed objects, a `Resource` gives raw ones. Raw objects of an in-process
server are shared with it: they must not be changed.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from random import Random
from typing import Any, TypeVar, Unpack, overload

from fleetqueue.api import kinds
from fleetqueue.kube import calls, reading
from fleetqueue.kube.calls import (
    DeleteOptions,
    ListOptions,
    PatchType,
    Selection,
    WatchOptions,
    WriteOptions,
)
from fleetqueue.kube.discovery import Discovery
from fleetqueue.kube.errors import Expired, refusal, refusal_from_body
from fleetqueue.kube.reading import ObjectList, WatchEvent
from fleetqueue.kube.resources import Kind, Object, Resource, key_of, resource_of
from fleetqueue.kube.retry import RetryingTransport
from fleetqueue.kube.transport import Answer, Call, Frame, Payload, Transport

PAGE_SIZE = 500
T = TypeVar("T", bound=kinds.Resource)
log = logging.getLogger(__name__)


def log_warning(text: str) -> None:
    log.warning("the API server warns: text=%r", text)


class Client:
    """Speaks to one API server. Namespaced calls that name no namespace use the client's own."""

    def __init__(
        self,
        transport: Transport,
        *,
        random: Random,
        namespace: str = "default",
        field_manager: str = "fleetqueue",
        on_warning: Callable[[str], None] = log_warning,
    ) -> None:
        self.transport = RetryingTransport(transport, random)
        self.namespace = namespace
        self.field_manager = field_manager
        self.discovery = Discovery(self.transport)
        self._on_warning = on_warning

    async def close(self) -> None:
        await self.transport.close()

    # Reading

    @overload
    async def get(
        self, kind: type[T], name: str, namespace: str = "", *, resource_version: str = ""
    ) -> T: ...
    @overload
    async def get(
        self, kind: Resource, name: str, namespace: str = "", *, resource_version: str = ""
    ) -> Object: ...
    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, resource_version: str = ""
    ) -> Any:
        query = calls.selection_query({"resource_version": resource_version})
        answer = await self.call(calls.read(self._path(kind, namespace, name), query))
        return reading.reader(kind)(answer.payload)

    @overload
    async def list(
        self, kind: type[T], namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[T]: ...
    @overload
    async def list(
        self, kind: Resource, namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[Object]: ...
    async def list(
        self, kind: Kind, namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[Any]:
        """All objects, of all namespaces unless one is named, fetched page by page."""
        read = reading.reader(kind)
        found = await self.list_payloads(kind, namespace, **options)
        return ObjectList([read(item) for item in found.items], found.resource_version)

    async def list_payloads(
        self, kind: Kind, namespace: str = "", **options: Unpack[ListOptions]
    ) -> ObjectList[Payload]:
        """As `list`, with the items still unread. Starts over in one go when a page has expired."""
        items: list[Payload] = []
        page = await self._page(kind, namespace, options, PAGE_SIZE, "")
        items += page.items
        version = page.resource_version
        while page.token:
            try:
                page = await self._page(kind, namespace, options, PAGE_SIZE, page.token)
            except Expired:
                page = await self._page(kind, namespace, options, 0, "")
                return ObjectList(page.items, page.resource_version)
            items += page.items
        return ObjectList(items, version)

    async def list_page(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        limit: int = PAGE_SIZE,
        token: str = "",
        **options: Unpack[ListOptions],
    ) -> ObjectList[Any]:
        """One page; its `token` asks for the next one."""
        read = reading.reader(kind)
        page = await self._page(kind, namespace, options, limit, token)
        items = [read(item) for item in page.items]
        return ObjectList(items, page.resource_version, page.token, page.remaining)

    async def pages(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        limit: int = PAGE_SIZE,
        **options: Unpack[ListOptions],
    ) -> AsyncGenerator[ObjectList[Any], None]:
        """Page after page of one revision; raises Expired where the server forgets it meanwhile."""
        token = ""
        while True:
            page = await self.list_page(kind, namespace, limit=limit, token=token, **options)
            yield page
            token = page.token
            if not token:
                return

    @overload
    def watch(
        self, kind: type[T], namespace: str = "", **options: Unpack[WatchOptions]
    ) -> AsyncGenerator[WatchEvent[T], None]: ...
    @overload
    def watch(
        self, kind: Resource, namespace: str = "", **options: Unpack[WatchOptions]
    ) -> AsyncGenerator[WatchEvent[Object], None]: ...
    async def watch(
        self, kind: Kind, namespace: str = "", **options: Unpack[WatchOptions]
    ) -> AsyncGenerator[WatchEvent[Any], None]:
        """Changes until the server ends the watch; `watch.Watcher` is the one that never ends."""
        read = reading.reader(kind)
        async for frames in self.watch_frames(kind, namespace, **options):
            for frame in frames:
                is_bookmark = frame.type == "BOOKMARK"
                found = frame.payload.decoded() if is_bookmark else read(frame.payload)
                yield WatchEvent(frame.type, found)

    async def watch_frames(
        self, kind: Kind, namespace: str = "", **options: Unpack[WatchOptions]
    ) -> AsyncGenerator[Sequence[Frame], None]:
        """As `watch`, in the batches that came, unread; an ERROR event is raised."""
        path = (await self.discovery.found(resource_of(kind))).path(namespace)
        stream = await self.transport.stream(calls.read(path, calls.watch_query(options)))
        try:
            if stream.status >= 400:
                raise refusal_from_body(stream.status, stream.body, stream.headers)
            async for frames in stream.watch_frames():
                good = [frame for frame in frames if frame.type != "ERROR"]
                yield good
                if len(good) < len(frames):
                    bad = next(frame for frame in frames if frame.type == "ERROR")
                    raise refusal(bad.payload.decoded())
        finally:
            await stream.aclose()

    # Writing

    @overload
    async def create(
        self, obj: T, *, resource: Resource | None = None, **options: Unpack[WriteOptions]
    ) -> T: ...
    @overload
    async def create(
        self, obj: Object, *, resource: Resource | None = None, **options: Unpack[WriteOptions]
    ) -> Object: ...
    async def create(
        self, obj: Any, *, resource: Resource | None = None, **options: Unpack[WriteOptions]
    ) -> Any:
        """`resource` spares a raw object the look-up of its kind."""
        kind = await self._kind(obj, resource)
        path = self._path(kind, key_of(obj).namespace)
        query = calls.write_query(options, self.field_manager)
        return await self._written(kind, calls.send("POST", path, query, obj))

    @overload
    async def update(
        self,
        obj: T,
        *,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> T: ...
    @overload
    async def update(
        self,
        obj: Object,
        *,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> Object: ...
    async def update(
        self,
        obj: Any,
        *,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> Any:
        """Replaces the whole object: only for objects that were read raw, or are wholly ours."""
        kind = await self._kind(obj, resource)
        key = key_of(obj)
        path = self._path(kind, key.namespace, key.name, subresource)
        query = calls.write_query(options, self.field_manager)
        return await self._written(kind, calls.send("PUT", path, query, obj))

    @overload
    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T: ...
    @overload
    async def patch(
        self,
        kind: Resource,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Object: ...
    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: PatchType = PatchType.MERGE,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> Any:
        path = self._path(kind, namespace, name, subresource)
        query = calls.write_query(options, self.field_manager)
        return await self._written(kind, calls.patch(path, query, patch, type))

    @overload
    async def apply(
        self,
        obj: T,
        *,
        force: bool = False,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> T: ...
    @overload
    async def apply(
        self,
        obj: Object,
        *,
        force: bool = False,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> Object: ...
    async def apply(
        self,
        obj: Any,
        *,
        force: bool = False,
        subresource: str = "",
        resource: Resource | None = None,
        **options: Unpack[WriteOptions],
    ) -> Any:
        """Server-side apply of the fields given; `force` takes them from other managers."""
        kind = await self._kind(obj, resource)
        key = key_of(obj)
        path = self._path(kind, key.namespace, key.name, subresource)
        query = calls.write_query(options, self.field_manager)
        if force:
            query.append(("force", "true"))
        return await self._written(kind, calls.patch(path, query, obj, PatchType.APPLY))

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", **options: Unpack[DeleteOptions]
    ) -> Object:
        """A Status where the object is gone, the object where it still waits for something."""
        path = self._path(kind, namespace, name)
        return await self._raw(calls.send("DELETE", path, [], calls.delete_body(options)))

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        selection: Selection | None = None,
        **options: Unpack[DeleteOptions],
    ) -> Object:
        path = self._path(kind, namespace)
        query = calls.selection_query(selection or {})
        return await self._raw(calls.send("DELETE", path, query, calls.delete_body(options)))

    # Subresources

    async def get_subresource(
        self, kind: Kind, name: str, subresource: str, namespace: str = ""
    ) -> Object:
        return await self._raw(calls.read(self._path(kind, namespace, name, subresource), []))

    async def create_subresource(
        self,
        kind: Kind,
        name: str,
        subresource: str,
        body: Object,
        namespace: str = "",
        **options: Unpack[WriteOptions],
    ) -> Object:
        """An eviction, a binding, a token request."""
        path = self._path(kind, namespace, name, subresource)
        query = calls.write_query(options, self.field_manager)
        return await self._raw(calls.send("POST", path, query, body))

    async def stream(self, call: Call) -> AsyncGenerator[bytes, None]:
        """The bytes of an answer as they come, such as a log that is followed."""
        stream = await self.transport.stream(call)
        try:
            if stream.status >= 400:
                raise refusal_from_body(stream.status, stream.body, stream.headers)
            assert stream.chunks is not None
            async for chunk in stream.chunks:
                yield chunk
        finally:
            await stream.aclose()

    async def call(self, call: Call) -> Answer:
        """Any call; refusals are raised, warnings are passed on."""
        answer = await self.transport.request(call)
        for text in answer.warnings:
            self._on_warning(text)
        if answer.status >= 400:
            raise refusal_from_body(answer.status, answer.payload.data, answer.headers)
        return answer

    def path(self, kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where an object is; the client's namespace counts where none is named."""
        return self._path(kind, namespace, name, subresource)

    def _path(self, kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
        known = self.discovery.known(resource_of(kind))
        return known.path(namespace or self.namespace, name, subresource)

    async def _kind(self, obj: Any, resource: Resource | None) -> Kind:
        if not isinstance(obj, dict):
            return type(obj)
        return resource or await self.discovery.resource_of(obj)

    async def _written(self, kind: Kind, call: Call) -> Any:
        return reading.reader(kind)((await self.call(call)).payload)

    async def _raw(self, call: Call) -> Object:
        found: Object = (await self.call(call)).payload.decoded()
        return found

    async def _page(
        self, kind: Kind, namespace: str, options: ListOptions, limit: int, token: str
    ) -> ObjectList[Payload]:
        path = (await self.discovery.found(resource_of(kind))).path(namespace)
        answer = await self.call(calls.read(path, calls.list_query(options, limit, token)))
        return reading.list_of(answer.payload)
