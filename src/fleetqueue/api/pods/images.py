"""Container image references: which tag one names, as the default pull policy needs to know."""

import re

_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>{_HOST}(?:/{_PART})+)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_NAME_LENGTH_MAX = 255


def default_pull_policy(image: str) -> str:
    """A moving tag is pulled each time; whatever cannot be read is not."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"


def tag_of(image: str) -> str:
    """The tag, "latest" where neither tag nor digest is named, and "" for no image at all."""
    if _IDENTIFIER.fullmatch(image):
        return ""
    found = _REFERENCE.fullmatch(_with_host(image))
    if not found or len(found["name"]) > _NAME_LENGTH_MAX:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def _with_host(image: str) -> str:
    host, slash, rest = image.partition("/")
    is_host = bool(slash) and (
        "." in host or ":" in host or host == "localhost" or host.lower() != host
    )
    if not is_host:
        rest, host = image, "docker.io"
    if host == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    return f"{host}/{rest}"
