"""A clock that tests turn by hand, one signing key for all, and a small world of live objects."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from fleetqueue.apiserver.access.jwt import SigningKey
from fleetqueue.apiserver.access.tokens import Issuer

START = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)


@dataclass
class HandClock:
    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def passes(self, **span: float) -> None:
        self.at += timedelta(**span)


@dataclass
class World:
    """Live objects by resource, namespace and name."""

    objects: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, resource: str, name: str, uid: str, namespace: str = "", **more: Any) -> Any:
        metadata = {"name": name, "uid": uid, **({"namespace": namespace} if namespace else {})}
        obj = {"metadata": metadata, **more}
        self.objects[resource, namespace, name] = obj
        return obj

    def find(self, resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        return self.objects.get((resource, namespace, name))


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def world() -> World:
    made = World()
    made.add("serviceaccounts", "robot", "uid-robot", "default")
    pod = {"serviceAccountName": "robot", "nodeName": "n1"}
    made.add("pods", "p", "uid-pod", "default", spec=pod)
    made.add("secrets", "s", "uid-secret", "default")
    made.add("nodes", "n1", "uid-node")
    return made


@pytest.fixture(scope="session")
def key() -> SigningKey:
    return SigningKey.generate()


@pytest.fixture
def issuer(key: SigningKey, world: World) -> Issuer:
    return Issuer(key, world.find, Random(1))
