"""What is passed on of the headers of a request and of its answer; pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fleetqueue.apiserver.access.users import User

Pairs = list[tuple[str, str]]

USER, UID, GROUP, EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
_OF_THE_CONNECTION = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_NOT_SENT = _OF_THE_CONNECTION | {"host", "content-length", "authorization", "expect"}
_NOT_ANSWERED = _OF_THE_CONNECTION | {"content-length", "content-type", "date", "warning"}
_TOLD_ANYWAY = ("cache-control", "no-cache, private")
_PREFIXES = ("x-remote-", "impersonate-", "sec-websocket-")
"""Whom others say they are, and what may hold a token: the list of a WebSocket's protocols."""
_TOKEN = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def sent(headers: Mapping[str, str], user: User) -> Pairs:
    """Of a request. The door joins the values of a repeated header by line breaks."""
    named = headers.get("connection", "").replace("\n", ",").lower().split(",")
    dropped = _NOT_SENT | {name.strip() for name in named}
    pairs = [
        (name, value)
        for name, joined in headers.items()
        # Some servers take an underscore for a dash.
        if name not in dropped and not name.replace("_", "-").startswith(_PREFIXES)
        for value in joined.split("\n")
    ]
    return [*pairs, *told(user)]


def told(user: User) -> Pairs:
    """For whom the server is asked."""
    pairs = [(USER, user.name)]
    if user.uid:
        pairs.append((UID, user.uid))
    pairs += [(GROUP, group) for group in user.groups]
    for name, values in user.extra.items():
        pairs += [(f"{EXTRA}{escape(name)}", value) for value in values]
    return pairs


def escape(name: str) -> str:
    """The bytes that a header's name may not have, and the percent sign, as a URL has them."""
    return "".join(chr(byte) if chr(byte) in _TOKEN else f"%{byte:02X}" for byte in name.encode())


class Answered(NamedTuple):
    """Of an answer."""

    content_type: str
    headers: dict[str, str]
    warnings: list[str]


def answered(pairs: Iterable[tuple[str, str]]) -> Answered:
    content_type, headers, warnings = "", dict[str, str](), list[str]()
    for name, value in pairs:
        lowered = name.lower()
        if lowered == "content-type":
            content_type = value
        elif lowered == "warning":
            warnings.append(_text_of(value))
        elif lowered not in _NOT_ANSWERED and (lowered, value) != _TOLD_ANYWAY:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Answered(content_type, headers, warnings)


def _text_of(warning: str) -> str:
    """`299 - "text"`, as it was before it was quoted."""
    _, found, quoted = warning.partition('"')
    if not found:
        return warning
    return quoted.removesuffix('"').replace('\\"', '"').replace("\\\\", "\\")
