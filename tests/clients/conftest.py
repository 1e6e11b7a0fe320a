"""Both servers for real clients, each started once, and a namespace for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ours import start_ours
from support.reference import start_reference
from support.server import Server, wait_until

TOKENS = 'alice-token,alice,u1,"team-a"\n'
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_reference(tmp_path_factory.mktemp("reference"), tokens=TOKENS)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_ours(tmp_path_factory.mktemp("ours"), tokens=TOKENS)
    yield server
    server.stop()


@pytest.fixture
def namespace(ours: Server) -> str:
    name = f"client-{next(_numbers)}"
    make_namespace(ours, name)
    return name


@pytest.fixture(scope="session")
def kubeconfig(ours: Server) -> Path:
    assert ours.kubeconfig is not None
    return ours.kubeconfig


def make_namespace(server: Server, name: str) -> None:
    """A namespace in which pods can be made: its service account is there."""
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    roots = f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt"
    with server.client() as client:
        made = client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert made.status == 201, made.body
        for path in (account, roots):
            wait_until(path, lambda path=path: client.send("GET", path).status == 200)
