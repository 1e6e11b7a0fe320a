"""The same bad requests over real HTTPS: the process neither fails nor grows."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from random import Random
from urllib.parse import quote, urlencode

import pytest

from fleetqueue.apiserver import builtins
from fleetqueue.apiserver.registry import Registry
from fleetqueue.apiserver.request import Request
from fuzz import play
from fuzz.requests import Maker
from support.ours import start_ours
from support.processes import resident_bytes
from support.server import Server

REQUESTS = max(play.REQUESTS // 8, 1)
GROWTH_BYTES_MAX = 64 * 1024 * 1024
WARM_UP = 0.4
"""So much of the requests comes first: caches, schemas and compiled rules fill."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = start_ours(tmp_path, durability="memory")
    yield started
    started.stop()


def test_bad_requests_over_https_neither_break_nor_swell_the_server(
    server: Server, tmp_path: Path
) -> None:
    registry = Registry()
    builtins.register(registry)
    maker = Maker(Random(7), registry)
    (process,) = server.processes
    before = 0
    connection = _connect(server)
    for request in maker.first():
        assert _sent(connection, server, request)
    for number in range(REQUESTS):
        if number == int(REQUESTS * WARM_UP):
            before = resident_bytes(process.pid)
        request = maker.draw()
        with play.told(request):
            if not _sent(connection, server, request):
                connection.close()
                connection = _connect(server)
    connection.close()
    assert process.poll() is None
    assert resident_bytes(process.pid) - before < GROWTH_BYTES_MAX
    assert "Traceback" not in (tmp_path / "serve.log").read_text()
    with server.client() as client:
        assert client.send("GET", "/readyz").status == 200
        metrics = client.send("GET", "/metrics").body.decode()
    assert 'apiserver_longrunning_requests{verb="WATCH"} 0' in metrics


def _connect(server: Server) -> http.client.HTTPSConnection:
    port = int(server.url.rpartition(":")[2])
    return http.client.HTTPSConnection(
        "127.0.0.1", port, context=server.context(), timeout=play.REQUEST_SECONDS_MAX
    )


def _sent(connection: http.client.HTTPSConnection, server: Server, request: Request) -> bool:
    """Whether the connection can go on; the server may end one that spoke no HTTP."""
    query = {name: list(found) for name, found in request.query.items()}
    if query.get("watch") or "/watch/" in request.path:
        query["timeoutSeconds"] = ["1"]
    url = quote(request.path, safe="/") + (f"?{urlencode(query, doseq=True)}" if query else "")
    headers = {name: _printable(value) for name, value in request.headers.items()}
    headers |= {"Authorization": f"Bearer {server.token}", "Content-Length": str(len(request.body))}
    method = request.method if request.method.isalpha() else "FROB"
    connection.request(method, url, request.body, headers)
    try:
        response = connection.getresponse()
        body = response.read()
    except (http.client.HTTPException, ConnectionError):
        return False
    content_type = response.headers.get("Content-Type", "")
    if "stream=watch" not in content_type and "watch" not in query and "/watch" not in url:
        play.check_answer(response.status, content_type, body if method != "HEAD" else b"")
    return not response.will_close


def _printable(value: str) -> str:
    return "".join(letter if 32 <= ord(letter) < 127 else "?" for letter in value)
