"""Where a fleet keeps what it knows, and what one start leaves for the next."""

import fcntl
import os
import socket
import threading
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
    with (
        home.lock.hold(),
        pytest.raises(UserError, match="a fleet is starting in"),
        home.lock.hold(),
    ):
        pass
    assert home.pid() is None


def test_clusters_of_one_that_was_killed_are_waited_for(home: Directory) -> None:
    """They hold the lock until they have ended; who took it is gone."""
    with (home.path / "lock").open("r+") as held:
        held.write(f"{_ended_pid()}\n")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        assert home.pid() is None
        ends = threading.Timer(0.2, lambda: fcntl.flock(held, fcntl.LOCK_UN))
        ends.start()
        with home.lock.hold():
            assert home.pid() == os.getpid()
        ends.join()


def _ended_pid() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_whether_a_cluster_lives_is_known_by_its_process(home: Directory) -> None:
    assert (home.pid_of("worker-1"), home.is_alive("worker-1")) == ("", False)
    home.pid_file("worker-1").write_text(f"{os.getpid()}\n")
    assert (home.pid_of("worker-1"), home.is_alive("worker-1")) == (str(os.getpid()), True)
    home.pid_file("worker-1").write_text(f"{_ended_pid()}\n")
    assert not home.is_alive("worker-1")


def test_a_place_that_cannot_hold_a_fleet_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Directory(tmp_path / "file" / "fleet")
    assert place.read() is None
    with pytest.raises(UserError, match="cannot hold a fleet: Not a directory"):
        place.prepare()


def test_there_may_be_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("address in use")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(UserError, match="no port of this machine is free"):
        members(1, None)


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
