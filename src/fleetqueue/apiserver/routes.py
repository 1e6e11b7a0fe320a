"""What a request asks for: its verb, resource, namespace and name, read from method, path and
query.
"""

from typing import NamedTuple

from fleetqueue.api import selectors
from fleetqueue.apiserver.request import Request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class Route(NamedTuple):
    """Where a request goes. `resource` is empty for paths that are no resource."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    rest: str = ""
    """What follows a proxy subresource."""

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


def find_route(request: Request) -> Route:
    parts = [part for part in request.path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, parts = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return _plain(request)
    watching = parts[0] == "watch"
    if watching:
        parts = parts[1:]
        if not parts:
            return _plain(request)
    namespace, resource, name, subresource, rest = _split(parts)
    verb = _resource_verb(request, name, watching)
    if verb in ("list", "watch", "deletecollection") and not name:
        name = _name_selected(request)
    return Route(verb, request.path, group, version, resource, subresource, namespace, name, rest)


def _split(parts: list[str]) -> tuple[str, str, str, str, str]:
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    return namespace, resource, name, subresource, "/".join(parts[3:])


def _plain(request: Request) -> Route:
    """A path that is no resource."""
    verb = "get" if request.method == "HEAD" else request.method.lower()
    return Route(verb, request.path)


def _resource_verb(request: Request, name: str, watching: bool) -> str:
    if request.method not in ("GET", "HEAD"):
        verb = _VERBS.get(request.method, request.method.lower())
        return "deletecollection" if verb == "delete" and not name else verb
    if watching or (not name and request.flag("watch")):
        return "watch"
    return "get" if name else "list"


def _name_selected(request: Request) -> str:
    """A collection narrowed to one name is authorised as that name."""
    text = request.first("fieldSelector")
    if "metadata.name" not in text:
        return ""
    try:
        return selectors.parse_fields(text).exact_value("metadata.name") or ""
    except ValueError:
        return ""
