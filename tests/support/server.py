"""A running API server of either make, and a plain HTTPS client for it."""

import http.client
import json
import ssl
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Server:
    """Where a server is, and the processes behind it."""

    name: str
    url: str
    token: str
    authority: str
    """The path of the certificate that signs its serving certificate; "" to trust anything."""
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    kubeconfig: Path | None = None

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority or None)
        if not self.authority:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def client(self, token: str | None = None) -> "PlainClient":
        return PlainClient(self, self.token if token is None else token)


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    def header(self, name: str) -> str:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return "\n".join(found)


class PlainClient:
    """One kept-alive connection. It adds nothing to a request but the token."""

    def __init__(self, server: Server, token: str) -> None:
        self._server = server
        self.token = token
        self._connection: http.client.HTTPSConnection | None = None

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        attempts: int = 2,
    ) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"User-Agent": "suite/1.0", "Accept": "application/json"}
        if data is not None:
            sent["Content-Type"] = "application/json"
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent |= headers or {}
        for attempt in range(attempts):
            connection = self.connect()
            try:
                connection.request(method, path, body=data, headers=sent)
                response = connection.getresponse()
                return Answer(response.status, response.getheaders(), response.read())
            except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
                self.close()
                if attempt == attempts - 1:
                    raise
            except OSError:
                self.close()
                raise
        raise AssertionError

    def __enter__(self) -> "PlainClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connect(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            address = urlsplit(self._server.url)
            self._connection = http.client.HTTPSConnection(
                address.hostname or "", address.port, context=self._server.context(), timeout=60
            )
        return self._connection


def wait_until(what: str, is_there: Callable[[], bool], seconds: float = 60.0) -> None:
    """For processes that start: ask until they answer."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        try:
            if is_there():
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come up within {seconds:.0f} s")
