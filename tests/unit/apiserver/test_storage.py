"""The store: revisions, the overlay of writes under way, history, and what survives a restart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.apiserver import storage
from fleetqueue.apiserver.log import MemoryLog, Row, SqliteLog, StorageError
from fleetqueue.apiserver.storage import Change, Store, Stored


def thing(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name, "uid": name}, **more}


async def test_revisions_grow_by_one_and_are_part_of_the_object() -> None:
    store = Store(MemoryLog())
    first = await store.put("things", "a/x", thing("x"))
    second = await store.put("things", "a/y", thing("y"))
    assert (first.revision, second.revision) == (2, 3)
    assert store.decoded(second)["metadata"]["resourceVersion"] == "3"


async def test_a_write_is_seen_by_the_next_write_before_it_is_seen_by_readers() -> None:
    store = Store(MemoryLog())
    future = store.put("things", "x", thing("x"))
    assert store.get("things", "x") is None
    assert store.latest("things", "x") is not None
    await future
    assert store.get("things", "x") is not None


async def test_only_what_is_live_stays_decoded() -> None:
    store = Store(MemoryLog())
    first = await store.put("things", "x", thing("x"))
    seen = store.decoded(first)
    assert store.decoded(first) is seen
    second = await store.put("things", "x", thing("x", n=2))
    kept = store.decoded(second)
    assert store.decoded(first) == seen
    assert store.decoded(first) is not seen
    assert store.decoded(second) is kept


async def test_delete_then_create_then_delete_in_one_batch_leaves_nothing() -> None:
    store = Store(MemoryLog())
    await store.put("things", "x", thing("x"))
    store.delete("things", "x", thing("x"))
    store.put("things", "x", thing("x", n=2))
    last = store.delete("things", "x", thing("x", n=2))
    assert store.latest("things", "x") is None
    await last
    assert store.latest("things", "x") is None
    assert store.get("things", "x") is None


async def test_keys_come_in_the_order_of_their_bytes() -> None:
    store = Store(MemoryLog())
    for key in ("a/x", "a-b/x", "b/a", "a/b"):
        await store.put("things", key, thing(key))
    found = [stored.key for stored in store.range_at("things", "", store.revision)]
    assert found == ["a-b/x", "a/b", "a/x", "b/a"]
    assert [s.key for s in store.range_at("things", "a/", store.revision)] == ["a/b", "a/x"]


async def test_a_range_at_an_older_revision_undoes_what_came_later() -> None:
    store = Store(MemoryLog())
    await store.put("things", "a", thing("a", n=1))
    await store.put("things", "b", thing("b", n=1))
    then = store.revision
    await store.put("things", "a", thing("a", n=2))
    await store.delete("things", "b", thing("b", n=1))
    await store.put("things", "c", thing("c"))
    past = store.range_at("things", "", then)
    assert [(s.key, store.decoded(s).get("n")) for s in past] == [("a", 1), ("b", 1)]
    assert [s.key for s in store.range_at("things", "", store.revision)] == ["a", "c"]


async def test_listeners_get_batches_of_changes_with_the_state_before() -> None:
    store = Store(MemoryLog())
    seen: list[Change] = []
    store.listen(seen.extend)
    await asyncio.gather(
        store.put("things", "a", thing("a", n=1)), store.put("things", "a", thing("a", n=2))
    )
    assert [change.revision for change in seen] == [2, 3]
    assert seen[0].before is None
    assert seen[1].before is seen[0].stored


async def test_history_is_bounded_and_what_left_it_leaves_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage, "HISTORY_EVENTS_MAX", 5)
    log = MemoryLog()
    store = Store(log)
    for n in range(20):
        await store.put("things", "a", thing("a", n=n))
    assert len(store.changes_since("things", 0)) == 5
    assert store.compacted == 16
    await store.put("things", "b", thing("b"))
    assert len(log.rows) <= 8
    again = Store(log)
    assert again.revision == store.revision
    found = again.get("things", "a")
    assert found is not None
    assert again.decoded(found)["n"] == 19


class FailingLog(MemoryLog):
    fails = False

    def append(self, rows: Any, superseded: Any, compacted: int) -> None:
        if self.fails:
            raise StorageError("the disk is full")
        super().append(rows, superseded, compacted)


async def test_a_failed_commit_fails_its_writes_and_what_builds_upon_them() -> None:
    log = FailingLog()
    store = Store(log)
    await store.put("things", "a", thing("a", n=1))
    log.fails = True
    lost = store.put("things", "a", thing("a", n=2))
    with pytest.raises(StorageError):
        await lost
    log.fails = False
    found = store.latest("things", "a")
    assert found is not None
    assert store.decoded(found)["n"] == 1
    after = await store.put("things", "a", thing("a", n=3))
    assert after.revision > found.revision + 1, "a revision is never given twice"


async def test_a_database_file_gives_back_what_was_acknowledged(tmp_path: Path) -> None:
    store = Store(SqliteLog(tmp_path / "state.db"))
    await asyncio.gather(*(store.put("things", f"n{i}", thing(f"n{i}")) for i in range(50)))
    await store.delete("things", "n7", thing("n7"))
    revision = store.revision
    await store.close()
    again = Store(SqliteLog(tmp_path / "state.db"))
    assert again.revision == revision
    assert len(again.table("things").live) == 49
    assert [c.stored.key for c in again.changes_since("things", revision - 1)] == ["n7"]
    await again.close()


def test_a_database_in_use_is_refused_with_a_sentence(tmp_path: Path) -> None:
    first = SqliteLog(tmp_path / "state.db")
    with pytest.raises(StorageError, match="in use by another server"):
        SqliteLog(tmp_path / "state.db")
    first.close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is not a database, but it is somebody's file" * 100)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="cannot be read as a fleetqueue database"):
        SqliteLog(path)
    assert path.read_bytes() == before


def test_a_truncated_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    log = SqliteLog(path)
    log.append([Row(n, "things", f"k{n}", False, b"x" * 3000) for n in range(2, 400)], [], 0)
    log.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StorageError, match="cannot be read"):
        list(SqliteLog(path).load())


def test_a_database_of_a_later_format_is_refused(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "state.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.commit()
    db.close()
    with pytest.raises(StorageError, match="storage format 99"):
        SqliteLog(path)


async def test_what_a_page_comes_after_never_widens_its_prefix() -> None:
    store = Store(MemoryLog())
    for key in ("a/secret", "b/x", "c/secret"):
        await store.put("things", key, thing(key))
    for after in ("0", "a", "a/secret", "b/"):
        found = store.range_at("things", "b/", store.revision, after)
        assert [stored.key for stored in found] == ["b/x"], after
    assert list(store.range_at("things", "b/", store.revision, "c")) == []


async def test_two_versions_under_one_revision_are_decoded_apart() -> None:
    store = Store(MemoryLog())
    live = await store.put("things", "x", thing("x", n=2))
    shown = Stored("x", live.revision, live.data.replace(b'"n":2', b'"n":1'))
    assert store.decoded(shown)["n"] == 1
    assert store.decoded(live)["n"] == 2


async def test_who_waits_for_anothers_write_hears_of_its_end_even_if_that_one_gave_up() -> None:
    store = Store(MemoryLog())
    store.put("things", "x", thing("x")).cancel()
    await store.settled("things", "x")
    assert store.get("things", "x") is not None
    await store.settled("things", "x")


async def test_who_waits_for_anothers_write_hears_of_its_failure() -> None:
    log = FailingLog()
    store = Store(log)
    log.fails = True
    store.propose("things", "x", thing("x"))
    with pytest.raises(StorageError):
        await store.settled("things", "x")
    assert store.latest("things", "x") is None


async def test_decoded_objects_are_kept_within_a_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage, "DECODED_BYTES_MAX", 5_000)
    store = Store(MemoryLog())
    for number in range(10):
        store.decoded(await store.put("things", f"x-{number}", thing("x", text="a" * 1_000)))
    assert 0 < len(store._decoded) < 5
    assert store._decoded_bytes == sum(len(stored.data) for stored in store._decoded)


class Counting(dict[str, Stored]):
    """Objects that count how many of them were looked at."""

    count = 0

    def __getitem__(self, key: str) -> Stored:
        self.count += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("is_past", [False, True])
async def test_a_page_costs_what_it_shows(is_past: bool) -> None:
    store = Store(MemoryLog())
    for number in range(300):
        await store.put("things", f"a/{number:03}", thing("x"))
    then = store.revision
    if is_past:
        await store.delete("things", "a/101", thing("x"))
        await store.put("things", "a/1000", thing("x"))
        await store.put("things", "b/1", thing("x"))
    table = store.table("things")
    table.live = live = Counting(table.live)
    page = store.range_at("things", "a/", then, "a/099")
    assert [stored.key for stored in page.take(3)] == ["a/100", "a/101", "a/102"]
    assert len(page) == 200
    scanned = page.scan()
    assert [next(scanned).key for _ in range(3)] == ["a/100", "a/101", "a/102"]
    assert live.count < 20
    assert [stored.key for stored in page] == [f"a/{number:03}" for number in range(100, 300)]
