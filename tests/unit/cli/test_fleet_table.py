"""How a fleet is shown."""

import os
from pathlib import Path
from typing import Any

from fleetqueue.cli import fleet_table
from fleetqueue.cli.fleet_table import Heard
from fleetqueue.local_fleet.directory import Directory, Member, Record

REASON = " ".join(["the worker does not answer"] * 7)


def test_a_long_reason_does_not_widen_the_table_and_is_told_whole_below_it() -> None:
    header, first, second, below = fleet_table.lines(
        [
            ["NAME", "CONNECTED", "WORKLOADS"],
            ["worker-1", f"no: {REASON}", ""],
            ["worker-2", "yes", "none"],
        ]
    )

    assert len(first) < 60
    assert first.endswith("…")
    assert header.index("WORKLOADS") == second.index("none") < 60
    assert below == f"worker-1: {REASON}"


def test_a_worker_whose_process_is_gone_is_not_said_to_be_connected() -> None:
    reached = fleet_table.reached

    assert reached("running", "yes") == "yes"
    assert reached("ended", "yes") == "no"
    assert reached("ended", "no: it does not answer") == "no: it does not answer"


def cluster(name: str, status: str, message: str = "") -> dict[str, Any]:
    active = {"type": "Active", "status": status, "message": message}
    return {"metadata": {"name": name}, "status": {"conditions": [active]}}


def workload(worker: str, *conditions: str) -> dict[str, Any]:
    held = [{"type": each, "status": "True"} for each in conditions]
    return {"metadata": {"name": "w"}, "status": {"clusterName": worker, "conditions": held}}


def test_one_that_says_nothing_has_ended_or_does_not_answer(tmp_path: Path) -> None:
    home = Directory(tmp_path)
    (tmp_path / "logs").mkdir()
    for name in ("manager", "worker-1"):
        home.pid_file(name).write_text(str(os.getpid()))
    record = Record([Member("manager", 1), Member("worker-1", 2), Member("worker-2", 3)])
    heard = Heard(None, {"manager": None, "worker-1": [], "worker-2": None})

    rows = {row[0]: row[1:] for row in fleet_table.member_rows(home, record, heard)}

    assert {name: row[0] for name, row in rows.items()} == {
        "manager": "does not answer",
        "worker-1": "running",
        "worker-2": "ended",
    }
    assert rows["worker-1"][-2:] == ["unknown", "0 admitted, 0 waiting, 0 finished"]
    assert f"`kill -CONT {os.getpid()}`" in fleet_table.told_silent(home, "manager")


def test_clusters_that_joined_are_shown_as_the_manager_sees_them() -> None:
    clusters = [cluster("worker-1", "True"), cluster("far", "True"), cluster("off", "False", "why")]
    sent = [
        workload("far", "Admitted"),
        workload("far", "Admitted", "Finished"),
        workload("far"),
        workload("worker-1", "Admitted"),
    ]
    heard = Heard(clusters, {"manager": sent, "worker-1": []})

    assert fleet_table.joined_rows(heard) == [
        ["far", "joined", "", "", "yes", "1 admitted"],
        ["off", "joined", "", "", "no: why", "0 admitted"],
    ]


def test_a_manager_that_says_nothing_speaks_for_nobody() -> None:
    assert fleet_table.joined_rows(Heard(None, {"manager": None})) == []
