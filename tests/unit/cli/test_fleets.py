"""What a start makes of what it finds, and what somebody is told to type next."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from fleetqueue.base import documents
from fleetqueue.cli.commands.down import down
from fleetqueue.cli.fleets import access, found_running, next_steps, to_start
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import Directory, Member, Record

pytestmark = pytest.mark.rule("kueue 11.5")


@pytest.mark.parametrize(
    ("port", "expected"), [(0, []), (8090, ["  open http://127.0.0.1:8090/ in a browser"])]
)
def test_the_dashboard_is_named_where_there_is_one(port: int, expected: list[str]) -> None:
    record = Record([Member("manager", 1)], dashboard_port=port)
    lines = next_steps(Directory(Path("/nowhere")), record)
    assert [line for line in lines if "browser" in line] == expected


FURNISHED = Record([Member("manager", 1), Member("worker-1", 2)], is_furnished=True, is_hub=True)


def test_a_start_that_failed_does_not_forget_what_is_in_place() -> None:
    failed = to_start(FURNISHED, {"gpus": 4})
    again = to_start(failed, {"cpu": "4"})

    assert (again.gpus, again.cpu, again.is_furnished) == (4, "4", False)
    assert again.in_place == FURNISHED


def test_where_nothing_was_furnished_nothing_is_in_place() -> None:
    assert to_start(to_start(None, {"gpus": 4}), {}).in_place is None


@pytest.fixture
def home(tmp_path: Path) -> Directory:
    """Of a fleet that runs, but for its worker."""
    made = Directory(tmp_path)
    made.prepare()
    made.write(FURNISHED)
    made.pid_file("manager").write_text(f"{os.getpid()}\n")
    return made


def test_a_fleet_without_one_of_its_clusters_is_not_said_to_run(home: Directory) -> None:
    with pytest.raises(UserError) as raised:
        found_running(home)

    assert str(raised.value) == (
        f"worker-1 ended: {home.path}/logs/worker-1.log may say why; `fleetqueue down --dir"
        f" {home.path}` and `fleetqueue up --dir {home.path}` bring it back with all it had"
    )
    assert raised.value.exit_code == 1
    home.pid_file("worker-1").write_text(f"{os.getpid()}\n")
    assert found_running(home) == FURNISHED


@pytest.mark.parametrize("text", [None, "", "garbage", "{", "kind: Config"])
def test_a_kubeconfig_that_was_lost_or_damaged_is_made_again(
    home: Directory, text: str | None
) -> None:
    home.pid_file("worker-1").write_text(f"{os.getpid()}\n")
    for each in FURNISHED.members:
        cluster = {"name": "fleetqueue", "cluster": {"server": each.url}}
        one = {"clusters": [cluster], "users": [{"name": "admin", "user": {"token": each.name}}]}
        home.data_of(each.name).mkdir()
        (home.data_of(each.name) / "kubeconfig").write_text(documents.dump(one))
    if text is not None:
        home.kubeconfig.write_text(text)

    found_running(home)

    assert access(home.kubeconfig, "worker-1").token == "worker-1"
    mine = home.kubeconfig.read_text().replace("current-context: manager", "current-context: other")
    home.kubeconfig.write_text(mine)
    found_running(home)
    assert home.kubeconfig.read_text() == mine


def test_what_is_to_be_typed_is_for_a_shell() -> None:
    lines = next_steps(Directory(Path("/a place/it's")), FURNISHED)
    quoted = "'/a place/it'\"'\"'s"
    assert f"  export KUBECONFIG={quoted}/kubeconfig'" in lines
    assert lines[-1] == f"  fleetqueue down --dir {quoted}'"


def test_a_directory_without_a_name_is_none() -> None:
    refused = CliRunner().invoke(down, ["--dir", ""])
    assert refused.exit_code == 2
    assert "Invalid value for '--dir': it is empty" in refused.output
