"""The log on disk: what a batch is, and when rows that nobody can ask for leave."""

import contextlib
import itertools
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from fleetqueue.apiserver.log import SUPERSEDED_MIN, Row, SqliteLog, StorageError


def rows(revisions: Iterable[int], value: bytes = b"x") -> list[Row]:
    return [Row(n, "things", f"k{n % 3}", n % 7 == 0, value) for n in revisions]


def revisions_in(path: Path) -> tuple[list[int], int]:
    log = SqliteLog(path)
    found = [row.revision for row in log.load()], log.compacted()
    log.close()
    return found


def after_a_crash(path: Path) -> tuple[list[int], int]:
    """What the next server would find if this one had ended just now."""
    elsewhere = path.parent / "after-a-crash"
    elsewhere.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, elsewhere)
    return revisions_in(elsewhere / path.name)


@pytest.mark.parametrize("length", [1, 2, 3, 16, 31, 100])
@pytest.mark.parametrize("value", [b"x", b"x" * 200_000])
def test_a_batch_of_any_length_comes_back_as_it_was(
    tmp_path: Path, length: int, value: bytes
) -> None:
    log = SqliteLog(tmp_path / "state.db", durable=False)
    batch = rows(range(2, length + 2), value)
    log.append(batch, [], 0)
    log.close()
    again = SqliteLog(tmp_path / "state.db")
    assert list(again.load()) == batch
    again.close()


@pytest.mark.parametrize("length", [2, 50])
def test_a_batch_that_fails_leaves_nothing_behind(tmp_path: Path, length: int) -> None:
    log = SqliteLog(tmp_path / "state.db")
    log.append(rows([100]), [], 0)
    with pytest.raises(StorageError, match="nothing that was acknowledged is lost"):
        log.append(rows(range(101 - length, 101)), [], 0)
    log.append(rows([101]), [], 0)
    log.close()
    assert revisions_in(tmp_path / "state.db") == ([100, 101], 0)


def test_what_comes_after_the_end_is_told_without_advice_about_disks(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    log.append(rows([100]), [], 0)
    log.close()
    with pytest.raises(StorageError, match="is closed: its server stops") as raised:
        log.append(rows([101]), [], 0)

    assert "free space" not in str(raised.value)
    assert revisions_in(tmp_path / "state.db") == ([100], 0)


def test_a_write_that_is_under_way_is_finished_before_the_end(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db", durable=False)
    written: list[int] = []
    began = threading.Event()

    def write() -> None:
        with contextlib.suppress(StorageError):
            for revision in itertools.count(2):
                log.append(rows([revision], b"x" * 100_000), [], 0)
                written.append(revision)
                began.set()

    writer = threading.Thread(target=write)
    writer.start()
    began.wait()
    log.close()
    writer.join()
    assert revisions_in(tmp_path / "state.db")[0] == written


def test_rows_leave_in_groups_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    log.append(rows(range(2, 1000)), [], 0)
    for n in range(1000, 1000 + SUPERSEDED_MIN - 1):
        log.append(rows([n]), [n - 998], n - 998)
    latest = 1000 + SUPERSEDED_MIN - 2
    assert after_a_crash(path) == (list(range(2, latest + 1)), 0)
    shutil.rmtree(tmp_path / "after-a-crash")

    log.append(rows([latest + 1]), [latest - 997], latest - 997)
    assert after_a_crash(path) == (list(range(latest - 996, latest + 2)), latest - 997)

    log.append(rows([latest + 2]), [latest - 996], latest - 996)
    log.close()
    assert revisions_in(path) == (list(range(latest - 995, latest + 3)), latest - 996)


def test_rows_that_were_to_leave_with_a_failed_batch_may_leave_with_the_next(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    log.append(rows(range(2, 600)), [], 0)
    leaving = list(range(2, 2 + SUPERSEDED_MIN))
    with pytest.raises(StorageError):
        log.append(rows([599]), leaving, leaving[-1])
    assert after_a_crash(path) == (list(range(2, 600)), 0)
    log.append(rows([600]), leaving, leaving[-1])
    log.close()
    assert revisions_in(path) == (list(range(leaving[-1] + 1, 601)), leaving[-1])
