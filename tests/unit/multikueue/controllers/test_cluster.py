"""What a MultiKueueCluster says of its connection, and what makes us look at it."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.dispatching import cluster

from fleetqueue.kube.kubeconfig import Access
from fleetqueue.multikueue.controllers.cluster import ClusterController, describe
from fleetqueue.multikueue.credentials import Found, Trouble

FOUND = Found(Access(server="https://worker1"), b"x")
NEXT = datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
SUFFIX = "; connection attempts: 1, next connection attempt: 2026-01-01T00:00:05Z"


def connection(
    *, is_connected: bool = False, error: str = "", failures: int = 0, next_at: Any = None
) -> Any:
    return SimpleNamespace(
        is_connected=is_connected, error=error, failures=failures, next_at=next_at
    )


FAILED = connection(error="why", failures=1, next_at=NEXT)
# fmt: off
CASES = {
    "connected":              (FOUND, connection(is_connected=True), (True, "Active", "Connected")),
    "on its way":             (FOUND, connection(), None),
    "tried again":            (FOUND, connection(failures=1, next_at=NEXT), None),
    "failed":                 (FOUND, FAILED, (False, "ClientConnectionFailed", f"why{SUFFIX}")),
    "not loaded":             (Trouble("BadKubeConfig", "why"), connection(),
                               (False, "BadKubeConfig", "load client config failed: why")),
    "not loaded any more":    (Trouble("BadKubeConfig", "no"), FAILED,
                               (False, "BadKubeConfig", f"load client config failed: no{SUFFIX}")),
}
# fmt: on


@pytest.mark.rule("CONN-3")
@pytest.mark.rule("CONN-4")
@pytest.mark.rule("MKC-5")
@pytest.mark.parametrize(("loaded", "made", "told"), CASES.values(), ids=CASES)
def test_the_condition(loaded: Any, made: Any, told: Any) -> None:
    assert describe(loaded, made) == told


def of(generation: int, **more: Any) -> dict[str, Any]:
    made = cluster("a")
    made["metadata"] |= {"generation": generation, **more.pop("metadata", {})}
    return made | more


@pytest.mark.rule("CONN-10")
def test_what_is_written_into_its_status_is_no_news() -> None:
    wanted = ClusterController.wanted
    controller: Any = None
    assert wanted(controller, None, of(1))
    assert wanted(controller, of(1), None)
    assert wanted(controller, of(1), of(2))
    assert wanted(controller, of(1), of(1, metadata={"deletionTimestamp": "t"}))
    assert not wanted(controller, of(1), of(1, status={"conditions": []}))
    assert not wanted(controller, of(1), of(1, metadata={"labels": {"a": "b"}}))
