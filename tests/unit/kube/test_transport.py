"""The transport seam: payloads, watch frames cut from bytes, and calls into a handler."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fleetqueue.kube.errors import BadAnswer
from fleetqueue.kube.transport import Call, InProcessTransport, Payload, Stream, frames_of


async def _chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


ADDED = b'{"type":"ADDED","object":{"n":1}}\n'
DELETED = b'{"type":"DELETED","object":{"n":2}}\n'

# fmt: off
CUTS = {
    "one line a chunk":          ([ADDED, DELETED], [["ADDED"], ["DELETED"]]),
    "two lines in a chunk":      ([ADDED + DELETED], [["ADDED", "DELETED"]]),
    "a line in three chunks":    ([ADDED[:5], ADDED[5:20], ADDED[20:]], [["ADDED"]]),
    "one and a half":            ([ADDED + DELETED[:9], DELETED[9:]], [["ADDED"], ["DELETED"]]),
    "no newline at the end":     ([ADDED + DELETED.strip()], [["ADDED"], ["DELETED"]]),
    "cut off in the middle":     ([ADDED + DELETED[:9]], [["ADDED"]]),
    "empty lines between":       ([b"\n" + ADDED + b"\r\n\n"], [["ADDED"]]),
    "nothing at all":            ([], []),
}
# fmt: on


@pytest.mark.parametrize(("parts", "batches"), CUTS.values(), ids=CUTS.keys())
async def test_bytes_become_watch_events(parts: list[bytes], batches: list[list[str]]) -> None:
    found = [batch async for batch in frames_of(_chunks(*parts))]

    assert [[frame.type for frame in batch] for batch in found] == batches


async def test_the_object_of_an_event_is_read_only_when_asked_for() -> None:
    (batch,) = [batch async for batch in frames_of(_chunks(ADDED))]

    assert batch[0].payload.decoded() == {"n": 1}
    assert batch[0].payload.typed(dict[str, int]) == {"n": 1}


async def test_a_line_that_is_no_json_is_the_servers_fault() -> None:
    with pytest.raises(BadAnswer):
        [batch async for batch in frames_of(_chunks(b"oops\n"))]


def test_a_shared_object_is_handed_on_as_it_is() -> None:
    shared = {"a": 1.0}
    payload = Payload(shared=shared)

    assert payload.decoded() is shared
    assert payload.is_decoded
    assert payload.data == b'{"a":1.0}'


def test_a_payload_is_decoded_once() -> None:
    asked: list[int] = []
    payload = Payload(decode=lambda: asked.append(1) or {"a": 1})

    assert payload.decoded() is payload.decoded()
    assert len(asked) == 1


async def test_a_handler_gets_its_own_request_class(script: Any) -> None:
    class Own:
        def __init__(self, **given: Any) -> None:
            self.given = given

    script.then({})
    transport = InProcessTransport(script.handle, request=Own, user="me", headers={"x": "1"})

    await transport.request(Call("GET", "/api", [("a", "1"), ("a", "2")], {"y": "2"}))

    given = script.last.given
    assert given["query"] == {"a": ["1", "2"]}
    assert given["headers"] == {"x": "1", "y": "2"}
    assert given["user"] == "me"


async def test_a_stream_that_is_refused_has_a_body(script: Any, refuse: Any) -> None:
    script.then(refuse(410, "Expired", "too old"))

    stream = await InProcessTransport(script.handle).stream(Call("GET", "/api"))

    assert stream.status == 410
    assert b"too old" in stream.body


async def test_closing_a_stream_ends_the_servers_side(script: Any, new_stream: Any) -> None:
    source = new_stream()
    script.then(source)
    source.send("ADDED", {})
    stream: Stream = await InProcessTransport(script.handle).stream(Call("GET", "/api"))
    await anext(stream.watch_frames())

    await stream.aclose()

    assert source.is_closed
