"""A webhook server over HTTPS with its own authority; the path of a request chooses its answer."""

import base64
import json
import ssl
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trustme

Review = dict[str, Any]


class HookServer:
    """Runs in a thread; `reviews` holds what was asked, oldest first."""

    def __init__(self) -> None:
        self.reviews: list[Review] = []
        authority = trustme.CA()
        self.bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        self._server = _QuietServer(("127.0.0.1", 0), _handler(self.reviews))
        self._server.socket = _context(authority).wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "HookServer":
        self._thread.start()
        return self

    def seen(self) -> list[Review]:
        """What was asked, but for the requests by which a case finds out that it is asked."""
        return [r for r in self.reviews if r["request"].get("name") != "probe"]

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that gave up is part of the story."""


def _context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = authority.issue_cert("127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_bytes(certificate.private_key_and_cert_chain_pem.bytes())
        context.load_cert_chain(path)
    return context


def _handler(reviews: list[Review]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reviews.append(review)
            status, body = _answer(urlsplit(self.path).path.strip("/"), review)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _answer(path: str, review: Review) -> tuple[int, bytes]:
    if path == "broken":
        return 500, b"out of order"
    if path == "garbage":
        return 200, b"no JSON"
    if path == "slow":
        time.sleep(2)
    if review["kind"] == "ConversionReview":
        response = _conversion(path, review["request"])
    else:
        response = _ANSWERS[path](review["request"])
    whole = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
    if path == "other-version":
        whole["apiVersion"] = "admission.k8s.io/v7"
    return 200, json.dumps(whole).encode()


def _allow(request: Review, **more: Any) -> Review:
    return {"uid": request["uid"], "allowed": True, **more}


def _deny(request: Review, **status: Any) -> Review:
    return {"uid": request["uid"], "allowed": False, "status": status}


def _patch(request: Review, *operations: Review) -> Review:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return _allow(request, patchType="JSONPatch", patch=patch)


def _label(request: Review) -> Review:
    """Adds the label `hooked`, or one more letter to it."""
    metadata = request["object"]["metadata"]
    labels = dict(metadata.get("labels") or {})
    labels["hooked"] = labels.get("hooked", "") + "y"
    return _patch(request, {"op": "add", "path": "/metadata/labels", "value": labels})


_ANSWERS = {
    "allow": _allow,
    "slow": _allow,
    "other-version": _allow,
    "deny": _deny,
    "deny-message": lambda request: _deny(request, message="not today"),
    "deny-reason": lambda request: _deny(request, reason="Weather"),
    "deny-code": lambda request: _deny(request, message="too hot", code=418, reason="Teapot"),
    "deny-low": lambda request: _deny(request, message="strange", code=200),
    "deny-details": lambda request: _deny(
        request, message="no", code=422, reason="Invalid",
        details={"causes": [{"field": "data.x", "message": "bad", "reason": "FieldValueInvalid"}]},
    ),
    "warn": lambda request: _allow(request, warnings=["mind the gap", 'and "quotes"']),
    "label": _label,
    "data": lambda request: _patch(
        request, {"op": "add", "path": "/data", "value": {"from": "webhook"}}
    ),
    "remove": lambda request: _patch(request, {"op": "remove", "path": "/nosuch"}),
    "unknown": lambda request: _patch(request, {"op": "add", "path": "/nosuch", "value": 1}),
    "wrong-type": lambda request: _patch(request, {"op": "add", "path": "/data", "value": [1]}),
    "no-type": lambda request: _allow(request, patch=base64.b64encode(b"[]").decode()),
    "other-uid": lambda request: {"uid": "other", "allowed": True},
    "nothing": lambda request: {},
}  # fmt: skip


def _conversion(path: str, request: Review) -> Review:
    """v1 keeps spec.size, v2 keeps spec.amount."""
    version = request["desiredAPIVersion"]
    if path == "convert-failure":
        result: Review = {"status": "Failure", "message": "cannot convert"}
        return {"uid": request["uid"], "result": result}
    objects = [_converted(obj, version) for obj in request["objects"]]
    if path == "convert-fewer":
        objects = objects[:-1]
    if path == "convert-renamed":
        for obj in objects:
            obj["metadata"] = {**obj["metadata"], "name": "other"}
    if path == "convert-labelled":
        for obj in objects:
            obj["metadata"] = {**obj["metadata"], "labels": {"converted": version.split("/")[1]}}
    return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}


def _converted(obj: Review, version: str) -> Review:
    spec = dict(obj.get("spec") or {})
    old, new = ("size", "amount") if version.endswith("/v2") else ("amount", "size")
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": version, "spec": spec}
