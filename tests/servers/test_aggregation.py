"""How a server beside ours is called over TLS: who is verified, and what is streamed."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.web_request import BaseRequest

from fleetqueue.apiserver.aggregation.calling import FrontProxy, HttpsCaller, Outgoing
from fleetqueue.apiserver.reaching import CallFailed
from fleetqueue.base import certificates
from fleetqueue.base.certificates import Holder, Pem, Span

NAME = "wind.default.svc"


class Keys:
    """An authority with a server's and a client's certificate, in files."""

    def __init__(self, directory: Path) -> None:
        now = datetime.now(UTC)  # noqa: TID251 - TLS knows no other clock
        span = Span(now - timedelta(minutes=1), now + timedelta(hours=1))
        self._directory = directory
        made = certificates.make_authority("front", span)
        self.authority = made.certificate
        self.server = self._save("server", certificates.sign(made, Holder("s", (), (NAME,)), span))
        self.client = self._save("client", certificates.sign(made, Holder("front"), span))

    def _save(self, name: str, pair: Pem) -> tuple[Path, Path]:
        paths = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        for path, data in zip(paths, pair, strict=True):
            path.write_bytes(data)
        return paths


@asynccontextmanager
async def serving(keys: Keys, more: asyncio.Event) -> AsyncIterator[str]:
    async def answer(request: BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"X-Path": request.raw_path})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"first\n")
        await more.wait()
        await response.write(b"second\n")
        return response

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*keys.server)
    context.load_verify_locations(cadata=keys.authority.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    server = await asyncio.get_running_loop().create_server(
        web.Server(answer), "127.0.0.1", 0, ssl=context
    )
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_stream_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    keys, more = Keys(tmp_path), asyncio.Event()
    caller = HttpsCaller(FrontProxy(keys.authority, *keys.client))
    async with serving(keys, more) as url:
        asked = Outgoing("GET", f"{url}/a%2Fb?c=%20", [], b"", NAME, keys.authority)
        answer = await caller.call(asked)
        assert dict(answer.headers)["X-Path"] == "/a%2Fb?c=%20"
        assert answer.chunks is not None
        assert await anext(answer.chunks) == b"first\n"
        more.set()
        assert b"".join([chunk async for chunk in answer.chunks]) == b"second\n"
        with pytest.raises(CallFailed, match="failed to verify certificate"):
            await caller.call(asked._replace(server_name="other.default.svc"))
        unverified = asked._replace(server_name="", bundle=b"", is_unverified=True)
        assert await (await caller.call(unverified)).whole() == b"first\nsecond\n"
        await caller.close()
    # Nobody listens there any more.
    later = HttpsCaller(None)
    with pytest.raises(CallFailed, match="connection refused"):
        await later.call(asked)
    await later.close()


async def test_an_answer_that_never_ends_is_given_up(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    caller = HttpsCaller(FrontProxy(keys.authority, *keys.client))
    async with serving(keys, asyncio.Event()) as url, asyncio.timeout(5):
        asked = Outgoing("GET", url, [], b"", NAME, keys.authority, seconds=0.2)
        answer = await caller.call(asked)
        with pytest.raises(CallFailed, match="context deadline exceeded"):
            await answer.whole()
        await caller.close()
