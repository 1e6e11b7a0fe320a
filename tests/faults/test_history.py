"""Churn: neither memory nor the database file grows with the number of changes."""

import asyncio
import os
from pathlib import Path
from typing import Any

from fleetqueue.apiserver import storage
from fleetqueue.apiserver.log import MemoryLog, Row, SqliteLog
from fleetqueue.apiserver.storage import Store
from support.processes import resident_bytes

CHANGES = 1_000_000
BATCH = 5_000
MEGABYTE = 1024 * 1024


class CountingLog(MemoryLog):
    """Keeps no rows, so that what the store holds can be measured; it counts what is in the log."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def append(self, rows: Any, superseded: Any, compacted: int) -> None:
        self.count += len(rows) - len(superseded)


def thing(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name, "uid": name}, **more}


async def test_a_million_changes_of_few_objects_leave_a_bounded_history() -> None:
    log = CountingLog()
    store = Store(log)
    sizes = []
    for start in range(0, CHANGES, BATCH):
        for n in range(start, start + BATCH):
            last = store.put("things", f"k{n % 10}", thing("k", n=n))
        await last
        if start % 100_000 == 0 and start:
            sizes.append(resident_bytes(os.getpid()))
    assert store.revision == CHANGES + 1
    assert len(store.changes_since("things", 0)) == storage.HISTORY_EVENTS_MAX
    assert log.count <= storage.HISTORY_EVENTS_MAX + BATCH + 10
    assert max(sizes) < sizes[0] + 10 * MEGABYTE


async def test_large_changes_are_bounded_by_their_bytes() -> None:
    store = Store(MemoryLog())
    for n in range(200):
        await store.put("things", "big", thing("big", filling="x" * 500_000, n=n))
    kept = store.changes_since("things", 0)
    assert sum(len(change.stored.data) for change in kept) <= storage.HISTORY_BYTES_MAX
    assert store.compacted == kept[0].revision - 1


async def test_the_database_file_stops_growing_under_churn(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = Store(SqliteLog(path, durable=False))
    filling = "x" * 400
    sizes = []
    for round_number in range(60):
        puts = [
            store.put("things", f"k{n % 10}", thing("k", n=n, filling=filling)) for n in range(1000)
        ]
        await asyncio.gather(*puts)
        if round_number >= 30:
            sizes.append(_bytes_in(tmp_path))
    await store.close()
    assert max(sizes) <= min(sizes) * 1.25
    assert max(sizes) < 48 * MEGABYTE
    await _check_restart(path, store)


def _bytes_in(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


async def _check_restart(path: Path, before: Store) -> None:
    again = Store(SqliteLog(path))
    assert again.revision == before.revision
    assert again.compacted <= before.compacted
    assert len(again.table("things").live) == 10
    await again.close()


async def test_a_history_that_ends_in_deletions_does_not_let_revisions_go_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    store = Store(SqliteLog(path, durable=False))
    for n in range(storage.HISTORY_EVENTS_MAX // 1000 + 2):
        await asyncio.gather(*(store.put("things", f"k{n}-{i}", thing("k")) for i in range(1000)))
        await asyncio.gather(
            *(store.delete("things", f"k{n}-{i}", thing("k")) for i in range(1000))
        )
    revision = store.revision
    await store.close()
    again = Store(SqliteLog(path))
    assert again.revision == revision
    assert not again.table("things").live
    await again.close()


def test_a_row_that_was_superseded_is_gone_from_the_file(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "state.db")
    log.append([Row(n, "things", "a", False, b"x") for n in range(2, 10)], [], 0)
    log.append([Row(10, "things", "a", False, b"y")], list(range(2, 9)), 8)
    log.close()
    again = SqliteLog(tmp_path / "state.db")
    assert [row.revision for row in again.load()] == [9, 10]
    assert again.compacted() == 8
    again.close()
