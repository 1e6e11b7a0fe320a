"""SPDY frames: what is written is read back, and what Go's library writes is understood."""

import zlib

import pytest

from fleetqueue.embedded import spdy
from fleetqueue.embedded.spdy import (
    Data,
    Decoder,
    Encoder,
    GoAway,
    MoreHeaders,
    Ping,
    Reset,
    Settings,
    SpdyError,
    SynReply,
    SynStream,
    WindowUpdate,
)

pytestmark = pytest.mark.rule("jobs C.9")

FRAMES = [
    SynStream(1, {"streamtype": "error", "port": "8080", "requestid": "0"}),
    SynStream(3, {"streamtype": "data", "port": "8080", "requestid": "0"}, is_last=True),
    SynReply(1, {}),
    SynReply(3, {"a": "b"}, is_last=True),
    MoreHeaders(3, {"c": "ü"}),
    Data(3, b"some text"),
    Data(3, b"", is_last=True),
    Reset(1, spdy.CANCEL),
    Settings(),
    Ping(7),
    GoAway(3, 1),
    WindowUpdate(3, 65536),
]


def test_the_dictionary_is_the_one_of_the_protocol() -> None:
    assert zlib.adler32(spdy.DICTIONARY) == 0xE3C6A7C2


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_is_read_as_it_was_written(frame: spdy.Frame) -> None:
    assert Decoder().feed(Encoder().encode(frame)) == [frame]


def test_frames_are_found_wherever_the_bytes_are_cut() -> None:
    encoder, decoder = Encoder(), Decoder()
    data = b"".join(map(encoder.encode, FRAMES))
    found = [frame for at in range(len(data)) for frame in decoder.feed(data[at : at + 1])]
    assert found == FRAMES


def test_the_headers_of_one_connection_share_their_compression() -> None:
    encoder, decoder = Encoder(), Decoder()
    first = encoder.encode(SynStream(1, {"streamtype": "stdout"}))
    second = encoder.encode(SynStream(3, {"streamtype": "stdout"}))
    assert len(second) < len(first)
    assert [frame for data in (first, second) for frame in decoder.feed(data)] == [
        SynStream(1, {"streamtype": "stdout"}),
        SynStream(3, {"streamtype": "stdout"}),
    ]


def test_frames_of_unknown_kinds_are_passed_over() -> None:
    unknown = bytes.fromhex("800300630000000401020304")
    assert Decoder().feed(unknown + Encoder().encode(Ping(1))) == [Ping(1)]


# fmt: off
WRONG = {
    "another version":             "8002000600000004" "00000001",
    "a control frame too large":   "80030001" "00ffffff",
    "a ping without its number":   "8003000600000000",
    "a stream without a number":   "80030003" "00000002" "0001",
    "headers that do not unpack":  "80030001" "0000000e" "00000001" "00000000" "0000" "ffffffff",
}
# fmt: on


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_spdy_is_refused(data: str) -> None:
    with pytest.raises(SpdyError):
        Decoder().feed(bytes.fromhex(data))


def test_headers_that_unpack_to_too_much_are_refused() -> None:
    packed = zlib.compressobj(9, zdict=spdy.DICTIONARY)
    block = packed.compress(bytes(10_000_000)) + packed.flush(zlib.Z_SYNC_FLUSH)
    body = (1).to_bytes(4, "big") + bytes(6) + block
    with pytest.raises(SpdyError, match="too large"):
        Decoder().feed(bytes.fromhex("80030001") + len(body).to_bytes(4, "big") + body)
