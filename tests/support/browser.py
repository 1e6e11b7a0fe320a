"""Chromium without a window, driven over its own debugging protocol: open a page, wait for what it
shows, look at it.
"""

import asyncio
import base64
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import aiohttp

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
WAIT_SECONDS = 30.0
WAIT_TRIES = 600


def executable() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "these tests need Chromium: scripts/browser installs it"
    return found


class Tab:
    """One page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.problems: list[str] = []
        """What the page complained of: errors, and what its policy forbade."""
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def order(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(WAIT_SECONDS):
            return await answer

    async def open(self, url: str) -> None:
        await self.order("Page.navigate", url=url)

    async def resize(self, width: int, height: int = 900, *, is_dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.order("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        await self.order("Emulation.setEmulatedMedia", features=[scheme])

    async def evaluate(self, script: str) -> Any:
        found = await self.order("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def wait(self, script: str) -> None:
        """Until the expression is true."""
        for _ in range(WAIT_TRIES):
            if await self.evaluate(f"Boolean({script})"):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {script}; the page shows {await self.text()}")

    async def wait_text(self, text: str) -> None:
        await self.wait(f"document.body && document.body.innerText.includes({json.dumps(text)})")

    async def text(self) -> str:
        return str(await self.evaluate("document.body.innerText"))

    async def screenshot(self, *, is_whole: bool = True) -> bytes:
        """As PNG."""
        found = await self.order("Page.captureScreenshot", captureBeyondViewport=is_whole)
        return base64.b64decode(found["data"])

    async def _read(self) -> None:
        async for message in self._socket:
            told = message.json()
            if told.get("id") in self._answers:
                self._answers.pop(told["id"]).set_result(told.get("result") or told.get("error"))
            elif told.get("method") == "Runtime.exceptionThrown":
                self.problems.append(str(told["params"]["exceptionDetails"]))
            elif told.get("method") == "Log.entryAdded":
                entry = told["params"]["entry"]
                if entry["level"] == "error":
                    self.problems.append(f"{entry['text']} {entry.get('url', '')}")


@asynccontextmanager
async def browsing() -> AsyncIterator[Tab]:
    """A browser with one empty page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            executable(), *FLAGS, f"--user-data-dir={profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with aiohttp.ClientSession() as session, _connected(session, process) as tab:
                yield tab
        finally:
            process.kill()
            await process.communicate()


@asynccontextmanager
async def _connected(
    session: aiohttp.ClientSession, process: asyncio.subprocess.Process
) -> AsyncIterator[Tab]:
    assert process.stderr is not None
    port = ""
    async with asyncio.timeout(WAIT_SECONDS):
        while not port:
            line = (await process.stderr.readline()).decode(errors="replace")
            found = re.search(r"ws://127\.0\.0\.1:(\d+)/", line)
            port = found.group(1) if found else ""
    async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
        pages = [each for each in await answer.json() if each["type"] == "page"]
    async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
        tab = Tab(socket)
        for domain in ("Page", "Runtime", "Log"):
            await tab.order(f"{domain}.enable")
        try:
            yield tab
        finally:
            await tab.close()
