"""API servers beside ours: requests reach them, and they are seen in discovery and OpenAPI."""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api.served_groups import ServedGroup
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.aggregation.calling import FrontProxy, Incoming, Outgoing
from fleetqueue.apiserver.discovery import AGGREGATED_TYPE
from fleetqueue.apiserver.instance import Settings
from fleetqueue.apiserver.log import MemoryLog
from fleetqueue.apiserver.openapi.protobuf import CONTENT_TYPE
from fleetqueue.apiserver.reaching import CallFailed
from fleetqueue.apiserver.request import Request
from fleetqueue.base import codec

from .conftest import ADMIN, Api, started

Object = dict[str, Any]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
HOME = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
GROUP = "/apis/wind.example.com"
LIST = {
    "kind": "APIResourceList",
    "groupVersion": "wind.example.com/v1",
    "resources": [
        {"name": "gusts", "singularName": "gust", "kind": "Gust", "verbs": ["get"]},
        {"name": "gusts/speed", "singularName": "", "kind": "Speed", "verbs": ["get"]},
    ],
}
SPEED = {"$ref": "#/definitions/Speed"}
READ = {"get": {"responses": {"200": {"description": "OK", "schema": SPEED}}}}
WHOLE = {
    "swagger": "2.0",
    "paths": {f"{GROUP}/v1/gusts/{{name}}/speed": READ, "/version/": READ},
    "definitions": {"Speed": {"type": "object"}, "Other": {"type": "object"}},
}
TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
UNREACHABLE = {
    "name": "all.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"service": {"namespace": "default", "name": "gone"}},
    "rules": [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
    ],
}
POD_NAME = "io.k8s.api.core.v1.Pod"
POD = f"#/definitions/{POD_NAME}"
V3_PATH = {"serverRelativeURL": f"/openapi/v3{GROUP}/v1?hash=1"}


class Remote:
    """The server beside ours, as the seam shows it."""

    def __init__(self) -> None:
        self.asked: list[Outgoing] = []
        self.is_down = False
        self.raw: dict[str, bytes] = {}
        self.answers: dict[str, Object] = {
            f"{GROUP}/v1": LIST,
            "/openapi/v2": WHOLE,
            "/openapi/v3": {"paths": {"apis/wind.example.com/v1": V3_PATH, "version": {}}},
            f"{GROUP}/v1/gusts/a": {"kind": "Gust"},
        }

    async def call(self, outgoing: Outgoing) -> Incoming:
        self.asked.append(outgoing)
        if self.is_down:
            raise CallFailed("dial tcp 10.1.2.3:9443: connect: connection refused")
        path = outgoing.url.removeprefix("https://10.1.2.3:9443").partition("?")[0]
        found = self.answers.get(path)
        headers = [("Content-Type", "application/json"), ("X-Own", "1"), ("Date", "then")]
        headers += [("Warning", '299 - "mind the \\"gap\\""')]
        body = self.raw.get(path, codec.encode(found or {}))
        return Incoming(200 if found else 404, headers, body)

    async def close(self) -> None:
        pass


@pytest.fixture
def remote(api: Api) -> Remote:
    made = Remote()
    api.instance.proxy.caller = made
    return made


def api_service(version: str = "v1", **more: Any) -> Object:
    service = {"namespace": "default", "name": "wind", "port": 443}
    spec = {
        "group": "wind.example.com",
        "version": version,
        "groupPriorityMinimum": 2000,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": service,
        **more,
    }
    return {"metadata": {"name": f"{version}.wind.example.com"}, "spec": spec}


async def with_service(api: Api) -> None:
    spec = {"ports": [{"port": 443}]}
    await api.post(f"{HOME}/services", {"metadata": {"name": "wind"}, "spec": spec})
    assert api.status == 201


