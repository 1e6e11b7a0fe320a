"""Streams of a SPDY connection: opened, written, ended and cut from either side."""

import asyncio

import pytest

from fleetqueue.embedded import spdy
from fleetqueue.embedded.spdy import Data, GoAway, Ping, Reset, SynReply, SynStream
from fleetqueue.embedded.spdy_session import WAITING_BYTES_MAX, Session, Stream

pytestmark = pytest.mark.rule("jobs C.9")


class Client:
    """The other side of a session."""

    def __init__(self, refuses: str = "") -> None:
        self._encoder = spdy.Encoder()
        self._decoder = spdy.Decoder()
        self._refuses = refuses
        self.streams: list[Stream] = []
        self.received: list[spdy.Frame] = []
        self.session = Session(self._hear, self._open)

    async def say(self, *frames: spdy.Frame) -> None:
        await self.session.feed(b"".join(map(self._encoder.encode, frames)))

    async def _hear(self, data: bytes) -> None:
        self.received += self._decoder.feed(data)

    def _open(self, stream: Stream) -> str:
        self.streams.append(stream)
        return self._refuses


async def test_a_stream_is_accepted_and_carries_data_both_ways() -> None:
    client = Client()
    await client.say(SynStream(1, {"streamtype": "data"}), Data(1, b"in"), Data(1, b"", True))
    stream = client.streams[0]
    assert stream.headers == {"streamtype": "data"}
    assert [await stream.read(), await stream.read()] == [b"in", b""]
    await stream.write(b"out")
    await stream.close()
    assert client.received == [SynReply(1, {}), Data(1, b"out"), Data(1, b"", True)]
    assert not client.session.streams


async def test_long_data_is_sent_in_pieces() -> None:
    client = Client()
    await client.say(SynStream(1, {}))
    await client.streams[0].write(bytes(150_000))
    sizes = [len(frame.data) for frame in client.received if isinstance(frame, Data)]
    assert sizes == [65536, 65536, 18928]


async def test_a_stream_that_is_not_wanted_is_reset() -> None:
    client = Client(refuses="no such port")
    await client.say(SynStream(1, {}))
    assert client.received == [Reset(1, spdy.CANCEL)]
    assert not client.session.streams


@pytest.mark.parametrize("id", [1, 2])
async def test_a_stream_with_a_wrong_number_is_reset(id: int) -> None:
    client = Client()
    await client.say(SynStream(1, {}), SynStream(id, {}))
    assert client.received[-1] == Reset(id, spdy.PROTOCOL_ERROR)
    assert len(client.streams) == 1


async def test_a_ping_comes_back() -> None:
    client = Client()
    await client.say(Ping(5))
    assert client.received == [Ping(5)]


async def test_a_reset_ends_reading_and_silences_writing() -> None:
    client = Client()
    await client.say(SynStream(1, {}), Reset(1, spdy.CANCEL))
    stream = client.streams[0]
    assert await stream.read() == b""
    await stream.write(b"nobody hears this")
    assert client.received == [SynReply(1, {})]


async def test_the_end_of_the_connection_ends_its_streams() -> None:
    client = Client()
    await client.say(SynStream(1, {}))
    await client.session.close()
    assert await client.streams[0].read() == b""


async def test_a_goodbye_counts_when_all_streams_are_over() -> None:
    client = Client()
    await client.say(SynStream(1, {}), GoAway(1))
    assert not client.session.is_over
    await client.say(Reset(1, spdy.CANCEL))
    assert client.session.is_over


async def test_a_slow_reader_makes_the_connection_wait() -> None:
    client = Client()
    await client.say(SynStream(1, {}), Data(1, bytes(WAITING_BYTES_MAX)))
    feeding = asyncio.create_task(client.say(Data(1, b"more")))
    await asyncio.sleep(0)
    assert not feeding.done()
    assert len(await client.streams[0].read()) == WAITING_BYTES_MAX
    await feeding
    assert await client.streams[0].read() == b"more"


async def test_data_of_streams_that_are_gone_is_dropped() -> None:
    client = Client()
    await client.say(Data(9, b"late"), Ping(1))
    assert client.received == [Ping(1)]
