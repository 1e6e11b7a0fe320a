"""The Storage seam: an append-only log of revisions, in SQLite or in memory.

A log keeps rows and nothing else; `storage.py` knows what they mean. A call to `append` returns
only when its rows are durable. Superseded rows leave the log by the revisions named in `append`.
"""

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from fleetqueue.errors import ClusterError


class Row(NamedTuple):
    """One write: the object's bytes after it, or none where it was deleted (`value` is then the
    last state).
    """

    revision: int
    resource: str
    key: str
    is_delete: bool
    value: bytes


class StorageError(ClusterError):
    """The log could not be opened, read or written; the message says what to do about it."""


class Log(Protocol):
    """Where revisions become durable."""

    blocks: bool
    """Appending waits for a disk, so it belongs in a thread."""

    def load(self) -> Iterator[Row]: ...

    def compacted(self) -> int: ...

    def append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None: ...

    def close(self) -> None: ...


class MemoryLog:
    """For tests and throw-away servers. It outlives a server, so a restart can be played on it."""

    blocks = False

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self._compacted = 0

    def load(self) -> Iterator[Row]:
        return iter([self.rows[revision] for revision in sorted(self.rows)])

    def compacted(self) -> int:
        return self._compacted

    def append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None:
        for row in rows:
            self.rows[row.revision] = row
        for revision in superseded:
            self.rows.pop(revision, None)
        self._compacted = max(self._compacted, compacted)

    def close(self) -> None:
        pass


SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, key TEXT NOT NULL,
    is_delete INTEGER NOT NULL, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
FORMAT = 1
JOURNAL_PAGES_MAX = 1000
"""So many wait in the journal before they go to the file. A small journal soon writes over itself,
and to overwrite is less work than to make a file longer."""
JOURNAL_BYTES_KEPT = 16 * 1024 * 1024
ROWS_TOGETHER = (16, 8, 4, 2, 1)
"""So many rows go into one statement, because each asks for the interpreter's lock again. Few sizes
are few prepared statements; these hold on to their last values, so large ones go alone."""
BYTES_TOGETHER_MAX = 1024 * 1024
SUPERSEDED_MIN = 256
"""So many rows are removed together: they are neighbours, and each page is written once."""


