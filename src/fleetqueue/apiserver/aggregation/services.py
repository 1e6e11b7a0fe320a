"""The groups and versions that API servers beside this one answer, as APIServices register them."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fleetqueue.apiserver.registry import Registry

Object = dict[str, Any]

GROUP = "apiregistration.k8s.io"
TABLE = f"apiservices.{GROUP}"
AVAILABLE = "Available"


class RemoteService(NamedTuple):
    """One version of a group, and who answers for it."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    namespace: str
    service: str
    port: int
    bundle: bytes
    is_unverified: bool

    @property
    def server_name(self) -> str:
        return f"{self.service}.{self.namespace}.svc"

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}"


def read_service(obj: Object) -> RemoteService | None:
    """What an APIService says; None where this server answers itself, as it always does for
    APIServices: whoever sent these elsewhere could not take that back.
    """
    spec = obj["spec"]
    service = spec.get("service")
    if service is None or spec.get("group") in (None, "", GROUP):
        return None
    return RemoteService(
        obj["metadata"]["name"],
        spec["group"],
        spec["version"],
        spec["groupPriorityMinimum"],
        spec["versionPriority"],
        service["namespace"],
        service["name"],
        service.get("port") or 443,
        base64.b64decode(spec.get("caBundle") or ""),
        bool(spec.get("insecureSkipTLSVerify")),
    )


def is_available(obj: Object) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(c["type"] == AVAILABLE and c.get("status") == "True" for c in conditions)


@dataclass(slots=True)
class Known:
    """A registered version, and what its server said of itself."""

    service: RemoteService
    is_available: bool = False
    described: Object | None = None
    """Its part of an APIGroupDiscovery; None: nothing is known, or nothing any more."""
    resource_list: bytes = b""
    """The list of its resources as it was when `described` was asked for."""


class RemoteServices:
    """Those of one server, by group and version."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[tuple[str, str], Known] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def __iter__(self) -> Iterator[Known]:
        return iter(sorted(self._known.values(), key=lambda each: each.service.name))

    def get(self, group: str, version: str) -> Known | None:
        return self._known.get((group, version))

    def named(self, name: str) -> Known | None:
        version, _, group = name.partition(".")
        return self._known.get((group, version))

    def put(self, obj: Object) -> bool:
        """Takes in an APIService as it is now; says whether it means another server than before."""
        service = read_service(obj)
        if service is None:
            return self.remove(obj["metadata"]["name"])
        key = (service.group, service.version)
        known = self._known.get(key)
        if known is not None and known.service == service:
            self._set_available(known, is_available(obj))
            return False
        self._known[key] = Known(service, is_available(obj))
        self.changed()
        return True

    def remove(self, name: str) -> bool:
        version, _, group = name.partition(".")
        if self._known.pop((group, version), None) is None:
            return False
        self.changed()
        return True

    def describe(self, known: Known, described: Object | None, resource_list: bytes) -> None:
        known.resource_list = resource_list
        if known.described != described:
            known.described = described
            self.changed()

    def changed(self) -> None:
        """What was derived from the kinds is worked out again."""
        self._registry.generation += 1

    def groups(self) -> Mapping[str, Mapping[str, Known]]:
        found: dict[str, dict[str, Known]] = {}
        for (group, version), known in self._known.items():
            found.setdefault(group, {})[version] = known
        return found

    def _set_available(self, known: Known, is_available: bool) -> None:
        if known.is_available != is_available:
            known.is_available = is_available
            self.changed()
