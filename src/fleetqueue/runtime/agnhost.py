"""A stand-in for the few parts of the agnhost test image that tests of clusters lean on, and for
controllers that are built in here.

Run as a program of its own: `pause`, `entrypoint-tester`, `netexec`, `test-webserver`. Uses the
standard library.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

POD_ADDRESS = "FLEETQUEUE_POD_IP"
"""Where a server listens, so that two pods can use one port."""


def main(arguments: list[str]) -> int:
    command, rest = (arguments[0] if arguments else "pause"), arguments[1:]
    if command == "pause":
        return pause()
    if command == "entrypoint-tester":
        print("[" + " ".join(["/agnhost", *arguments]) + "]")
        return 0
    if command == "netexec":
        return serve(int(_option(rest, "http-port", "8080")))
    if command == "test-webserver":
        return serve_files(int(_option(rest, "port", "80")))
    print(f'Error: unknown command "{command}" for "app"', file=sys.stderr)
    return 1


def pause() -> int:
    """Until somebody ends it, which is no failure."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    while True:
        signal.pause()


def serve(port: int) -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    address = os.environ.get(POD_ADDRESS, "")
    print(f"Started HTTP server on port {port}", flush=True)
    ThreadingHTTPServer((address, port), Answers).serve_forever()
    return 0


def serve_files(port: int) -> int:
    """Those of its directory. It hears no signal, so that being ended is a failure."""
    try:
        server = ThreadingHTTPServer((os.environ.get(POD_ADDRESS, ""), port), Files)
    except PermissionError as error:
        # Low ports are not for everybody; that it runs counts more than what it serves.
        print(f"port {port} is not served: {error}", file=sys.stderr, flush=True)
        while True:
            signal.pause()
    server.serve_forever()
    return 0


class Files(SimpleHTTPRequestHandler):
    """Says nothing of who asks."""

    def log_message(self, format: str, *args: object) -> None:
        pass


class Answers(BaseHTTPRequestHandler):
    """What netexec answers."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        name = url.path.strip("/").lower()
        if name == "exit":
            self._send("")
            os._exit(int(query.get("code", "0")))
        answers: dict[str, Callable[[], str]] = {
            "": lambda: "NOW: running",
            "hostname": socket.gethostname,
            "clientip": lambda: ":".join(map(str, self.client_address[:2])),
            "echo": lambda: query.get("msg", ""),
            "healthz": lambda: "",
            "readyz": lambda: "",
            "shell": lambda: _shell(query.get("cmd", query.get("shellCommand", "true"))),
        }
        if name not in answers:
            self.send_error(404)
            return
        self._send(answers[name]())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        print(format % args, flush=True)

    def _send(self, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()


def _shell(command: str) -> str:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    return json.dumps({"output": done.stdout + done.stderr}, separators=(",", ":"))


def _option(arguments: list[str], name: str, default: str) -> str:
    for index, argument in enumerate(arguments):
        if argument.startswith((f"--{name}=", f"-{name}=")):
            return argument.partition("=")[2]
        if argument in (f"--{name}", f"-{name}") and index + 1 < len(arguments):
            return arguments[index + 1]
    return default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
