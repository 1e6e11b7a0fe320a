"""The servers that the same tests run against: ours in this process or over HTTPS, and upstream's.

    pytest tests/servers --servers in-process,https,kube-apiserver

Each kind of server is an async context manager in SERVERS that yields a `Served`; a test asks for
`client`, or for `served` where it must connect otherwise, and works in a `namespace` of its own.
kube-apiserver and etcd come from `scripts/envtest` and are started once for all tests.
"""

import base64
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from fleetqueue.apiserver.access.certificates import Authority
from fleetqueue.base.clock import SystemClock
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.client import Client
from fleetqueue.kube.connect import connect_to
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import NAMESPACES
from fleetqueue.kube.transport import InProcessTransport
from support.reference import start_reference
from support.server import Server

KINDS = ("in-process", "https", "kube-apiserver")


@dataclass
class Served:
    """A server that answers. `access` is None where it has no address."""

    kind: str
    client: Client
    """As a member of system:masters."""
    access: Access | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--servers", default=",".join(KINDS), help="which servers to test against")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server_kind" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--servers").split(",")
        assert set(chosen) <= set(KINDS), f"--servers takes {', '.join(KINDS)}"
        if "access" in metafunc.fixturenames:
            chosen = [kind for kind in chosen if kind != "in-process"]
        metafunc.parametrize("server_kind", chosen, scope="session")


@pytest.fixture
async def served(
    server_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Served]:
    upstream = request.getfixturevalue("upstream") if server_kind == "kube-apiserver" else None
    async with SERVERS[server_kind](upstream or tmp_path) as found:
        yield found


@pytest.fixture
async def access(served: Served) -> Access:
    """How to reach the server as its administrator; such tests leave out those without a door."""
    assert served.access is not None
    return served.access


@pytest.fixture
async def client(served: Served) -> Client:
    return served.client


@pytest.fixture
async def namespace(client: Client, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A fresh namespace with a default service account."""
    name = f"test-{base64.b32encode(os.urandom(5)).decode().lower()}"
    await client.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, resource=NAMESPACES
    )
    client.namespace = name
    yield name
    with suppress(KubeError):
        await client.delete(NAMESPACES, name)


@asynccontextmanager
async def _in_process(folder: Path) -> AsyncIterator[Served]:
    from fleetqueue.apiserver.access.users import User
    from fleetqueue.apiserver.instance import Instance
    from fleetqueue.apiserver.log import MemoryLog
    from fleetqueue.apiserver.request import Request

    instance = Instance(MemoryLog(), SystemClock(), Random(1))
    await instance.start()
    user = User("admin", groups=("system:masters", "system:authenticated"))
    transport = InProcessTransport(instance.handle, request=Request, user=user)
    try:
        yield Served("in-process", Client(transport, random=Random(1), field_manager="tests"))
    finally:
        await instance.stop()


@asynccontextmanager
async def _https(folder: Path) -> AsyncIterator[Served]:
    from fleetqueue.app import ServeOptions, serving

    options = ServeOptions(data=folder, durability="memory")
    async with serving(options) as running, _connected("https", running.kubeconfig) as found:
        yield found


@asynccontextmanager
async def _kube_apiserver(config: Path) -> AsyncIterator[Served]:
    async with _connected("kube-apiserver", config) as found:
        yield found


@asynccontextmanager
async def _connected(kind: str, config: Path) -> AsyncIterator[Served]:
    access = kubeconfig.load([config], must_exist=True).access()
    client = connect_to(access, clock=SystemClock(), random=Random(1), field_manager="tests")
    try:
        yield Served(kind, client, access)
    finally:
        await client.close()


SERVERS: dict[str, Callable[[Path], Any]] = {
    "in-process": _in_process,
    "https": _https,
    "kube-apiserver": _kube_apiserver,
}


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a kube-apiserver, with a client certificate."""
    folder = tmp_path_factory.mktemp("kube-apiserver")
    authority = Authority.load_or_create(folder / "pki", SystemClock())
    authority.client("admin", "admin", ["system:masters"])
    client_authority = f"--client-ca-file={authority.certificate_path}"
    server = start_reference(folder, flags=[client_authority])
    try:
        yield _write_kubeconfig(folder, server)
    finally:
        server.stop()


def _write_kubeconfig(folder: Path, server: Server) -> Path:
    cluster = {"server": server.url, "certificate-authority": server.authority}
    user = {"client-certificate": "pki/admin.crt", "client-key": "pki/admin.key"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "upstream",
        "clusters": [{"name": "upstream", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "upstream", "context": {"cluster": "upstream", "user": "admin"}}],
    }
    file = folder / "client-certificate.kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file
