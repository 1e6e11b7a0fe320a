"""What a request asks for: its verb, resource, namespace and name, read from method, path and
query.
"""

from typing import NamedTuple

from fleetqueue.api import names, selectors
from fleetqueue.apiserver.request import Request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_SELECTOR_LENGTH_MAX = 1024
"""Of those that name an object: they are read before it is known who asks."""


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
    is_nested: bool = False
    """Whether the path says a namespace before the resource."""

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
    namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 1 else ""
    is_nested = bool(namespace) and len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES
    if is_nested:
        parts = parts[2:]
    resource, name, subresource = (*parts[:3], "", "")[:3]
    verb = _resource_verb(request, name, watching)
    if verb in ("list", "watch") and not name:
        name = _name_selected(request)
    rest = "/".join(parts[3:])
    return Route(
        verb, request.path, group, version, resource, subresource, namespace, name, rest, is_nested
    )


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
    if "metadata.name" not in text or len(text) > _SELECTOR_LENGTH_MAX:
        return ""
    try:
        name = selectors.parse_fields(text).exact_value("metadata.name") or ""
    except ValueError:
        return ""
    return "" if names.path_segment(name) else name
