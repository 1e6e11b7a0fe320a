"""OpenAPI documents of everything the server serves, v2 whole and v3 by group and version.

They are built when somebody asks and kept until a CRD changes: `kubectl explain`, client-side
validation and server-side dry runs of kubectl read them.
"""

import hashlib
from typing import Any

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation.openapi import RemoteOpenApi
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.openapi import protobuf, v2, v3
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base import codec

Object = dict[str, Any]

PROTOBUF = "proto-openapi"
V3 = "/openapi/v3/"


class OpenApi:
    """Answers below /openapi."""

    def __init__(self, core: Core, remote: RemoteOpenApi) -> None:
        self._core = core
        self._remote = remote
        self._generation = -1
        self._documents: dict[str, bytes] = {}

    async def answer(self, request: Request, path: str, user: User) -> Response:
        await self._remote.refresh()
        found = await self._remote.answer(request, path, user)
        if found is not None:
            return found
        self._forget_changed()
        if path == "/openapi/v3":
            return Response(object=self._index())
        body = self._document(path)
        if body is None:
            raise problems.unknown_path()
        accept = request.headers.get("accept", "")
        media = "application/json"
        if PROTOBUF in accept and "json" not in accept and "*/*" not in accept:
            if path != "/openapi/v2":
                raise problems.not_acceptable("OpenAPI v3 is served as application/json")
            body, media = self._document_as_protobuf(path), protobuf.CONTENT_TYPE
        etag = f'"{_digest(body)}"'
        if request.headers.get("if-none-match") == etag:
            return Response(304, body=b"", headers={"ETag": etag})
        headers = {"ETag": etag, "Vary": "Accept"}
        if request.first("hash"):
            headers["Cache-Control"] = "public, immutable"
        return Response(body=body, content_type=media, headers=headers)

    def _forget_changed(self) -> None:
        if self._generation == self._core.registry.generation:
            return
        self._generation = self._core.registry.generation
        lasting = {f"{V3}{name}" for name in v3.lasting(self._core.registry)}
        self._documents = {path: self._documents[path] for path in lasting & set(self._documents)}

    def _index(self) -> Object:
        """Each document's address carries its hash, so that clients may keep it for ever."""
        paths = {}
        for name in (*v3.documents(self._core.registry), *self._core.extensions.documents()):
            body = self._document(f"{V3}{name}")
            assert body is not None
            paths[name] = {"serverRelativeURL": f"{V3}{name}?hash={_digest(body)}"}
        return {"paths": {**paths, **self._remote.index()}}

    def _document(self, path: str) -> bytes | None:
        body = self._documents.get(path)
        if body is None:
            made = self._make(path)
            if made is None:
                return None
            body = self._documents[path] = codec.encode(made)
        return body

    def _document_as_protobuf(self, path: str) -> bytes:
        kept = f"{path} as protobuf"
        if kept not in self._documents:
            self._documents[kept] = protobuf.encode(self._whole())
        return self._documents[kept]

    def _make(self, path: str) -> Object | None:
        if path == "/openapi/v2":
            return self._whole()
        found = self._core.extensions.documents().get(path.removeprefix(V3))
        if found is not None:
            return found
        return v3.document(self._core.registry, path.removeprefix(V3))

    def _whole(self) -> Object:
        own = self._core.extensions.complete(v2.document(self._core.registry))
        return self._remote.complete(own, protobuf.encode)


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()
