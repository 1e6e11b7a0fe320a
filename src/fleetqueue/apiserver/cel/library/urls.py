"""URLs in expressions: parsed as Go's net/url does, absolute ones only."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_plus

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.overloads import overload
from fleetqueue.apiserver.cel.values import register

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PATH_SAFE = "$&+,/:;=@-_.~!*'()[]"


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    host: str
    path: str
    """Still escaped."""
    query: str

    @property
    def hostname(self) -> str:
        host, _ = _split_port(self.host)
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        return _split_port(self.host)[1]

    @property
    def escaped_path(self) -> str:
        return (
            self.path
            if re.fullmatch(r"[!-~]*", self.path)
            else quote(unquote(self.path), _PATH_SAFE)
        )

    def parameters(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
                name, _, value = pair.partition("=")
                found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return found


register(Url, "kubernetes.URL")


def parse(text: str) -> Url:
    try:
        return _parse(text)
    except ValueError as problem:
        why = f'parse "{text}": {problem}'
        raise CelError(f"URL parse error during conversion from string: {why}") from None


def is_url(text: str) -> bool:
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def _parse(text: str) -> Url:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    scheme, rest = _scheme(text)
    if not scheme and not rest.startswith("/"):
        raise ValueError("invalid URI for request")
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _check_host(authority.rpartition("@")[2])
    elif not rest.startswith("/"):
        if scheme and "?" not in text and ":" in text:
            raise ValueError("invalid URI for request")
        rest = ""
    if found := _BAD_ESCAPE.search(rest):
        raise ValueError(f'invalid URL escape "{rest[found.start() : found.start() + 3]}"')
    return Url(scheme, host, rest, query)


def _scheme(text: str) -> tuple[str, str]:
    found = _SCHEME.match(text)
    if found:
        return found[1].lower(), text[found.end() :]
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    first, colon, _ = text.partition(":")
    if colon and "/" not in first:
        raise ValueError("first path segment in URL cannot contain colon")
    return "", text


def _check_host(host: str) -> str:
    if re.search(r"[ \"<>\\^`{|}]", host):
        bad = re.search(r"[ \"<>\\^`{|}]", host)
        raise ValueError(f'invalid character "{bad[0] if bad else ""}" in host name')
    name, _ = _split_port(host)
    if name.startswith("[") and "]" not in name:
        raise ValueError("missing ']' in host")
    tail = host.rpartition("]")[2] if host.startswith("[") else host
    if ":" in tail and not re.fullmatch(r"[^:]*:[0-9]*", tail):
        raise ValueError(f'invalid port "{tail[tail.index(":") :]}" after host')
    return host


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal() and not ("[" in host and "]" not in name):
        return name, port
    return (name, "") if colon and not port else (host, "")


OVERLOADS = [
    overload("url", "(string) -> URL", parse),
    overload("isURL", "(string) -> bool", is_url),
    overload("getScheme", "URL.() -> string", lambda url: url.scheme),
    overload("getHost", "URL.() -> string", lambda url: url.host),
    overload("getHostname", "URL.() -> string", lambda url: url.hostname),
    overload("getPort", "URL.() -> string", lambda url: url.port),
    overload("getEscapedPath", "URL.() -> string", lambda url: url.escaped_path),
    overload("getQuery", "URL.() -> map(string, list(string))", lambda url: url.parameters()),
]
