"""Callers without valid credentials read and change nothing; secrets are in no log or refusal."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from faults import raw
from faults.raw import Target
from support.ours import start_ours

PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
"""What kube-apiserver tells everybody: the role system:public-info-viewer."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PASSWORD = "hunter2-kn8x7q"
BODY = b'{"metadata":{"name":"intruder"}}'
STRANGERS = {
    "nobody": "",
    "a wrong token": "Bearer wrong",
    "an unsigned token": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ.",
    "another scheme": "Basic YWRtaW46YWRtaW4=",
}


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    async with raw.target(tmp_path) as running:
        yield running


@pytest.mark.parametrize("who", STRANGERS)
async def test_no_path_and_no_verb_lets_a_stranger_in(target: Target, who: str) -> None:
    paths = [path async for path in _paths(target)]
    assert len(paths) > 200
    before = target.running.instance.core.store.revision
    async with raw.connection(target) as (reader, writer):
        for path in paths:
            for method in METHODS:
                writer.write(_request(method, path, STRANGERS[who]))
                status, body = await _answer(reader, method)
                refusal = 401 if STRANGERS[who].startswith("Bearer") else 403
                # Resources have no verb for OPTIONS; that is refused before anybody is asked for.
                is_verbless = method == "OPTIONS" and status == 405
                assert status == refusal or is_verbless, f"{method} {path}: {status} {body[:200]!r}"
    assert target.running.instance.core.store.revision == before


async def test_a_stranger_gets_the_public_pages_and_nothing_more_than_their_text(
    target: Target,
) -> None:
    for path in PUBLIC:
        status, body = await target.send("GET", path, token="")
        assert status == 200
        assert body == b"ok" or b"gitVersion" in body
    for path in ("/readyz", "/version"):
        assert (await target.send("POST", path, BODY, token=""))[0] == 403


async def test_a_stranger_may_not_become_somebody(target: Target) -> None:
    headers = ("Impersonate-User: kubernetes-admin", "Impersonate-Group: system:masters")
    status, _ = await target.send("GET", "/api/v1/secrets", b"", *headers, token="")
    assert status == 403


def _request(method: str, path: str, authorization: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(BODY)}"]
    lines.append("Content-Type: application/json")
    if authorization:
        lines.append(f"Authorization: {authorization}")
    return "\r\n".join([*lines, "", ""]).encode() + BODY


async def _answer(reader: Any, method: str) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
    body = b"" if method == "HEAD" else await reader.readexactly(length)
    return int(head.split()[1]), body


async def _paths(target: Target) -> AsyncIterator[str]:
    """Every path that discovery names, with an object and each subresource, and the other pages."""
    for page in ("/", "/api", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/logs", "/x"):
        yield page
    versions = ["/api/v1"]
    _, groups = await target.send("GET", "/apis")
    for group in json.loads(groups)["groups"]:
        versions += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    for version in versions:
        yield version
        _, found = await target.send("GET", version)
        for resource in json.loads(found)["resources"]:
            for path in _resource_paths(version, resource):
                yield path


def _resource_paths(version: str, resource: dict[str, Any]) -> Iterator[str]:
    plural, _, subresource = resource["name"].partition("/")
    base = f"{version}/namespaces/default" if resource["namespaced"] else version
    if subresource:
        yield f"{base}/{plural}/default/{subresource}"
        return
    yield f"{version}/{plural}"
    if resource["namespaced"]:
        yield f"{base}/{plural}"
    yield f"{base}/{plural}/default"


# Secrets


def test_secrets_are_in_no_log_no_refusal_and_no_event(tmp_path: Path) -> None:
    server = start_ours(tmp_path, verbose=True)
    encoded = base64.b64encode(PASSWORD.encode()).decode()
    answers = []
    try:
        with server.client() as client:
            for method, path, body in _story(encoded):
                kind = "merge-patch+json" if method == "PATCH" else "json"
                headers = {"Content-Type": f"application/{kind}"}
                answers.append(client.send(method, path, body, headers))
            token = client.send(
                "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {}
            ).json["status"]["token"]
            with server.client(token) as account:
                assert account.send("GET", "/api/v1/secrets").status == 403
            with server.client(f"{token}x") as account:
                assert account.send("GET", "/api/v1/secrets").status == 401
            events = client.send("GET", "/api/v1/events").body.decode()
    finally:
        server.stop()
    keys = [path.read_text() for path in (tmp_path / "pki").glob("*.key")]
    secrets = [PASSWORD, encoded, server.token, token, *(key.splitlines()[1] for key in keys)]
    refusals = "\n".join(a.body.decode() for a in answers if a.status >= 400)
    assert refusals
    shown = {"log": (tmp_path / "serve.log").read_text(), "refusals": refusals, "events": events}
    for where, text in shown.items():
        for secret in secrets:
            assert secret not in text, f"a secret is in the {where}"


def _story(encoded: str) -> Iterator[tuple[str, str, Any]]:
    """A secret made, made again, changed in allowed and forbidden ways, and broken ones refused."""
    path = "/api/v1/namespaces/default/secrets"
    good = {"metadata": {"name": "good"}, "data": {"password": encoded}, "type": "Opaque"}
    yield "POST", path, good
    yield "POST", path, good
    yield "PATCH", f"{path}/good", {"stringData": {"more": PASSWORD}, "immutable": True}
    yield "PATCH", f"{path}/good", {"data": {"password": "AAAA"}}
    yield "PUT", f"{path}/good", good | {"type": "kubernetes.io/tls"}
    docker = {".dockerconfigjson": base64.b64encode(f"{{{PASSWORD}".encode()).decode()}
    kind = "kubernetes.io/dockerconfigjson"
    yield "POST", path, {"metadata": {"name": "bad"}, "type": kind, "data": docker}
    yield "POST", path, {"metadata": {"name": "bad"}, "data": {"a b": encoded}}
    yield "DELETE", f"{path}/good", None


def test_private_files_can_be_read_by_their_owner_alone(tmp_path: Path) -> None:
    server = start_ours(tmp_path)
    server.stop()
    private = [*(tmp_path / "pki").glob("*.key"), tmp_path / "pki" / "admin-token"]
    private += [tmp_path / "kubeconfig", tmp_path / "state.db"]
    for path in private:
        assert path.stat().st_mode & 0o077 == 0, path.name
