"""Finds the resource that serves an apiVersion and kind by asking the server, and remembers it."""

from typing import Any
from urllib.parse import quote

from fleetqueue.kube.errors import NotFound, UnknownKind, refusal_from_body
from fleetqueue.kube.resources import Object, Resource, split_api_version
from fleetqueue.kube.transport import Call, Transport


class Discovery:
    """Asks once for each group and version; asks again when a kind is not known yet."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._known: dict[str, dict[str, Resource]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The main resource of a kind, never a subresource."""
        found = self._known.get(api_version, {}).get(kind)
        if found is None:
            # A CRD may have come since the last time.
            self._known[api_version] = await self._served(api_version)
            found = self._known[api_version].get(kind)
        if found is None:
            raise UnknownKind(f'the server serves no kind "{kind}" in version "{api_version}"')
        return found

    def known(self, kind: Resource) -> Resource:
        """What is meant by a guess, as far as the server was asked; other kinds as they are."""
        if not kind.is_guess:
            return kind
        return self._known.get(kind.api_version, {}).get(kind.kind, kind)

    async def found(self, kind: Resource) -> Resource:
        """The same, and the server is asked now: a definition may have come, or have changed."""
        if kind.is_guess:
            self._known[kind.api_version] = await self._served(kind.api_version)
        return self.known(kind)

    async def resource_of(self, obj: Object) -> Resource:
        return await self.resource(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))

    async def api_versions(self) -> list[str]:
        """Every group and version that is served, the preferred ones of each group first."""
        groups = await self._get("/apis")
        served = [*(await self._get("/api")).get("versions", ())]
        for group in groups.get("groups", ()):
            versions = [version["groupVersion"] for version in group["versions"]]
            first = (group.get("preferredVersion") or {}).get("groupVersion")
            served += sorted(versions, key=lambda version: version != first)
        return served

    def forget(self) -> None:
        self._known.clear()

    async def _served(self, api_version: str) -> dict[str, Resource]:
        group, version = split_api_version(api_version)
        page = f"/apis/{quote(group, safe='')}" if group else "/api"
        try:
            answer = await self._get(f"{page}/{quote(version, safe='')}")
        except NotFound:
            return {}
        listed = [entry for entry in answer.get("resources", ()) if "/" not in entry["name"]]
        return {
            entry["kind"]: Resource(
                group, version, entry["name"], entry["kind"], bool(entry.get("namespaced"))
            )
            for entry in listed
        }

    async def _get(self, path: str) -> Any:
        answer = await self._transport.request(Call("GET", path))
        if answer.status >= 400:
            raise refusal_from_body(answer.status, answer.payload.data, answer.headers)
        return answer.payload.decoded()
