"""Schemas that the tests of merging share, and the cases that upstream has answered."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api.kubernetes import definitions
from fleetqueue.apiserver.schema.node import Node

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def deployment() -> Node:
    return Node(definitions()["io.k8s.api.apps.v1.Deployment"], definitions())


@pytest.fixture(scope="session")
def pod() -> Node:
    return Node(definitions()["io.k8s.api.core.v1.Pod"], definitions())


@pytest.fixture(scope="session")
def widget() -> Node:
    """A custom resource with a field of every sort."""
    return Node(json.loads((HERE / "widget_schema.json").read_text()))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `recorded_apply` or `recorded_strategic` runs once for every line."""
    for name in ("recorded_apply", "recorded_strategic"):
        if name in metafunc.fixturenames:
            cases = list(_lines(name))
            metafunc.parametrize(name, cases, ids=[str(line) for line in range(len(cases))])


def _lines(name: str) -> Iterator[dict[str, Any]]:
    for line in (HERE / f"{name}.jsonl").read_text().splitlines():
        yield json.loads(line)
