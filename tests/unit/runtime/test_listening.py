"""Who listens where, as the kernel tells it."""

import socket
from pathlib import Path

import pytest

from fleetqueue.runtime import listening

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"
LISTENING = "   0: 0200017F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000"
CONNECTED = "   1: 0100007F:0050 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000"


def test_who_listens_is_told_and_who_stopped_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place: listening.Place = server.getsockname()
        with socket.create_connection(place):
            assert listening.one_listens([("127.9.9.9", 1), place])
            assert not listening.listens_everywhere(place[1])
    assert not listening.one_listens([place])


def test_what_is_connected_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "tcp"
    table.write_text("\n".join([HEAD, LISTENING, CONNECTED, "never read"]))
    monkeypatch.setattr(listening, "_TABLES", {socket.AF_INET: table})
    assert listening.one_listens([("127.1.0.2", 8080)])
    assert not listening.one_listens([("127.0.0.1", 80)])
