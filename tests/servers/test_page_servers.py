"""Pages that are served beside an API server, for those whom it lets."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from fleetqueue import attached, kueue
from fleetqueue.api.served_groups import Answered, Asked, ServedGroup, not_found
from fleetqueue.apiserver.access.certificates import Authority
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.delegated_access import DelegatedAccess
from fleetqueue.kube.group_pages import GroupPages
from fleetqueue.kube.metrics_page import MetricsPage
from fleetqueue.kube.page_server import Answer, PageServer
from fleetqueue.kube.resources import API_SERVICES, Resource
from fleetqueue.kube.webhook_certificates import CertificateKeeper, Registration
from support.kueue import cluster_queue, flavor, local_queue, workload
from support.ports import free_port
from support.reference import start_reference
from support.server import Server

ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
RBAC = "rbac.authorization.k8s.io"


@asynccontextmanager
async def serving(
    client: Client, answer: Any, names: list[str], services: list[str] | None = None
) -> AsyncIterator[tuple[PageServer, CertificateKeeper]]:
    """A server of pages, and its certificates; `answer` is made with whom it may ask."""
    clock = SystemClock()
    registration = Registration(api_services=services or [])
    keeper = CertificateKeeper(names, clock=clock, client=client, registration=registration)
    access = DelegatedAccess(client, clock)
    made: Answer = answer(access)
    server = PageServer(made, keeper, access, host="127.0.0.1")
    task = asyncio.create_task(server.run())
    try:
        await server.wait_listening()
        yield server, keeper
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def token_of(client: Client, namespace: str, name: str) -> str:
    await client.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
        resource=ACCOUNTS,
    )
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await client.create_subresource(ACCOUNTS, name, "token", body, namespace)
    return str(made["status"]["token"])


async def allow(client: Client, name: str, rules: list[Any], subject: Any) -> None:
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    await client.create({**role, "rules": rules})
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
    await client.create(binding)


@pytest.mark.rule("kueue 11.2")
async def test_metrics_need_a_token_that_may_read_them(client: Client, namespace: str) -> None:
    stranger = await token_of(client, namespace, "stranger")
    reader = await token_of(client, namespace, "reader")
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    await allow(client, f"metrics-{namespace}", rules, subject)

    async def expose() -> bytes:
        return b"kueue_build_info 1.0\n"

    async with serving(
        client, lambda access: MetricsPage(expose, access).answer, ["127.0.0.1"]
    ) as (server, keeper):
        trust = ssl.create_default_context(cadata=keeper.bundle.trusted.decode())
        told = await _ask(
            f"https://127.0.0.1:{server.port}", trust, ("", "wrong", stranger, reader)
        )

    assert told[""] == told["wrong"] == (401, "Unauthorized\n")
    user = f"system:serviceaccount:{namespace}:stranger"
    assert told[stranger] == (403, f"Authorization denied for user {user}\n")
    assert told[reader] == (200, "kueue_build_info 1.0\n")


async def _ask(
    url: str, trust: ssl.SSLContext, tokens: tuple[str, ...]
) -> dict[str, tuple[int, str]]:
    told = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        for token in tokens:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(f"{url}/metrics", headers=headers) as response:
                told[token] = (response.status, await response.text())
        async with session.get(f"{url}/healthz") as response:
            assert response.status == 200
    return told


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A kube-apiserver that passes requests on, and tells in headers for whom."""
    folder: Path = tmp_path_factory.mktemp("proxied")
    authority = Authority.load_or_create(folder / "pki", SystemClock())
    pair = authority.client("proxy", "front-proxy", ())
    (folder / "proxy.crt").write_bytes(pair.certificate)
    (folder / "proxy.key").write_bytes(pair.key)
    (folder / "proxy-ca.crt").write_bytes(authority.certificate)
    server = start_reference(
        folder / "server",
        controllers=False,
        tokens='eve-token,eve,eve,""\nada-token,ada,ada,""\n',
        flags=[
            f"--requestheader-client-ca-file={folder / 'proxy-ca.crt'}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={folder / 'proxy.crt'}",
            f"--proxy-client-key-file={folder / 'proxy.key'}",
        ],
    )
    yield server
    server.stop()


def things() -> ServedGroup:
    def answer(asked: Asked) -> dict[str, Any]:
        if asked.name == "missing":
            raise not_found("shown.example.com", "thing", asked.name)
        kind = {"kind": "Look", "apiVersion": f"shown.example.com/{asked.version}"}
        return {**kind, "metadata": {}, "name": asked.name, "limit": asked.number("limit", 7)}

    resource = Answered("things", "thing", "Thing", False, "look", "Look", ("limit",))
    schemas = {"Look": {"type": "object"}}
    return ServedGroup("shown.example.com", "Shown", ("v1",), (resource,), schemas, answer)


@pytest.mark.rule("kueue 11.1")
async def test_a_group_is_reached_through_the_api_server(proxied: Server) -> None:
    access = kubeconfig.load([proxied.kubeconfig], must_exist=True).access()
    client = connect_to(access, clock=SystemClock(), random=Random(1), field_manager="tests")
    try:
        await _reach(client, proxied)
    finally:
        await client.close()