async def with_endpoint(api: Api, *, ready: bool = True) -> None:
    made = {
        "metadata": {"name": "wind", "labels": {"kubernetes.io/service-name": "wind"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": ready}}],
        "ports": [{"name": "", "port": 9443}],
    }
    await api.post(SLICES, made)
    assert api.status == 201


async def register(api: Api, version: str = "v1", **more: Any) -> None:
    await api.post(SERVICES, api_service(version, **more))
    assert api.status == 201
    await api.settle()


async def condition(api: Api, version: str = "v1") -> tuple[str, str, str]:
    found = await api.get(f"{SERVICES}/{version}.wind.example.com")
    [only] = found["status"]["conditions"]
    return only["status"], only["reason"], only["message"]


async def ready(api: Api) -> None:
    await with_service(api)
    await with_endpoint(api)
    await register(api)
    assert await condition(api) == ("True", "Passed", "all checks passed")


async def test_the_condition_follows_what_is_behind_the_service(api: Api, remote: Remote) -> None:
    await register(api)
    where = 'service/wind in "default"'
    assert await condition(api) == ("False", "ServiceNotFound", f"{where} is not present")
    response = await api.send("GET", f"{GROUP}/v1/gusts/a")
    assert (response.status, response.body) == (503, b"service unavailable\n")
    await with_service(api)
    await api.settle()
    missing = f"cannot find endpointslices for {where}"
    assert await condition(api) == ("False", "EndpointsNotFound", missing)
    remote.is_down = True
    await with_endpoint(api)
    await api.settle()
    url = f"https://10.1.2.3:9443{GROUP}/v1"
    why = f'{url}: Get "{url}": dial tcp 10.1.2.3:9443: connect: connection refused'
    told = ("False", "FailedDiscoveryCheck", f"failing or missing response from {why}")
    assert await condition(api) == told
    remote.is_down = False
    await _wait(31)
    await api.settle()
    assert await condition(api) == ("True", "Passed", "all checks passed")


async def test_a_port_that_the_service_lacks_is_told(api: Api, remote: Remote) -> None:
    await with_service(api)
    await with_endpoint(api, ready=False)
    await register(api)
    _, reason, text = await condition(api)
    assert reason == "MissingEndpoints"
    assert text.endswith('have no addresses with port name ""')
    await register(api, "v2", service={"namespace": "default", "name": "wind", "port": 8443})
    why = 'service/wind in "default" is not listening on port 8443'
    assert await condition(api, "v2") == ("False", "ServicePortError", why)


async def test_a_request_is_passed_on_for_the_one_who_asks(api: Api, remote: Remote) -> None:
    await ready(api)
    user = User("ann", "7", ("system:masters",), {"example.com/a b": ("x", "y")})
    secret = {"authorization": "Bearer x", "x_remote_user": "root", "accept": "a/b"}
    path = f"{GROUP}/v1/gusts/a?limit=2&all="
    response = await api.send("POST", path, {"a": 1}, user=user, **secret)
    sent = remote.asked[-1]
    assert (sent.method, sent.body) == ("POST", b'{"a":1}')
    assert sent.url == f"https://10.1.2.3:9443{GROUP}/v1/gusts/a?all=&limit=2"
    assert (sent.server_name, sent.is_unverified) == ("wind.default.svc", True)
    assert sorted(sent.headers) == [
        ("X-Remote-Extra-example.com%2Fa%20b", "x"),
        ("X-Remote-Extra-example.com%2Fa%20b", "y"),
        ("X-Remote-Group", "system:masters"),
        ("X-Remote-Uid", "7"),
        ("X-Remote-User", "ann"),
        ("accept", "a/b"),
        ("content-type", "application/json"),
        ("user-agent", "test/1"),
    ]
    assert (response.status, response.headers) == (200, {"X-Own": "1"})
    assert (response.body, response.warnings) == (b'{"kind":"Gust"}', ['mind the "gap"'])


async def test_somebody_else_is_asked_for_and_whoever_may_not_is_refused_here(
    api: Api, remote: Remote
) -> None:
    await ready(api)
    count = len(remote.asked)
    named = {"impersonate_user": "bob", "impersonate_group": "system:masters\nothers"}
    await api.send("GET", f"{GROUP}/v1/gusts/a", **named)
    assert [pair for pair in remote.asked[-1].headers if pair[0].startswith("X-")] == [
        ("X-Remote-User", "bob"),
        ("X-Remote-Group", "system:masters"),
        ("X-Remote-Group", "others"),
        ("X-Remote-Group", "system:authenticated"),
    ]
    await api.send("GET", f"{GROUP}/v1/gusts/a", user=User("eve"))
    assert (api.status, len(remote.asked)) == (403, count + 1)


async def test_a_token_in_the_protocols_of_a_websocket_stays_here(api: Api, remote: Remote) -> None:
    await ready(api)
    named = {"sec_websocket_protocol": "base64url.bearer.authorization.k8s.io.c2VjcmV0, v4"}
    await api.send("GET", f"{GROUP}/v1/gusts/a", **named)
    assert not [name for name, _ in remote.asked[-1].headers if "websocket" in name]


async def test_a_connection_that_leaves_http_is_refused(api: Api, remote: Remote) -> None:
    await ready(api)
    count = len(remote.asked)
    asked = Request("GET", f"{GROUP}/v1/gusts/a", user=ADMIN, channel=object())
    response = await api.instance.server.handle(asked)
    told = "connections that leave HTTP are not passed on\n"
    assert (response.status, response.encoded().decode()) == (501, told)
    assert len(remote.asked) == count


@pytest.mark.parametrize(
    ("path", "seconds"),
    [
        ("", 5),
        ("/gusts", 60),
        ("/gusts?watch=true", None),
        ("/watch/gusts", None),
        ("/namespaces/default/gusts/a", 60),
        ("/namespaces/default/gusts/a/log", None),
    ],
)
async def test_only_what_is_meant_to_last_is_waited_for_without_end(
    api: Api, remote: Remote, path: str, seconds: float | None
) -> None:
    await ready(api)
    await api.send("GET", f"{GROUP}/v1{path}")
    assert remote.asked[-1].seconds == seconds


async def test_a_server_that_is_gone_is_told_in_plain_text(api: Api, remote: Remote) -> None:
    await ready(api)
    remote.is_down = True
    response = await api.send("GET", f"{GROUP}/v1/gusts/a")
    why = "dial tcp 10.1.2.3:9443: connect: connection refused"
    assert response.encoded().decode() == f"error trying to reach service: {why}\n"
    assert (response.status, response.content_type) == (503, "text/plain; charset=utf-8")


async def test_its_group_is_in_discovery_where_its_priority_puts_it(
    api: Api, remote: Remote
) -> None:
    await ready(api)
    await register(api, "v1beta1", versionPriority=20)
    groups = {group["name"]: group for group in (await api.get("/apis"))["groups"]}
    assert list(groups)[-1] == "wind.example.com"
    found = groups["wind.example.com"]
    assert [each["version"] for each in found["versions"]] == ["v1beta1", "v1"]
    assert (await api.get(GROUP))["preferredVersion"]["version"] == "v1beta1"
    assert await api.get(f"{GROUP}/v1") == LIST
    response = await api.send("GET", "/apis", accept=AGGREGATED_TYPE)
    stale, current = codec.decode(response.encoded())["items"][-1]["versions"]
    assert stale == {"version": "v1beta1", "freshness": "Stale"}
    home = {"group": "wind.example.com", "version": "v1"}
    [gusts] = current["resources"]
    assert gusts["responseKind"] == {**home, "kind": "Gust"}
    assert gusts["subresources"][0]["responseKind"] == {**home, "kind": "Speed"}
    count = len(remote.asked)
    await api.send("GET", "/apis", accept=AGGREGATED_TYPE)
    assert len(remote.asked) == count


async def test_its_documents_are_among_ours(api: Api, remote: Remote) -> None:
    await ready(api)
    document = await api.get("/openapi/v2")
    assert f"{GROUP}/v1/gusts/{{name}}/speed" in document["paths"]
    assert "Speed" in document["definitions"]
    assert "Other" not in document["definitions"]
    index = (await api.get("/openapi/v3"))["paths"]
    assert index["apis/wind.example.com/v1"] == V3_PATH
    await api.send("GET", f"/openapi/v3{GROUP}/v1?hash=1")
    assert remote.asked[-1].url == f"https://10.1.2.3:9443/openapi/v3{GROUP}/v1?hash=1"


@pytest.mark.parametrize(
    ("version", "document"),
    [
        ("v2", {"paths": [], "definitions": {}}),
        ("v2", {"paths": {f"{GROUP}/v1/gusts": {"$ref": POD}}, "definitions": {POD_NAME: "x"}}),
        ("v2", {"paths": {f"{GROUP}/v1/gusts": 3}}),
        ("v2", {"paths": {f"{GROUP}/v1/gusts": READ}, "definitions": {"Speed": {"minimum": "x"}}}),
        ("v3", {"paths": 3}),
        ("v3", {"paths": {"apis/wind.example.com/v1": 3}}),
        ("v3", {"paths": "apis/wind.example.com/v1"}),
    ],
)
async def test_documents_that_make_no_sense_leave_ours_as_they_are(
    api: Api, remote: Remote, version: str, document: Object
) -> None:
    ours = await api.get(f"/openapi/{version}")
    await ready(api)
    remote.answers[f"/openapi/{version}"] = document
    assert await api.get(f"/openapi/{version}") == ours
    assert (await api.send("GET", "/openapi/v2", accept=CONTENT_TYPE)).status == 200


async def test_a_list_that_cannot_be_read_is_told_as_an_answer(api: Api, remote: Remote) -> None:
    remote.raw[f"{GROUP}/v1"] = remote.raw["/openapi/v2"] = b"[" * 5000
    await ready(api)
    response = await api.send("GET", "/apis", accept=AGGREGATED_TYPE)
    [only] = codec.decode(response.encoded())["items"][-1]["versions"]
    assert only == {"version": "v1", "freshness": "Stale"}
    assert (await api.send("GET", "/openapi/v2")).status == 200


async def test_what_others_in_this_process_answer_is_theirs_in_discovery_too(
    api: Api, remote: Remote
) -> None:
    await ready(api)
    group = ServedGroup("wind.example.com", "Wind", ("v2", "v1"), (), {}, lambda asked: {})
    api.instance.core.extensions.add(group)
    [listed] = [g for g in (await api.get("/apis"))["groups"] if g["name"] == group.name]
    found = await api.get(GROUP)
    assert found == {"kind": "APIGroup", "apiVersion": "v1", **listed}


async def test_apiservices_themselves_are_never_sent_elsewhere(api: Api, remote: Remote) -> None:
    await with_service(api)
    await with_endpoint(api)
    made = api_service(group="apiregistration.k8s.io")
    made["metadata"]["name"] = "v1.apiregistration.k8s.io"
    await api.post(SERVICES, made)
    await api.settle()
    count = len(remote.asked)
    await api.delete(f"{SERVICES}/v1.apiregistration.k8s.io")
    assert (api.status, len(remote.asked)) == (200, count)


async def test_what_is_deleted_is_nobody_s_again(api: Api, remote: Remote) -> None:
    await ready(api)
    await api.delete(f"{SERVICES}/v1.wind.example.com")
    await api.settle()
    assert (await api.send("GET", f"{GROUP}/v1/gusts/a")).status == 404
    assert "wind.example.com" not in [g["name"] for g in (await api.get("/apis"))["groups"]]


async def test_whom_to_believe_is_told_when_that_can_be_written(log: MemoryLog) -> None:
    api = await started(log)
    await api.post(HOOKS, {"metadata": {"name": "all"}, "webhooks": [UNREACHABLE]})
    assert api.status == 201
    await api.instance.stop()
    front_proxy = FrontProxy(b"the authority", Path("unused.crt"), Path("unused.key"))
    api = await started(log, Settings(front_proxy=front_proxy), is_settled=False)
    assert (await api.send("GET", TRUST)).status == 404
    await api.delete(f"{HOOKS}/all")
    await api.settle()
    found = await api.get(TRUST)
    assert found["data"]["requestheader-client-ca-file"] == "the authority"
    await api.delete(TRUST)
    await api.settle()
    assert (await api.get(TRUST))["data"] == found["data"]
    await api.instance.stop()


async def _wait(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)
