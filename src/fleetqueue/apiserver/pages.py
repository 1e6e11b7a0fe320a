"""Paths that are no resource: health, version, discovery, OpenAPI, token issuer documents."""

import platform
import sys
from collections.abc import Awaitable, Callable

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.tokens import Issuer
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation.proxying import Proxy
from fleetqueue.apiserver.aggregation.services import Known
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.discovery import Discovery
from fleetqueue.apiserver.openapi import OpenApi
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.apiserver.routes import Route

KUBERNETES = "v1.34.4"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEALTH = ("healthz", "livez", "readyz")
ISSUER_PATHS = ("/.well-known/openid-configuration", "/openid/v1/jwks")


class Pages:
    """Answers for everything that is not an object."""

    def __init__(self, core: Core, discovery: Discovery, openapi: OpenApi, proxy: Proxy) -> None:
        self._core = core
        self._discovery = discovery
        self._openapi = openapi
        self._proxy = proxy
        self.issuer: Issuer | None = None
        self.server_url = ""
        self.checks: dict[str, Callable[[], bool]] = {"ping": lambda: True}
        """What /readyz looks at; /livez and /healthz ask only whether the server answers."""
        self.metrics: list[Callable[[], Awaitable[bytes]]] = []
        """What others in this process add to /metrics."""

    async def answer(self, request: Request, route: Route, user: User) -> Response:
        path = request.path.rstrip("/") or "/"
        first = path.split("/")[1]
        if first in HEALTH:
            return self._health(request, path)
        remote = self._remote(path)
        if remote is not None:
            return await self._proxy.pass_on(remote, request, user)
        if request.method not in ("GET", "HEAD"):
            raise problems.wrong_method()
        if path == "/version":
            return Response(object=version_info())
        if path == "/metrics":
            return Response(body=await self._metrics(), content_type=METRICS_TYPE)
        if first == "openapi":
            return await self._openapi.answer(request, path, user)
        if path in ISSUER_PATHS and self.issuer is not None:
            return self._issuer_document(path, self.issuer)
        found = self._discovery.answer(request, path)
        if found is None:
            raise problems.unknown_path() if self._is_known(path) else problems.unknown_page()
        return found

    def _remote(self, path: str) -> Known | None:
        """Whoever else lists the resources of a version."""
        parts = path.split("/")
        if parts[1] != "apis" or len(parts) != 4 or parts[2] in self._core.extensions:
            return None
        return self._core.remotes.get(parts[2], parts[3])

    def _is_known(self, path: str) -> bool:
        """Below a group that exists, a missing page is told as a Status."""
        parts = path.split("/")
        if parts[1] == "api":
            return True
        if parts[1] != "apis" or len(parts) < 3:
            return False
        return self._core.registry.has_group(parts[2]) or parts[2] in self._core.extensions

    def _issuer_document(self, path: str, issuer: Issuer) -> Response:
        if path.endswith("jwks"):
            return Response(object=issuer.jwks(), content_type="application/jwk-set+json")
        return Response(object=issuer.openid_configuration(self.server_url))

    def _health(self, request: Request, path: str) -> Response:
        parts = path.strip("/").split("/")
        checks = self.checks if parts[0] == "readyz" else {"ping": self.checks["ping"]}
        if len(parts) > 1:
            name = "/".join(parts[1:])
            if name not in checks:
                raise problems.unknown_path()
            checks = {name: checks[name]}
        excluded = set(request.query.get("exclude") or ())
        results = {name: check() for name, check in checks.items() if name not in excluded}
        is_well = all(results.values())
        lines = [f"[{'+' if fine else '-'}]{name} {_word(fine)}" for name, fine in results.items()]
        verdict = f"{parts[0]} check {'passed' if is_well else 'failed'}"
        text = "\n".join([*lines, verdict, ""])
        if is_well and "verbose" not in request.query:
            text = "ok"
        status = 200 if is_well else 500
        return Response(status, body=text.encode(), content_type="text/plain; charset=utf-8")

    async def _metrics(self) -> bytes:
        return b"".join([self._own_metrics(), *[await each() for each in self.metrics]])

    def _own_metrics(self) -> bytes:
        store, feed = self._core.store, self._core.feed
        lines = ["# HELP apiserver_storage_objects Objects held, by resource."]
        lines.append("# TYPE apiserver_storage_objects gauge")
        for name, count in store.counts():
            lines.append(f'apiserver_storage_objects{{resource="{name}"}} {count}')
        lines += [
            "# HELP apiserver_longrunning_requests Open watches.",
            "# TYPE apiserver_longrunning_requests gauge",
            f'apiserver_longrunning_requests{{verb="WATCH"}} {feed.count}',
            "# HELP fleetqueue_storage_revision The last committed revision.",
            "# TYPE fleetqueue_storage_revision counter",
            f"fleetqueue_storage_revision {store.revision}",
            "",
        ]
        return "\n".join(lines).encode()


def version_info() -> dict[str, str]:
    """What `kubectl version` shows: the API we speak, and the program that speaks it."""
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{KUBERNETES}+fleetqueue",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{sys.platform}/{platform.machine()}",
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
    }


def _word(fine: bool) -> str:
    return "ok" if fine else "failed: reason withheld"
