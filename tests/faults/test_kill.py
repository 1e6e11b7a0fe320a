"""`kill -9` at random moments under write load: what was acknowledged is there after a restart.

The number of kills and the seed can be set: FLEETQUEUE_KILLS=500 FLEETQUEUE_SEED=7 pytest ...
"""

import http.client
import json
import os
import random
import subprocess
import time
from pathlib import Path

from faults.ledger import COLLECTION, Ledger, Writer, listed, send_once
from support.ours import command, start_ours
from support.ports import free_port
from support.server import PlainClient, Server

KILLS = int(os.environ.get("FLEETQUEUE_KILLS", "100"))
SEED = int(os.environ.get("FLEETQUEUE_SEED", "20260101"))
WRITERS = 3
LOAD_SECONDS_MAX = 0.45
START_SECONDS_MAX = 0.8


def test_a_server_killed_at_any_moment_loses_no_acknowledged_write(tmp_path: Path) -> None:
    source = random.Random(SEED)
    ledger, port, revision = Ledger(), free_port(), 0
    for round_number in range(KILLS):
        try:
            if round_number % 10 == 9:
                _kill_while_it_starts(tmp_path, port, source)
            server = start_ours(tmp_path, durability="full", port=port)
            with server.client() as client:
                revision = _check(client, ledger, revision, source, round_number)
            _kill_under_load(server, ledger, source)
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}, kill {round_number}: {error}") from error
    assert ledger.acknowledged > KILLS, "the load was no load"


def _kill_while_it_starts(directory: Path, port: int, source: random.Random) -> None:
    process = subprocess.Popen(
        command(directory, port, "full"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(source.random() * START_SECONDS_MAX)
    process.kill()
    process.wait()


def _kill_under_load(server: Server, ledger: Ledger, source: random.Random) -> None:
    writers = [Writer(server, ledger, n, source.getrandbits(32)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    time.sleep(source.random() * LOAD_SECONDS_MAX)
    (process,) = server.processes
    process.kill()
    process.wait()
    for writer in writers:
        writer.join(30)
        assert not writer.is_alive()
        if writer.failure is not None:
            raise writer.failure


def _check(
    client: PlainClient, ledger: Ledger, before: int, source: random.Random, round_number: int
) -> int:
    revision, found = listed(client)
    assert revision >= max(before, ledger.highest), "the revision went back"
    ledger.check(found)
    _check_watch(client, ledger, source, round_number)
    return revision


def _check_watch(
    client: PlainClient, ledger: Ledger, source: random.Random, round_number: int
) -> None:
    """A watch resumed from an acknowledged write brings every later one, in order, or says 410."""
    if not ledger.revisions:
        return
    since, _ = source.choice(ledger.revisions[-2000:])
    last = f"sentinel-{round_number}"
    status, _ = send_once(client, "POST", COLLECTION, {"metadata": {"name": last}})
    assert status == 201
    events = _events_until(client, since, last)
    if events and events[-1][1] == "Expired":
        return
    seen = [revision for revision, _ in events]
    assert seen == sorted(set(seen)), "events came out of order"
    missing = {(r, name) for r, name in ledger.revisions if r > since} - set(events)
    assert not missing, f"a watch from {since} left out {sorted(missing)[:5]}"


def _open_watch(client: PlainClient, since: int) -> http.client.HTTPResponse:
    connection = client.connect()
    headers = {"Authorization": f"Bearer {client.token}"}
    path = f"{COLLECTION}?watch=true&resourceVersion={since}&timeoutSeconds=30"
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


def _events_until(client: PlainClient, since: int, last: str) -> list[tuple[int, str]]:
    events = []
    with _open_watch(client, since) as response:
        for line in response:
            obj = json.loads(line)["object"]
            if obj.get("kind") == "Status":
                events.append((0, str(obj["reason"])))
                break
            events.append((int(obj["metadata"]["resourceVersion"]), str(obj["metadata"]["name"])))
            if obj["metadata"]["name"] == last:
                break
    client.close()
    return events


def test_a_server_stopped_politely_ends_its_watches_and_exits_with_zero(tmp_path: Path) -> None:
    server = start_ours(tmp_path, durability="full")
    with server.client() as client:
        response = _open_watch(client, 1)
        server.stop()
        assert server.processes[0].returncode == 0
        response.read()