async def _reach(client: Client, proxied: Server) -> None:
    names = ["shown.default.svc"]
    async with serving(
        client,
        lambda access: GroupPages([things()], access).answer,
        names,
        ["v1.shown.example.com"],
    ) as (server, keeper):
        await _register(client, server.port)
        await keeper.publish()
        rules = [{"apiGroups": ["shown.example.com"], "resources": ["things/look"],
                  "verbs": ["get"]}]  # fmt: skip
        await allow(client, "lookers", rules, {"apiGroup": RBAC, "kind": "User", "name": "ada"})
        base = "/apis/shown.example.com/v1"
        with proxied.client() as caller:

            async def get(path: str, user: str) -> Any:
                headers = {"Authorization": f"Bearer {user}-token"}
                return await asyncio.to_thread(caller.send, "GET", path, None, headers)

            # Once the API server has found us.
            for _ in range(120):
                listed = await get(base, "ada")
                if listed.status == 200:
                    break
                await asyncio.sleep(0.5)
            names = [each["name"] for each in listed.json["resources"]]
            assert names == ["things", "things/look"]
            found = await get(f"{base}/things/one/look?limit=3", "ada")
            assert (found.status, found.json["name"], found.json["limit"]) == (200, "one", 3)
            refused = await get(f"{base}/things/one/look", "eve")
            assert refused.status == 403
            assert 'User "eve" cannot get resource "things/look"' in refused.json["message"]
            missing = await get(f"{base}/things/missing/look", "ada")
            assert missing.status == 404
            assert missing.json["message"] == 'thing.shown.example.com "missing" not found'


async def _register(client: Client, port: int) -> None:
    await client.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "shown", "namespace": "default"},
            "spec": {
                "type": "ExternalName",
                "externalName": "localhost",
                "ports": [{"port": port}],
            },
        }
    )
    spec = {
        "group": "shown.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"name": "shown", "namespace": "default", "port": port},
    }
    kind = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    await client.create(
        {**kind, "metadata": {"name": "v1.shown.example.com"}, "spec": spec}, resource=API_SERVICES
    )


CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics: {{bindAddress: "127.0.0.1:{metrics}"}}
visibilityServer: {{bindAddress: 127.0.0.1, bindPort: {visibility}}}
health: {{healthProbeBindAddress: "127.0.0.1:{probes}", readinessEndpointName: up}}
tls: {{minVersion: VersionTLS12, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}}
clientConnection: {{qps: 300, burst: 500}}
"""


@pytest.mark.rule("kueue 10.1")
@pytest.mark.rule("kueue 11.1")
@pytest.mark.rule("kueue 11.2")
async def test_the_controller_shows_who_waits_and_what_it_measured(proxied: Server) -> None:
    webhooks, visible, measured, probes = (free_port() for _ in range(4))
    text = CONFIG.format(metrics=measured, visibility=visible, probes=probes)
    options = attached.AttachOptions(
        kueue.read_options(text),
        proxied.kubeconfig,
        host="127.0.0.1",
        port=webhooks,
        url=f"https://localhost:{webhooks}",
    )
    await attached.install(options)
    running = asyncio.create_task(attached.run(options))
    try:
        with proxied.client() as caller:
            await _queue(partial(asyncio.to_thread, caller.send))
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        told = await _ask(f"https://127.0.0.1:{measured}", trust, ("eve-token", proxied.token))
        assert told["eve-token"][0] == 403
        line = 'kueue_admitted_workloads_total{cluster_queue="queue",priority_class="",'
        assert f'{line}replica_role="leader"}} 1.0' in told[proxied.token][1]
        for port in (webhooks, visible, measured):
            suite = "ECDHE-RSA-AES128-GCM-SHA256"
            assert await asyncio.to_thread(_suite, port) == suite
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{probes}/up") as response:
                assert response.status == 200
            async with session.get(f"http://127.0.0.1:{probes}/readyz") as response:
                assert response.status == 404
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def _suite(port: int) -> str:
    """In TLS 1.2."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain) as secured,
    ):
        found = secured.cipher()
    assert found is not None
    return found[0]


async def _queue(send: Any) -> None:
    """Two workloads of which one fits; then look."""
    group, namespace = "/apis/kueue.x-k8s.io/v1beta2", "namespaces/default"
    for path, body in (
        ("resourceflavors", flavor()),
        ("clusterqueues", cluster_queue(quota="1")),
        (f"{namespace}/localqueues", local_queue()),
        (f"{namespace}/workloads", workload("first")),
        (f"{namespace}/workloads", workload("second")),
    ):
        await _until(send, "POST", f"{group}/{path}", 201, body)
    visible = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/queue/pendingworkloads"
    for _ in range(120):
        found = await _until(send, "GET", visible, 200)
        if len(found.json["items"]) == 1:
            break
        await asyncio.sleep(0.25)
    [item] = found.json["items"]
    name = item["metadata"]["name"]
    own = f"/apis/visibility.fleetqueue.io/v1alpha1/{namespace}/workloads/{name}/explanation"
    assert (await _until(send, "GET", own, 200)).json["decision"] == "Wait"


async def _until(send: Any, method: str, path: str, status: int, body: Any = None) -> Any:
    """Repeats what the API server cannot do until it has found us."""
    for _ in range(120):
        answer = await send(method, path, body)
        if answer.status == status:
            return answer
        await asyncio.sleep(0.5)
    raise AssertionError((path, answer.status, answer.body))