class SqliteLog:
    """SQLite in WAL mode with one connection per file, each commit synced before it is
    acknowledged.

    What is there is read through a connection that cannot write, so that a damaged file stays as it
    is for whoever repairs it; only a file that was read to its end is opened for writing.
    """

    blocks = True

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        self._lock = _hold(path)
        self._is_writable = False
        self._is_closed = False
        # Whoever gives a start up closes the log while a thread may still write to it.
        self._turns = threading.Lock()
        self._superseded: list[int] = []
        self._compacted = 0
        try:
            self._db = self._open_to_read() if _has_content(path) else self._open_to_write()
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, sqlite3.Error):
                raise StorageError(_unreadable(path, error)) from error
            raise

    def _open_to_read(self) -> sqlite3.Connection:
        db = _connect(f"{self._path.absolute().as_uri()}?mode=ro")
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            self._check_length(db.execute("PRAGMA page_size").fetchone()[0])
            if version != FORMAT and (version or tables):
                raise StorageError(
                    f'"{self._path}" has the storage format {version}, this program reads '
                    f"{FORMAT}: use the version that wrote it, or another data directory"
                )
        except BaseException:
            db.close()
            raise
        if tables:
            return db
        # Its server ended before the first commit.
        db.close()
        return self._open_to_write()

    def _check_length(self, page_bytes: int) -> None:
        """SQLite reads a page that is cut short as if zeros followed; the journal would have it."""
        if self._path.stat().st_size % page_bytes and not _has_journal(self._path):
            raise StorageError(_unreadable(self._path, "it ends in the middle of a page"))

    def _open_to_write(self) -> sqlite3.Connection:
        # Secrets are in it, so it must never be open to others, not even when it is new.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = _connect(self._path.absolute().as_uri())
        try:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"PRAGMA synchronous={'FULL' if self._durable else 'NORMAL'}")
            db.execute(f"PRAGMA wal_autocheckpoint={JOURNAL_PAGES_MAX}")
            db.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES_KEPT}")
            db.execute("PRAGMA cache_size=-2000")
            if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")
        except BaseException:
            db.close()
            raise
        self._is_writable = True
        return db

    def load(self) -> Iterator[Row]:
        query = "SELECT revision, resource, key, is_delete, value FROM log ORDER BY revision"
        try:
            yield from map(Row._make, self._db.execute(query))
            self._become_writable()
        except sqlite3.Error as error:
            raise StorageError(_unreadable(self._path, error)) from error

    def compacted(self) -> int:
        try:
            found = self._db.execute("SELECT value FROM facts WHERE name = 'compacted'").fetchone()
        except sqlite3.Error as error:
            raise StorageError(_unreadable(self._path, error)) from error
        return int(found[0]) if found else 0

    def append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None:
        with self._turns:
            if self._is_closed:
                raise StorageError(_closed(self._path))
            try:
                self._become_writable()
                self._append(rows, superseded, compacted)
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                raise StorageError(_unwritable(self._path, error)) from error

    def _append(self, rows: Sequence[Row], superseded: Sequence[int], compacted: int) -> None:
        """Rows that leave may stay a while, if only what was compacted does not get ahead of them:
        then a history that is read again has no gaps.
        """
        leaving = [*self._superseded, *superseded]
        is_due = len(leaving) >= SUPERSEDED_MIN
        statements = list(_grouped(rows))
        if len(statements) == 1 and not is_due:
            # A statement by itself is a transaction.
            self._insert(rows)
        else:
            self._db.execute("BEGIN IMMEDIATE")
            for some in statements:
                self._insert(some)
            if is_due:
                self._remove(leaving, compacted)
                leaving = []
            self._db.execute("COMMIT")
        self._superseded, self._compacted = leaving, compacted

    def _insert(self, rows: Sequence[Row]) -> None:
        places = ", ".join(["(?, ?, ?, ?, ?)"] * len(rows))
        self._db.execute(f"INSERT INTO log VALUES {places}", [part for row in rows for part in row])

    def _remove(self, revisions: Sequence[int], compacted: int) -> None:
        for start in range(0, len(revisions), SUPERSEDED_MIN):
            some = revisions[start : start + SUPERSEDED_MIN]
            places = ", ".join("?" * len(some))
            self._db.execute(f"DELETE FROM log WHERE revision IN ({places})", some)
        self._db.execute("REPLACE INTO facts VALUES ('compacted', ?)", (compacted,))

    def _become_writable(self) -> None:
        if not self._is_writable:
            self._db.close()
            self._db = self._open_to_write()

    def close(self) -> None:
        with self._turns:
            self._is_closed = True
            self._close()

    def _close(self) -> None:
        if self._superseded:
            # What cannot be removed now is found again by the next start.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("BEGIN IMMEDIATE")
                self._remove(self._superseded, self._compacted)
                self._db.execute("COMMIT")
        self._db.close()
        os.close(self._lock)


def _grouped(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    is_small = sum(len(row.value) for row in rows) <= BYTES_TOGETHER_MAX
    start = 0
    for size in ROWS_TOGETHER if is_small else (1,):
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def _has_content(path: Path) -> bool:
    """Whether there is a database to read; an empty file beside a journal was cut short."""
    if not path.exists():
        return False
    if path.stat().st_size:
        return True
    if _has_journal(path):
        raise StorageError(_unreadable(path, "it is empty, but its journal is not"))
    return False


def _has_journal(path: Path) -> bool:
    journal = path.with_name(f"{path.name}-wal")
    return journal.exists() and journal.stat().st_size > 0


def _hold(path: Path) -> int:
    """Take the lock file beside the database; two servers on one file would corrupt it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(
            f'"{path.parent}" cannot hold data ({error.strerror}): make it a directory that this '
            "user may write to, or choose another data directory"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StorageError(
            f'"{path}" is in use by another server: stop that one, or choose another data directory'
        ) from error
    return lock


def _unreadable(path: Path, error: object) -> str:
    return (
        f'"{path}" cannot be read as a fleetqueue database ({error}): restore it from a backup, '
        "or choose another data directory; the file was left as it is"
    )


def _closed(path: Path) -> str:
    return f'"{path}" is closed: its server stops, and takes no more writes'


def _unwritable(path: Path, error: object) -> str:
    return (
        f'writing to "{path}" failed ({error}): free space on its disk or make it writable; '
        "nothing that was acknowledged is lost"
    )
