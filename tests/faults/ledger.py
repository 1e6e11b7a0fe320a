"""Writers that note what the server acknowledged, and the check that it kept its word."""

import http.client
import json
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from support.server import PlainClient, Server

COLLECTION = "/api/v1/namespaces/default/configmaps"
NAMES_PER_WRITER = 12
GONE = -1


@dataclass
class Entry:
    """What one object must be: its last acknowledged number, and the one that may have followed."""

    number: int = GONE
    revision: int = 0
    attempted: int | None = None


@dataclass
class Ledger:
    """All acknowledged writes of all writers."""

    entries: dict[str, Entry] = field(default_factory=dict)
    revisions: list[tuple[int, str]] = field(default_factory=list)
    """Acknowledged revisions with the object written, in no order across writers."""
    acknowledged: int = 0

    @property
    def highest(self) -> int:
        return max((revision for revision, _ in self.revisions), default=0)

    def check(self, found: dict[str, tuple[int, int]]) -> None:
        """Compare with the numbers and revisions that a restarted server lists."""
        for name, entry in self.entries.items():
            number, revision = found.get(name, (GONE, 0))
            allowed = {entry.number, entry.attempted} - {None}
            assert number in allowed, f"{name} is {number}, acknowledged was {allowed}"
            if number == entry.number and number != GONE:
                assert revision == entry.revision, f"{name} moved to another revision"
            elif number != GONE:
                assert revision > entry.revision, f"{name} went back"
            self.entries[name] = Entry(number, revision)
        assert set(found) <= set(self.entries)


class Writer(threading.Thread):
    """Creates, patches and deletes its own objects, one after another, until the server is gone."""

    def __init__(self, server: Server, ledger: Ledger, index: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._client = server.client()
        self._ledger = ledger
        self._random = random.Random(seed)
        self._names = [f"w{index}-{n}" for n in range(NAMES_PER_WRITER)]
        self._next = self._random.getrandbits(40)
        self.failure: AssertionError | None = None

    def run(self) -> None:
        try:
            with self._client:
                while True:
                    self._write(self._random.choice(self._names))
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError as error:
            self.failure = error

    def _write(self, name: str) -> None:
        entry = self._ledger.entries.setdefault(name, Entry())
        self._next += 1
        is_deletion = entry.number != GONE and self._random.random() < 0.2
        entry.attempted = GONE if is_deletion else self._next
        status, body = self._send(name, entry, is_deletion)
        assert status in (200, 201), body
        entry.number, entry.attempted = entry.attempted, None
        self._ledger.acknowledged += 1
        if not is_deletion:
            entry.revision = int(body["metadata"]["resourceVersion"])
            self._ledger.revisions.append((entry.revision, name))

    def _send(self, name: str, entry: Entry, is_deletion: bool) -> tuple[int, Any]:
        data = {"data": {"number": str(self._next), "filling": "x" * self._random.randrange(900)}}
        if entry.number == GONE:
            obj = {"metadata": {"name": name}, **data}
            answer = send_once(self._client, "POST", COLLECTION, obj)
        elif is_deletion:
            answer = send_once(self._client, "DELETE", f"{COLLECTION}/{name}")
        else:
            answer = send_once(self._client, "PATCH", f"{COLLECTION}/{name}", data)
        return answer


def send_once(client: PlainClient, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One attempt: a write whose answer was lost must not be sent again."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = client.send(method, path, body, {"Content-Type": kind}, attempts=1)
    return answer.status, json.loads(answer.body)


def listed(client: PlainClient) -> tuple[int, dict[str, tuple[int, int]]]:
    """The revision of the collection, and the number and revision of each object of the writers."""
    _, body = send_once(client, "GET", COLLECTION)
    found = {
        item["metadata"]["name"]: (
            int(item["data"]["number"]),
            int(item["metadata"]["resourceVersion"]),
        )
        for item in body["items"]
        if "number" in item.get("data", {})
    }
    return int(body["metadata"]["resourceVersion"]), found
