"""The files of the page, and the headers that keep it from running anything else."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SAFETY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""On every answer."""
UI_ROUTES = (
    "/",
    "/workloads",
    "/workload/{namespace}/{name}",
    "/local-queues",
    "/local-queue/{namespace}/{name}",
    "/cluster-queues",
    "/cluster-queue/{name}",
    "/cohorts",
    "/cohort/{name}",
    "/resource-flavors",
    "/resource-flavor/{name}",
    "/login",
)
"""All of them are the same page, which looks at its own address."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    body: bytes
    content_type: str
    tag: str
    """Changes with the content."""


def load() -> Mapping[str, Asset]:
    """All files by name."""
    found = {}
    for entry in resources.files("fleetqueue.dashboard").joinpath("static").iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in TYPES:
            body = entry.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            found[entry.name] = Asset(body, TYPES[suffix], tag)
    return found
