"""Reads which pod or service a proxy request means: `name`, `name:port` or `scheme:name:port`."""

from typing import NamedTuple

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call

_SCHEMES = ("", "http", "https")


class Target(NamedTuple):
    """Where a proxy request goes; scheme and port may be left out."""

    scheme: str
    name: str
    port: str


def split_target(call: Call) -> Target:
    parts = call.route.name.split(":")
    if len(parts) < 3:
        parts = ["", *parts, ""][:3]
    if len(parts) != 3 or not parts[1] or parts[0] not in _SCHEMES:
        kind = call.resource.kind.lower()
        raise problems.bad_request(f'invalid {kind} request "{call.route.name}"')
    return Target(*parts)
