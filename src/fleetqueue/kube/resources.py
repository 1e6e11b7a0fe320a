"""Which resource of the API a class, an object or a name stands for, and the paths it has there."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from fleetqueue.api import kinds
from fleetqueue.api.meta import Key

Object: TypeAlias = dict[str, Any]
"""A raw object: plain JSON."""
T = TypeVar("T", bound=kinds.Resource)


@dataclass(frozen=True)
class Resource:
    """A resource by its names; calls that are given one deal in raw objects."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    is_guess: bool = field(default=False, compare=False)
    """Nobody knew its plural: a client asks its server for that."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


Kind: TypeAlias = type[kinds.Resource] | Resource
"""What says which resource is meant: a wire type, or a `Resource` for raw objects."""


def resource_of(kind: Kind) -> Resource:
    return kind if isinstance(kind, Resource) else _of_class(kind)


@cache
def _of_class(cls: type[kinds.Resource]) -> Resource:
    kind = kinds.kind_of(cls)
    return Resource(kind.group, kind.version, kind.plural, kind.name, kind.is_namespaced)


def split_api_version(api_version: str) -> tuple[str, str]:
    """Group and version; the group of the core API is ""."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def key_of(obj: kinds.Resource | Object) -> Key:
    if isinstance(obj, dict):
        metadata = obj.get("metadata") or {}
        return Key(metadata.get("namespace") or "", metadata.get("name") or "")
    return obj.key


def uid_of(obj: kinds.Resource | Object) -> str:
    if isinstance(obj, dict):
        return str((obj.get("metadata") or {}).get("uid") or "")
    return obj.metadata.uid


def created_at(obj: Object) -> str:
    """As the server wrote it: such texts compare as the times do."""
    return str(obj["metadata"].get("creationTimestamp") or "")


def version_of(obj: kinds.Resource | Object) -> str:
    """The resource version, as the server wrote it."""
    if isinstance(obj, dict):
        return str((obj.get("metadata") or {}).get("resourceVersion") or "")
    return obj.metadata.resource_version


def revision_of(obj: kinds.Resource | Object) -> int:
    """The resource version as a number that grows; 0 where a server's are no numbers."""
    version = version_of(obj)
    return int(version) if version.isdecimal() else 0


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
PODS = Resource("", "v1", "pods", "Pod")
EVENTS = Resource("", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
API_SERVICES = Resource(
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
