"""Where a fleet keeps what it knows, and what one start leaves for the next."""

import socket
from pathlib import Path

import pytest

from fleetqueue.base import documents
from fleetqueue.errors import UserError
from fleetqueue.local_fleet.directory import Directory, Member, Record, members


@pytest.fixture
def home(tmp_path: Path) -> Directory:
    made = Directory(tmp_path / "fleet")
    made.prepare()
    return made


def test_there_is_a_manager_and_as_many_workers_as_asked_for() -> None:
    found = members(2, None)

    assert [each.name for each in found] == ["manager", "worker-1", "worker-2"]
    assert len({each.port for each in found}) == 3
    assert [each.name for each in Record(found).workers] == ["worker-1", "worker-2"]


def test_clusters_keep_their_ports_as_long_as_nobody_else_has_them() -> None:
    first = members(2, None)
    assert members(2, Record(first)) == first
    with socket.socket() as other:
        other.bind(("127.0.0.1", first[1].port))
        other.listen()
        again = members(2, Record(first))

    assert again[0] == first[0]
    assert again[1].port != first[1].port


def test_what_is_written_is_read_again(home: Directory) -> None:
    assert home.read() is None
    record = Record([Member("manager", 1)], cpu="4", is_bare=True)
    home.write(record)

    assert home.read() == record


def test_a_record_that_cannot_be_read_is_told_with_its_place(home: Directory) -> None:
    (home.path / "fleet.json").write_text('{"members": 3}')

    with pytest.raises(UserError, match=r"fleet\.json cannot be read .* mend it or remove it"):
        home.read()


def test_who_runs_the_fleet_is_known_while_it_does(home: Directory) -> None:
    assert home.pid() is None
    with home.lock(), pytest.raises(UserError, match=r"a fleet runs in .* already"), home.lock():
        pass
    assert home.pid() is None


def test_one_kubeconfig_has_a_context_for_each_cluster_and_only_we_may_read_it(
    home: Directory,
) -> None:
    found = [Member("manager", 1), Member("worker-1", 2)]
    for member in found:
        data = home.data_of(member.name)
        data.mkdir()
        one = {
            "clusters": [{"name": "fleetqueue", "cluster": {"server": member.url}}],
            "users": [{"name": "admin", "user": {"token": member.name}}],
        }
        (data / "kubeconfig").write_text(documents.dump(one))

    home.write_kubeconfig(found)

    made = documents.load(home.kubeconfig.read_text())
    assert [each["name"] for each in made["contexts"]] == ["manager", "worker-1"]
    assert made["current-context"] == "manager"
    assert made["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:2"
    assert home.kubeconfig.stat().st_mode & 0o777 == 0o600
