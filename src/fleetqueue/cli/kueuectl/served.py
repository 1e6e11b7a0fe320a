"""Which resources a cluster serves, by the names that people type."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.cli.kueuectl.failures import Failure
from fleetqueue.kube import calls
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Resource, split_api_version
from fleetqueue.kube.transport import Call

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """A resource and its other names."""

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        known = (self.resource.plural, self.singular, self.resource.kind.lower())
        return name in (*known, *self.short_names)


@dataclass
class Catalogue:
    """Asks the server once for each group and version."""

    client: Client
    _known: dict[str, list[Served]] = field(default_factory=dict)

    async def of_kind(self, api_version: str, kind: str) -> Served | None:
        for served in await self._of_version(api_version):
            if served.resource.kind == kind:
                return served
        return None

    async def find(self, text: str) -> Resource:
        """TYPE, TYPE.GROUP or TYPE.VERSION.GROUP; the preferred version where none is named."""
        name, _, rest = text.lower().partition(".")
        version, _, group = rest.partition(".")
        for served in await self._everything():
            resource = served.resource
            fits = resource.group == rest or (resource.group, resource.version) == (group, version)
            if served.is_called(name) and (not rest or fits):
                return resource
        raise Failure(f'the server doesn\'t have a resource type "{text}"')

    async def _of_version(self, api_version: str) -> list[Served]:
        if api_version not in self._known:
            group, version = split_api_version(api_version)
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            try:
                answer = await self.client.call(calls.read(path, []))
            except NotFound:
                self._known[api_version] = []
            else:
                self._known[api_version] = list(_plain(answer.payload.decoded()))
        return self._known[api_version]

    async def _everything(self) -> list[Served]:
        found: list[Served] = []
        for path in ("/api", "/apis"):
            call = Call("GET", path, headers={"accept": f"{AGGREGATED},application/json"})
            document = (await self.client.call(call)).payload.decoded()
            if document.get("kind") != "APIGroupDiscoveryList":
                return [
                    served
                    for version in await self.client.discovery.api_versions()
                    for served in await self._of_version(version)
                ]
            found += _aggregated(document)
        return found


def _plain(document: Object) -> Iterator[Served]:
    group, version = split_api_version(document["groupVersion"])
    for entry in document.get("resources") or ():
        if "/" not in entry["name"]:
            yield Served(
                Resource(group, version, entry["name"], entry["kind"], entry["namespaced"]),
                entry.get("singularName") or "",
                tuple(entry.get("shortNames") or ()),
            )


def _aggregated(document: Object) -> Iterator[Served]:
    for group in document["items"]:
        name = group["metadata"].get("name") or ""
        for version in group["versions"]:
            for entry in version.get("resources") or ():
                kind = (entry.get("responseKind") or {}).get("kind") or ""
                is_namespaced = entry["scope"] == "Namespaced"
                yield Served(
                    Resource(name, version["version"], entry["resource"], kind, is_namespaced),
                    entry.get("singularResource") or "",
                    tuple(entry.get("shortNames") or ()),
                )
