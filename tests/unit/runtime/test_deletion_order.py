"""Which pods go first when there are too many."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.deletion_order import DELETION_COST, deletion_cost, surplus

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(
    uid: str,
    *,
    phase: str = "Running",
    node: str = "n",
    ready: str | None = "2026-01-01T11:00:00Z",
    cost: str = "",
    restarts: int = 0,
    born: str = "2026-01-01T10:00:00Z",
) -> Object:
    conditions: list[Any] = []
    if ready is not None:
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]
    return {
        "metadata": {
            "name": uid,
            "uid": uid,
            "creationTimestamp": born,
            "annotations": {DELETION_COST: cost} if cost else {},
        },
        "spec": {"nodeName": node, "containers": []},
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "restartCount": restarts}],
        },
    }


@pytest.mark.rule("jobs B.2.2")
@pytest.mark.parametrize(
    ("why", "worse", "better"),
    [
        ("not bound", pod("z", node="", phase="Pending", ready=None), pod("a")),
        ("pending", pod("z", phase="Pending", ready=None), pod("a", ready=None)),
        ("unknown", pod("z", phase="Unknown", ready=None), pod("a", ready=None)),
        ("pending before unknown", pod("z", phase="Pending"), pod("a", phase="Unknown")),
        ("not ready", pod("z", ready=None), pod("a")),
        ("cheaper", pod("z", cost="-5"), pod("a")),
        ("cheaper", pod("z", cost="1", born="2026-01-01T01:00:00Z"), pod("a", cost="2")),
        ("ready for less", pod("z", ready="2026-01-01T11:59:00Z"), pod("a")),
        ("restarted more", pod("z", restarts=3), pod("a", restarts=2)),
        ("newer", pod("z", born="2026-01-01T11:59:00Z"), pod("a")),
        ("the uid decides", pod("a", ready="2026-01-01T11:00:01Z"), pod("z")),
    ],
)
def test_the_worse_of_two_goes_first(why: str, worse: Object, better: Object) -> None:
    assert surplus([better, worse], 1, NOW) == [worse], why
    assert surplus([worse, better], 1, NOW) == [worse], why


@pytest.mark.rule("jobs B.2.2")
def test_a_crowded_node_is_relieved_first() -> None:
    lonely, one, two = pod("a", node="x"), pod("y", node="n"), pod("z", node="n")
    assert lonely not in surplus([lonely, one, two], 1, NOW, [lonely, one, two])


def test_all_go_when_all_are_too_many() -> None:
    pods = [pod("a"), pod("b")]
    assert surplus(pods, 2, NOW) == pods


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10", 10), ("-10", -10), ("", 0), ("x", 0), ("+1", 0), ("01", 0), (str(2**31), 0)],
)
def test_a_cost_that_is_no_number_is_none(text: str, expected: int) -> None:
    assert deletion_cost(pod("a", cost=text)) == expected
