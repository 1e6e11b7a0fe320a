"""Full disks and files that are damaged, locked or in the way: a sentence, and no harm done."""

import os
import resource
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetqueue.apiserver.log import Row, SqliteLog, StorageError
from support.ours import command, start_ours
from support.ports import free_port
from support.server import PlainClient, Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = start_ours(tmp_path, durability="full")
    yield started
    started.stop()


def config_map(name: str, size: int = 0) -> dict[str, object]:
    return {"metadata": {"name": name}, "data": {"filling": "x" * size}}


def test_a_full_disk_fails_writes_with_a_sentence_and_they_work_again_when_there_is_space(
    server: Server, tmp_path: Path
) -> None:
    (process,) = server.processes
    with server.client() as client:
        assert client.send("POST", CONFIG_MAPS, config_map("before")).status == 201
        journal = (tmp_path / "state.db-wal").stat().st_size
        # A file that may not grow is what a full disk looks like to the database.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (journal, resource.RLIM_INFINITY))
        _writes_fail_and_reads_go_on(client)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
        assert client.send("POST", CONFIG_MAPS, config_map("after", 1000)).status == 201
    assert "storage failed error='writing to " in (tmp_path / "serve.log").read_text()
    process.kill()
    process.wait()
    _check_database(tmp_path / "state.db")
    again = start_ours(tmp_path)
    with again.client() as client:
        names = [item["metadata"]["name"] for item in client.send("GET", CONFIG_MAPS).json["items"]]
        assert [name for name in names if name != "kube-root-ca.crt"] == ["after", "before"]
    again.stop()


def _writes_fail_and_reads_go_on(client: PlainClient) -> None:
    for attempt in range(3):
        answer = client.send("POST", CONFIG_MAPS, config_map(f"lost-{attempt}", 100_000))
        assert answer.status == 500
        assert answer.json["reason"] == "InternalError"
        assert "free space on its disk" in answer.json["message"]
        assert client.send("GET", f"{CONFIG_MAPS}/before").status == 200
        assert client.send("GET", f"{CONFIG_MAPS}/lost-{attempt}").status == 404
    assert client.send("GET", "/readyz").status == 200


def _check_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


def test_a_database_without_room_refuses_a_batch_as_a_whole_and_takes_the_next(
    tmp_path: Path,
) -> None:
    log = SqliteLog(tmp_path / "state.db")
    log.append([Row(2, "things", "a", False, b"first")], [], 0)
    pages = log._db.execute("PRAGMA page_count").fetchone()[0]
    log._db.execute(f"PRAGMA max_page_count={pages + 4}")
    with pytest.raises(StorageError, match="database or disk is full"):
        log.append([Row(n, "things", "b", False, b"x" * 9000) for n in range(3, 9)], [2], 2)
    log._db.execute("PRAGMA max_page_count=1000000")
    log.append([Row(9, "things", "c", False, b"last")], [], 0)
    log.close()
    again = SqliteLog(tmp_path / "state.db")
    assert [(row.revision, row.value) for row in again.load()] == [(2, b"first"), (9, b"last")]
    assert again.compacted() == 0
    again.close()


# Servers that cannot start


def _refused(directory: Path, port: int) -> str:
    """The one sentence of a server that does not start."""
    run = subprocess.run(
        command(directory, port, "full"), capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    return run.stderr


def test_a_second_server_on_the_same_data_is_refused(server: Server, tmp_path: Path) -> None:
    said = _refused(tmp_path, free_port())
    assert "is in use by another server: stop that one, or choose another data directory" in said
    with server.client() as client:
        assert client.send("POST", CONFIG_MAPS, config_map("still-fine")).status == 201


def test_a_port_in_use_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = _refused(tmp_path, port)
    assert f"cannot listen on 127.0.0.1 port {port} (address already in use)" in said
    assert "choose another address with --host and --port" in said


TRUNCATIONS = {
    "half of it": (lambda size: size // 2, False),
    "half of it, with a journal": (lambda size: size // 2, True),
    "the last page": (lambda size: size - 4096, False),
    "the last bytes": (lambda size: size - 7, False),
    "all of it, with a journal": (lambda size: 0, True),
}


@pytest.mark.parametrize("cut", TRUNCATIONS)
def test_a_truncated_database_is_refused_and_left_as_it_is(tmp_path: Path, cut: str) -> None:
    length, has_journal = TRUNCATIONS[cut]
    path = _make_database(tmp_path, has_journal)
    os.truncate(path, length(path.stat().st_size))
    before = _contents(path)
    with pytest.raises(StorageError, match="cannot be read as a fleetqueue database"):
        list(SqliteLog(path).load())
    assert _contents(path) == before


def test_a_server_on_a_truncated_database_says_so(tmp_path: Path) -> None:
    path = _make_database(tmp_path, has_journal=True)
    os.truncate(path, path.stat().st_size // 2)
    before = _contents(path)
    said = _refused(tmp_path, free_port())
    assert "cannot be read as a fleetqueue database" in said
    assert "the file was left as it is" in said
    assert _contents(path) == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"somebody's diary\n" * 500)
    assert "cannot be read as a fleetqueue database" in _refused(tmp_path, free_port())
    assert (tmp_path / "state.db").read_bytes() == b"somebody's diary\n" * 500


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "state.db") as db:
        db.execute("CREATE TABLE songs (title TEXT)")
    db.close()
    before = (tmp_path / "state.db").read_bytes()
    assert "has the storage format 0" in _refused(tmp_path, free_port())
    assert (tmp_path / "state.db").read_bytes() == before


def test_a_file_in_place_of_the_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    assert "cannot hold data" in _refused(tmp_path / "data", free_port())
    assert (tmp_path / "data").read_text() == "in the way"


def test_a_directory_that_cannot_be_made_is_told() -> None:
    assert "cannot hold data" in _refused(Path("/proc/no-such-place"), free_port())


def test_a_directory_in_place_of_a_key_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "pki" / "ca.key").mkdir(parents=True)
    assert "cannot hold data" in _refused(tmp_path, free_port())


def _make_database(directory: Path, has_journal: bool) -> Path:
    """Some hundred rows, and with a journal as after a crash if asked."""
    path = directory / "state.db"
    log = SqliteLog(path)
    log.append([Row(n, "things", f"k{n}", False, b"x" * 3000) for n in range(2, 400)], [], 0)
    log._db.execute("PRAGMA wal_checkpoint")
    log.append([Row(400, "things", "last", False, b"y")], [], 0)
    kept = _contents(path)
    log.close()
    if has_journal:
        for file, data in kept.items():
            file.write_bytes(data)
    return path


def _contents(path: Path) -> dict[Path, bytes]:
    files = (path, path.with_name("state.db-wal"))
    return {file: file.read_bytes() for file in files if file.exists() and file.stat().st_size}
