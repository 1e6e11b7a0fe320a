"""What a pod's row says, by the states of its containers."""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.base import documents
from support.rows import cells

RUNNING: dict[str, Any] = {"running": {}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def status(name: str, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "restartCount": 0, **more}


def pod(spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    metadata = fields.pop("metadata", {})
    containers = {"containers": [{"name": "c"}, {"name": "d"}]}
    return {"metadata": metadata, "spec": {**containers, **(spec or {})}, "status": fields}


INIT = {"initContainers": [{"name": "x"}, {"name": "s", "restartPolicy": "Always"}, {"name": "y"}]}
SIDECAR = status("s", RUNNING, started=True, ready=True, restartCount=3)

ROWS = documents.load((Path(__file__).parent / "pods.yaml").read_text())


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_a_row_sums_up_the_containers(row: dict[str, Any]) -> None:
    shown = cells("", "Pod", row["pod"])
    assert (shown["Ready"], shown["Status"]) == (row["ready"], row["status"])


def test_restarts_say_when_the_last_one_was() -> None:
    early = {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T11:00:00Z"}}
    late = {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T11:57:00Z"}}
    statuses = [
        status("c", RUNNING, restartCount=2, lastState=late),
        status("d", RUNNING, restartCount=1, lastState=early),
    ]
    row = cells("", "Pod", pod(phase="Running", containerStatuses=statuses))
    assert row["Restarts"] == "3 (3m ago)"


def test_restarts_of_init_containers_count_until_they_are_done() -> None:
    init = [status("x", {"terminated": {"exitCode": 0}}, restartCount=4), SIDECAR]
    still = cells("", "Pod", pod(INIT, initContainerStatuses=[*init, status("y", RUNNING)]))
    done = cells("", "Pod", pod(INIT, initContainerStatuses=[*init, status("y", DONE)]))
    assert (still["Restarts"], done["Restarts"]) == ("7", "3")


def test_wide_columns_say_none_where_there_is_nothing() -> None:
    row = cells("", "Pod", pod(phase="Pending"))
    wide = ("IP", "Node", "Nominated Node", "Readiness Gates")
    assert [row[name] for name in wide] == ["<none>"] * 4


def test_readiness_gates_are_counted() -> None:
    gates = {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}
    row = cells("", "Pod", pod(gates, conditions=[{"type": "a", "status": "True"}]))
    assert row["Readiness Gates"] == "1/2"
