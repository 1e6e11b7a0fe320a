"""The dashboard over HTTP and WebSockets, in front of every kind of server."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from random import Random
from typing import Any

import aiohttp
import pytest
import yaml

from fleetqueue.api.crds import all_crds
from fleetqueue.base import codec
from fleetqueue.base.clock import SystemClock
from fleetqueue.dashboard import server
from fleetqueue.dashboard.access import PROTOCOL, TOKEN_PROTOCOL
from fleetqueue.dashboard.kinds import FOLLOWED
from fleetqueue.dashboard.running import DashboardOptions, showing, showing_with
from fleetqueue.errors import UserError
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import AlreadyExists, NotFound
from fleetqueue.kube.resources import CRDS, Object, Resource
from support.kueue import cluster_queue, flavor, kinds, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.5")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
RBAC = "rbac.authorization.k8s.io"
MARKUP = "<img src=x onerror=alert(1)>"


class Browser:
    """Asks as a browser would, with a token if it was given one."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str = "") -> None:
        self.session, self.url, self.token = session, url.rstrip("/"), token

    async def get(self, path: str, **headers: str) -> tuple[int, str, Any]:
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        async with self.session.get(self.url + path, headers=headers) as answer:
            return answer.status, await answer.text(), answer.headers

    def listen(self, path: str, **headers: str) -> Any:
        protocols = [PROTOCOL]
        if self.token:
            encoded = base64.urlsafe_b64encode(self.token.encode()).decode().rstrip("=")
            protocols.append(TOKEN_PROTOCOL + encoded)
        return self.session.ws_connect(self.url + path, protocols=protocols, headers=headers)

    async def refusal(self, path: str, **headers: str) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with self.listen(path, **headers):
                pass
        return refused.value.status


async def told(socket: aiohttp.ClientWebSocketResponse) -> Any:
    async with asyncio.timeout(20):
        return codec.decode((await socket.receive()).data)


async def until(socket: aiohttp.ClientWebSocketResponse, name: str) -> Any:
    while True:
        found = await told(socket)
        if any(row["name"] == name for row in found.get("items") or ()):
            return found


