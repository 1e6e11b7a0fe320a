"""The dashboard of Ray over HTTP, against a small server that answers as Ray does."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.ray_dashboard import DashboardError, HttpDashboard, JobInfo, head_url

pytestmark = pytest.mark.rule("jobs B.7")

_TOLD: dict[str, Any] = {"status": "RUNNING", "message": "fine", "start_time": 7, "end_time": None}


@pytest.fixture
async def heard() -> list[Any]:
    return []


@pytest.fixture
async def cluster(heard: list[Any]) -> AsyncIterator[Object]:
    """One whose head answers, and writes down what it is told."""

    async def job(request: web.Request) -> web.Response:
        if request.match_info["id"] != "known":
            return web.Response(status=404, text="no such job")
        return web.json_response(_TOLD)

    async def hear(request: web.Request) -> web.Response:
        heard.append((request.method, request.path, await request.json()))
        return web.json_response({"stopped": True})

    async def applications(request: web.Request) -> web.Response:
        return web.json_response({"applications": {"fruit": {"status": "RUNNING"}}})

    async def broken(request: web.Request) -> web.Response:
        return web.Response(status=500, text="broken")

    async def healthy(request: web.Request) -> web.Response:
        return web.Response(text="success")

    app = web.Application()
    app.router.add_get("/api/jobs/{id}", job)
    app.router.add_post("/api/jobs/", hear)
    app.router.add_post("/api/jobs/known/stop", hear)
    app.router.add_post("/api/jobs/other/stop", broken)
    app.router.add_get("/api/serve/applications/", applications)
    app.router.add_put("/api/serve/applications/", hear)
    app.router.add_get("/-/healthz", healthy)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = str(runner.addresses[0][1])
    endpoints = {"dashboard": port, "serve": port}
    yield {"status": {"head": {"podIP": "127.0.0.1"}, "endpoints": endpoints}}
    await runner.cleanup()


@pytest.fixture
async def dashboard() -> AsyncIterator[HttpDashboard]:
    made = HttpDashboard()
    yield made
    await made.close()


async def test_a_job_is_asked_for(dashboard: HttpDashboard, cluster: Object) -> None:
    assert await dashboard.job(cluster, "known") == JobInfo("RUNNING", "fine", 7, 0)
    assert await dashboard.job(cluster, "unknown") is None


async def test_orders_reach_ray(
    dashboard: HttpDashboard, cluster: Object, heard: list[Any]
) -> None:
    await dashboard.submit(cluster, {"entrypoint": "x"})
    await dashboard.stop(cluster, "known")
    await dashboard.deploy(cluster, {"applications": []})
    assert heard == [
        ("POST", "/api/jobs/", {"entrypoint": "x"}),
        ("POST", "/api/jobs/known/stop", {}),
        ("PUT", "/api/serve/applications/", {"applications": []}),
    ]
    with pytest.raises(DashboardError, match="500 broken"):
        await dashboard.stop(cluster, "other")


async def test_what_is_served_is_asked_for(dashboard: HttpDashboard, cluster: Object) -> None:
    assert await dashboard.applications(cluster) == {"fruit": {"status": "RUNNING"}}
    assert await dashboard.is_serving(cluster)


async def test_a_head_that_does_not_answer_is_a_problem(dashboard: HttpDashboard) -> None:
    cluster = {"status": {"head": {"podIP": "127.0.0.1"}, "endpoints": {"dashboard": "1"}}}
    with pytest.raises(DashboardError, match=r"GET http://127\.0\.0\.1:1/api/jobs/x: "):
        await dashboard.job(cluster, "x")
    assert not await dashboard.is_serving(cluster)
    with pytest.raises(DashboardError, match="no address"):
        head_url({}, "dashboard", 8265)


def test_a_head_is_asked_where_it_listens() -> None:
    status = {"head": {"podIP": "127.1.0.1"}, "endpoints": {"dashboard": "8265"}}

    def place(address: str, port: int) -> tuple[str, int]:
        return address, port + 1

    assert head_url({"status": status}, "dashboard", 1) == "http://127.1.0.1:8265"
    assert head_url({"status": status}, "dashboard", 1, place) == "http://127.1.0.1:8266"
