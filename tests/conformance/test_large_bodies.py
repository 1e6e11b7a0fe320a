"""Bodies too large or too deep to write down: both servers refuse or take them alike."""

import json
from typing import Any

import pytest

from conformance.normal import Normaliser, difference
from conformance.play import Player

PATH = "/api/v1/namespaces/default/configmaps"
MEBI = 1024 * 1024


def _config_map(name: str, **more: Any) -> bytes:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return json.dumps({**head, **more}).encode()


def _nested(opening: bytes, closing: bytes, depth: int) -> bytes:
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":'
    return head + opening * depth + closing * depth + b"}"


BODIES = {
    "over the limit of a request": _config_map("big", data={"k": "x" * (3 * MEBI + 1)}),
    "over the limit of a ConfigMap": _config_map("big", data={"k": "x" * (MEBI + 1)}),
    "an annotation over the limit": json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "big", "annotations": {"k": "x" * (256 * 1024 + 1)}},
        }
    ).encode(),
    "lists nested 11,000 deep": _nested(b"[", b"]", 11_000),
    "lists nested 500 deep": _nested(b"[", b"]", 500),
    "objects nested 11,000 deep": _nested(b'{"a":', b"}", 11_000).replace(b":}", b":1}", 1),
    "a list of 100,000 numbers": _config_map("wide", x=list(range(100_000))),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_large_body_is_answered_alike(name: str, reference: Player, ours: Player) -> None:
    theirs, own = (_answer(player, BODIES[name]) for player in (reference, ours))
    assert own == theirs, difference(theirs, own)


def _answer(player: Player, body: bytes) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    answer = player.send("POST", f"{PATH}?dryRun=All", body, **headers)
    return Normaliser("default").answer(answer)