@asynccontextmanager
async def looking(
    client: Client, *, has_login: bool = False, token: str = ""
) -> AsyncIterator[Browser]:
    options = DashboardOptions(has_login=has_login)
    async with (
        showing_with(client, SystemClock(), Random(1), options) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Browser(session, url, token)


@pytest.fixture
async def queues(client: Client, namespace: str) -> AsyncIterator[Client]:
    """Kueue's kinds, a queue and a workload; nobody works on them."""
    for crd in definitions():
        await client.apply(crd, force=True, resource=CRDS)
    for crd in definitions():
        await established(client, crd["metadata"]["name"])
    made = workload("train")
    made["metadata"]["annotations"] = {"note": MARKUP}
    env = [{"name": "HF_TOKEN", "value": "hf_1"}]
    made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["env"] = env
    for obj in (flavor("spot"), cluster_queue("research"), local_queue("main", "research"), made):
        if "namespace" in obj["metadata"]:
            obj["metadata"]["namespace"] = namespace
        try:
            await client.create(obj)
        except AlreadyExists:
            assert not obj["metadata"].get("namespace")
    yield client
    for kind, name in ((kinds.CLUSTER_QUEUE, "research"), (kinds.RESOURCE_FLAVOR, "spot")):
        with suppress(NotFound):
            await client.delete(kind, name)


@cache
def definitions() -> list[Object]:
    """Built once, for they are large."""
    names = {f"{kind.plural}.{kind.group}" for kind in FOLLOWED}
    return [crd for crd in all_crds() if crd["metadata"]["name"] in names]


async def established(client: Client, name: str) -> None:
    for _ in range(200):
        conditions = (await client.get(CRDS, name)).get("status", {}).get("conditions") or ()
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{name} is never served")


async def test_snapshots_are_streamed(queues: Client, namespace: str) -> None:
    async with looking(queues) as browser, browser.listen("/ws/workloads") as socket:
        assert socket.protocol == PROTOCOL
        row = next(
            row for row in (await until(socket, "train"))["items"] if row["namespace"] == namespace
        )
        assert (row["queue"], row["clusterQueue"], row["phase"]) == ("main", "research", "PENDING")

        later = workload("later")
        later["metadata"]["namespace"] = namespace
        await queues.create(later)
        assert await until(socket, "later")


async def test_every_stream_answers(queues: Client, namespace: str) -> None:
    async with looking(queues) as browser:
        for path, member in (
            ("/ws/namespaces", "namespaces"),
            ("/ws/workloads/dashboard", "counts"),
            (f"/ws/workloads?namespace={namespace}", "items"),
            (f"/ws/workload/{namespace}/train", "workload"),
            (f"/ws/workload/{namespace}/train/events", "items"),
            ("/ws/local-queues", "items"),
            (f"/ws/local-queue/{namespace}/main", "localQueue"),
            (f"/ws/local-queue/{namespace}/main/workloads", "items"),
            ("/ws/cluster-queues", "items"),
            ("/ws/cluster-queue/research", "clusterQueue"),
            ("/ws/cohorts", "items"),
            ("/ws/cohort/none", "error"),
            ("/ws/resource-flavors", "items"),
            ("/ws/resource-flavor/spot", "resourceFlavor"),
        ):
            async with browser.listen(path) as socket:
                assert member in await told(socket), path


async def test_objects_come_as_json_and_yaml_without_credentials(
    queues: Client, namespace: str
) -> None:
    async with looking(queues) as browser:
        path = f"/api/workload/train?namespace={namespace}"
        status, text, headers = await browser.get(path)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        found: Object = codec.decode(text)
        assert (found["kind"], found["spec"]["queueName"]) == ("Workload", "main")
        assert "hf_1" not in text
        assert found["metadata"]["annotations"]["note"] == MARKUP

        _, text, headers = await browser.get(f"{path}&output=yaml")
        assert headers["Content-Type"].startswith("application/yaml")
        assert yaml.safe_load(text)["metadata"]["name"] == "train"
        _, text, _ = await browser.get("/api/clusterqueues/research", Accept="application/yaml")
        assert yaml.safe_load(text)["kind"] == "ClusterQueue"


async def test_what_is_not_there_or_nobodys_business_is_refused(
    queues: Client, namespace: str
) -> None:
    async with looking(queues) as browser:
        for path, expected in (
            (f"/api/secrets/token?namespace={namespace}", 404),
            (f"/api/workloads/none?namespace={namespace}", 404),
            ("/api/workloads/train", 400),
            (f"/api/workloads/..?namespace={namespace}", 404),
            (f"/api/workloads/%2e%2e?namespace={namespace}", 404),
            ("/api/workloads/train?namespace=..", 400),
            (f"/api/workloads/a%2Fb?namespace={namespace}", 400),
            (f"/ws/workload/{namespace}/a,b", 400),
            ("/ws/workloads", 426),
            ("/static/..%2Fserver.py", 404),
            ("/nowhere", 404),
        ):
            status, text, headers = await browser.get(path)
            assert (status, "error" in codec.decode(text)) == (expected, True), path
            assert headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_the_page_is_the_same_at_every_address(queues: Client) -> None:
    async with looking(queues) as browser:
        for path in ("/", "/workloads", "/workload/a/b", "/cohort/x", "/login"):
            status, text, headers = await browser.get(path)
            assert (status, headers["X-Content-Type-Options"]) == (200, "nosniff")
            assert '<main id="main"' in text
        status, text, _ = await browser.get("/nowhere", Accept="text/html")
        assert (status, '<main id="main"' in text) == (404, True)
        status, _, headers = await browser.get("/static/main.js")
        assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
        tag = headers["ETag"]
        assert (await browser.get("/static/main.js", **{"If-None-Match": tag}))[0] == 304
        assert (await browser.get("/healthz"))[:2] == (200, "ok")


async def test_pages_of_other_sites_and_other_names_are_refused(queues: Client) -> None:
    async with looking(queues) as browser:
        assert await browser.refusal("/ws/workloads", Origin="https://evil.example") == 403
        assert (await browser.get("/auth/status", Host="evil.example"))[0] == 403
        own = browser.url
        async with browser.listen("/ws/cluster-queues", Origin=own) as socket:
            assert "items" in await told(socket)


async def test_without_login_everybody_here_may_look(queues: Client) -> None:
    async with looking(queues) as browser:
        found = codec.decode((await browser.get("/auth/status"))[1])
        assert found == {"enabled": False, "authenticated": True, "user": ""}


async def token_with(client: Client, namespace: str, *rules: Object) -> str:
    """Of an account that may do this, in its namespace."""
    metadata = {"name": "viewer", "namespace": namespace}
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await client.create(
        {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}
    )
    await client.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "viewer"},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        }
    )
    body: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await client.create_subresource(ACCOUNTS, "viewer", "token", body, namespace)
    return str(made["status"]["token"])


