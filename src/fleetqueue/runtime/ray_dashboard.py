"""The seam to Ray itself: the dashboard of a cluster, asked about jobs and applications. The one
over HTTP is for real Ray; tests bring their own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fleetqueue.kube.resources import Object

if TYPE_CHECKING:
    import aiohttp

TIMEOUT_SECONDS = 2.0
DASHBOARD_PORT, SERVE_PORT = 8265, 8000


@dataclass(frozen=True, slots=True)
class JobInfo:
    """What Ray says of a job."""

    status: str
    """PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED."""
    message: str = ""
    start_milliseconds: int = 0
    end_milliseconds: int = 0

    @property
    def is_terminal(self) -> bool:
        return self.status in ("STOPPED", "SUCCEEDED", "FAILED")


class DashboardError(Exception):
    """Ray could not be asked, or refused; the text says why."""


class Dashboard(Protocol):
    """Every method is told the RayCluster it is about, and raises DashboardError."""

    async def job(self, cluster: Object, id: str, /) -> JobInfo | None:
        """None where Ray knows no such job."""

    async def submit(self, cluster: Object, request: Mapping[str, Any], /) -> None: ...

    async def stop(self, cluster: Object, id: str, /) -> None: ...

    async def applications(self, cluster: Object, /) -> Mapping[str, Any]:
        """What is served, by name: status, message, deployments."""

    async def deploy(self, cluster: Object, config: Mapping[str, Any], /) -> None:
        """Makes these applications the ones that are served."""

    async def is_serving(self, cluster: Object, /) -> bool:
        """Whether the proxy on the head is healthy."""


Place = Callable[[str, int], tuple[str, int]]
"""Where a process listens that is looked for at an address and a port."""


def _as_asked(address: str, port: int) -> tuple[str, int]:
    return address, port


def head_url(cluster: Object, name: str, port: int, place: Place = _as_asked) -> str:
    """Where a port of the head is reached."""
    status = cluster.get("status") or {}
    head = status.get("head") or {}
    host = head.get("podIP") or head.get("serviceIP")
    if not host:
        raise DashboardError("the head has no address yet")
    asked = int((status.get("endpoints") or {}).get(name) or port)
    address, used = place(host, asked)
    return f"http://{address}:{used}"


class HttpDashboard:
    """Asks over HTTP; `locate` says where, given a cluster, the name of a port and its default."""

    def __init__(self, locate: Callable[[Object, str, int], str] = head_url) -> None:
        self._locate = locate
        self._session: aiohttp.ClientSession | None = None

    async def job(self, cluster: Object, id: str, /) -> JobInfo | None:
        status, body = await self._ask(cluster, "GET", f"/api/jobs/{id}")
        if status == 404:
            return None
        told = _object(status, body)
        return JobInfo(
            str(told.get("status") or ""),
            str(told.get("message") or ""),
            int(told.get("start_time") or 0),
            int(told.get("end_time") or 0),
        )

    async def submit(self, cluster: Object, request: Mapping[str, Any], /) -> None:
        _object(*await self._ask(cluster, "POST", "/api/jobs/", request))

    async def stop(self, cluster: Object, id: str, /) -> None:
        _object(*await self._ask(cluster, "POST", f"/api/jobs/{id}/stop", {}))

    async def applications(self, cluster: Object, /) -> Mapping[str, Any]:
        path = "/api/serve/applications/?api_type=declarative"
        told = _object(*await self._ask(cluster, "GET", path))
        return dict(told.get("applications") or {})

    async def deploy(self, cluster: Object, config: Mapping[str, Any], /) -> None:
        status, body = await self._ask(cluster, "PUT", "/api/serve/applications/", config)
        _check(status, body)

    async def is_serving(self, cluster: Object, /) -> bool:
        try:
            url = f"{self._locate(cluster, 'serve', SERVE_PORT)}/-/healthz"
            status, _ = await self._call("GET", url)
        except DashboardError:
            return False
        return status == 200

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(
        self, cluster: Object, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        url = f"{self._locate(cluster, 'dashboard', DASHBOARD_PORT)}{path}"
        return await self._call(method, url, body)

    async def _call(
        self, method: str, url: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        # Few clusters ever run Ray, and this library takes long to load.
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
            self._session = aiohttp.ClientSession(timeout=timeout)
        try:
            async with self._session.request(method, url, json=body) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DashboardError(f"{method} {url}: {error or type(error).__name__}") from error


def _check(status: int, body: bytes) -> None:
    if not 200 <= status <= 299:
        raise DashboardError(f"{status} {body.decode(errors='replace')}")


def _object(status: int, body: bytes) -> dict[str, Any]:
    _check(status, body)
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise DashboardError(f"not a JSON object: {body.decode(errors='replace')}")
    return told
