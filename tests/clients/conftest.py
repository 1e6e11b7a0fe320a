"""Both servers for real clients, fresh for each module, and a namespace for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.namespaces import make_namespace
from support.ours import start_ours
from support.reference import start_reference
from support.server import Server

TOKENS = 'alice-token,alice,u1,"team-a"\n'
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_reference(tmp_path_factory.mktemp("reference"), tokens=TOKENS)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_ours(tmp_path_factory.mktemp("ours"), tokens=TOKENS)
    yield server
    server.stop()


@pytest.fixture
def namespace(ours: Server) -> str:
    name = f"client-{next(_numbers)}"
    make_namespace(ours, name)
    return name


@pytest.fixture(scope="module")
def kubeconfig(ours: Server) -> Path:
    assert ours.kubeconfig is not None
    return ours.kubeconfig