READS = {
    "apiGroups": ["kueue.x-k8s.io"],
    "resources": ["workloads", "localqueues"],
    "verbs": ["get", "list"],
}


async def test_with_login_people_see_what_their_token_lets_them(
    queues: Client, namespace: str
) -> None:
    token = await token_with(queues, namespace, READS)
    async with looking(queues, has_login=True, token=token) as browser:
        found = codec.decode((await browser.get("/auth/status"))[1])
        user = f"system:serviceaccount:{namespace}:viewer"
        assert found == {"enabled": True, "authenticated": True, "user": user}

        async with browser.listen(f"/ws/workloads?namespace={namespace}") as socket:
            assert [row["name"] for row in (await told(socket))["items"]] == ["train"]
        async with browser.listen(f"/ws/workload/{namespace}/train") as socket:
            assert (await told(socket))["row"]["name"] == "train"
        assert (await browser.get(f"/api/workloads/train?namespace={namespace}"))[0] == 200

        assert await browser.refusal("/ws/workloads") == 403
        assert await browser.refusal("/ws/cluster-queue/research") == 403
        assert await browser.refusal(f"/ws/workload/{namespace}/train/events") == 403
        assert (await browser.get("/api/clusterqueues/research"))[0] == 403
        status, text, _ = await browser.get("/ws/cluster-queues")
        assert (status, "may not list clusterqueues" in text) == (403, True)


@pytest.mark.parametrize("token", ["", "nonsense"])
async def test_with_login_nobody_without_a_token_sees_anything(queues: Client, token: str) -> None:
    async with looking(queues, has_login=True, token=token) as browser:
        found = codec.decode((await browser.get("/auth/status"))[1])
        assert found == {"enabled": True, "authenticated": False, "user": ""}
        for path in ("/ws/workloads", "/ws/namespaces", "/ws/workload/a/b"):
            assert await browser.refusal(path) == 401
        assert (await browser.get("/api/clusterqueues/research"))[0] == 401
        assert (await browser.get("/login"))[0] == 200


async def test_a_right_that_is_taken_away_ends_the_stream(
    queues: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr("fleetqueue.kube.delegated_access.KEPT", SystemClock().now().resolution)
    token = await token_with(queues, namespace, READS)
    async with (
        looking(queues, has_login=True, token=token) as browser,
        browser.listen(f"/ws/workloads?namespace={namespace}") as socket,
    ):
        await told(socket)
        bindings = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
        await queues.delete(bindings, "viewer", namespace)
        async with asyncio.timeout(20):
            while (message := await socket.receive()).type == aiohttp.WSMsgType.TEXT:
                pass
        assert (message.type, socket.close_code) == (
            aiohttp.WSMsgType.CLOSE,
            server.NO_LONGER_ALLOWED,
        )


async def test_there_is_an_end_to_how_many_may_listen(
    queues: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LISTENERS_MAX", 1)
    async with looking(queues) as browser, browser.listen("/ws/workloads") as socket:
        await told(socket)
        assert await browser.refusal("/ws/workloads") == 503


async def test_a_port_that_is_taken_is_told(queues: Client) -> None:
    async with looking(queues) as browser:
        port = int(browser.url.rpartition(":")[2])
        options = DashboardOptions(port=port)
        with pytest.raises(UserError, match="the port is taken"):
            async with showing_with(queues, SystemClock(), Random(1), options):
                pass


async def test_without_login_no_other_address_is_listened_on() -> None:
    with pytest.raises(UserError, match="add --login"):
        async with showing(DashboardOptions(host="0.0.0.0")):
            pass
