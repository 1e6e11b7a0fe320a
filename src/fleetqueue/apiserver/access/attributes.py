"""What a request wants to do, as an authorizer sees it, and how a refusal is worded."""

from typing import NamedTuple

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.problems import ApiError

_SAFE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Attributes(NamedTuple):
    """A request on a resource, or (`is_resource_request` False) on a bare path."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource_request: bool = True
    field_selector: str = ""
    """Carried for reviews; RBAC does not look at selectors."""
    label_selector: str = ""

    @property
    def combined_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Decision(NamedTuple):
    """`reason` says which binding allowed, or what went wrong while looking."""

    allowed: bool
    reason: str = ""


def refusal(attributes: Attributes, reason: str = "") -> ApiError:
    """The 403 of a request that nothing allowed."""
    why = _sentence(attributes).translate(_SAFE)
    if reason:
        why = f"{why}: {reason}"
    return problems.forbidden(attributes.group, attributes.resource, attributes.name, why)


def _sentence(attributes: Attributes) -> str:
    user, verb = quote(attributes.user.name), attributes.verb
    if not attributes.is_resource_request:
        return f"User {user} cannot {verb} path {quote(attributes.path)}"
    what = f"resource {quote(attributes.combined_resource)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        where = f"in the namespace {quote(attributes.namespace)}"
    else:
        where = "at the cluster scope"
    return f"User {user} cannot {verb} {what} {where}"


def quote(text: str) -> str:
    """As Go's %q prints a string."""
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        else:
            out.append(_ESCAPES.get(character) or _escape(ord(character)))
    return '"' + "".join(out) + '"'


def quote_all(texts: tuple[str, ...]) -> str:
    """As Go's %q prints a list of strings."""
    return "[" + " ".join(quote(text) for text in texts) + "]"


_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _escape(point: int) -> str:
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
