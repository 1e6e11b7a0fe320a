"""Everything that a server serves: every kind in every version, and which version it prefers."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fleetqueue.kube import calls
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource, split_api_version
from fleetqueue.kube.transport import Call

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
STALE = "Stale"
FOLLOWED = frozenset({"list", "watch"})


@dataclass(frozen=True)
class Catalogue:
    """What can be listed and watched."""

    served: Mapping[tuple[str, str, str], Resource] = field(default_factory=dict)
    """By group, version and kind."""
    preferred: Mapping[tuple[str, str], Resource] = field(default_factory=dict)
    """By group and kind: in the version that the server prefers, of those that have it."""


async def read(client: Client, before: Catalogue | None = None) -> Catalogue:
    """Two requests where the server can tell all at once, else one for each version.

    Of versions whose own server does not answer at present, what was said `before` still holds.
    """
    found: list[Resource] = []
    for path in ("/api", "/apis"):
        call = Call("GET", path, headers={"accept": f"{AGGREGATED},application/json"})
        document = (await client.call(call)).payload.decoded()
        if document.get("kind") != "APIGroupDiscoveryList":
            return of([each async for each in _one_by_one(client)])
        found += _aggregated(document, before or Catalogue())
    return of(found)


def of(resources: Iterable[Resource]) -> Catalogue:
    """From resources in the order of preference."""
    served: dict[tuple[str, str, str], Resource] = {}
    preferred: dict[tuple[str, str], Resource] = {}
    for each in resources:
        served.setdefault((each.group, each.version, each.kind), each)
        preferred.setdefault((each.group, each.kind), each)
    return Catalogue(served, preferred)


async def _one_by_one(client: Client) -> AsyncIterator[Resource]:
    for api_version in await client.discovery.api_versions():
        group, version = split_api_version(api_version)
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = await client.call(calls.read(path, []))
        except NotFound:
            continue
        for each in _plain(group, version, answer.payload.decoded()):
            yield each


def _plain(group: str, version: str, document: Object) -> Iterator[Resource]:
    for entry in document.get("resources") or ():
        if "/" not in entry["name"] and set(entry.get("verbs") or ()) >= FOLLOWED:
            yield Resource(group, version, entry["name"], entry["kind"], entry["namespaced"])


def _aggregated(document: Object, before: Catalogue) -> Iterator[Resource]:
    for group in document["items"]:
        name = group["metadata"].get("name") or ""
        for version in group["versions"]:
            if version.get("freshness") == STALE:
                of_version = (name, version["version"])
                yield from (each for key, each in before.served.items() if key[:2] == of_version)
                continue
            for entry in version.get("resources") or ():
                if set(entry.get("verbs") or ()) >= FOLLOWED:
                    kind = (entry.get("responseKind") or {}).get("kind") or ""
                    is_namespaced = entry["scope"] == "Namespaced"
                    yield Resource(name, version["version"], entry["resource"], kind, is_namespaced)
