"""Channels in a WebSocket: which protocol is spoken, and how messages are packed."""

import pytest

from fleetqueue.embedded import channels
from fleetqueue.embedded.channels import COMMAND_PROTOCOLS, PORT_PROTOCOLS, V5, Protocol

pytestmark = pytest.mark.rule("jobs C.9")

V4 = Protocol("v4.channel.k8s.io")
TEXT = Protocol("base64.channel.k8s.io", is_text=True)
BYTES, WORDS = "channel.k8s.io", "base64.channel.k8s.io"

# fmt: off
OFFERS = {  #                     header                    commands       ports
    "kubectl":                   (f"v5.{BYTES}",            f"v5.{BYTES}", None),
    "the Python client":         (f"v5.{BYTES},v4.{BYTES}", f"v5.{BYTES}", f"v4.{BYTES}"),
    "v5 wherever it stands":     (f"v4.{BYTES}, v5.{BYTES}", f"v5.{BYTES}", f"v4.{BYTES}"),
    "else the favourite":        (f"{BYTES}, v4.{BYTES}",    BYTES,         f"v4.{BYTES}"),
    "text":                      (f"v4.{WORDS}",            f"v4.{WORDS}", f"v4.{WORDS}"),
    "old text":                  (WORDS,                    WORDS,         None),
    "several headers":           (f"nosuch\nv4.{BYTES}",    f"v4.{BYTES}", f"v4.{BYTES}"),
    "nothing":                   ("",                       "",            ""),
    "something else":            ("chat",                   None,          None),
}
# fmt: on


@pytest.mark.parametrize(("header", "command", "port"), OFFERS.values(), ids=OFFERS.keys())
def test_the_protocol_is_chosen(header: str, command: str | None, port: str | None) -> None:
    names = channels.offered({"sec-websocket-protocol": header} if header else {})
    for known, expected in ((COMMAND_PROTOCOLS, command), (PORT_PROTOCOLS, port)):
        chosen = channels.negotiate(names, known)
        assert (None if chosen is None else chosen.name) == expected


def test_a_tunnel_is_recognized() -> None:
    assert channels.asks_for_tunnel(["SPDY/3.1+portforward.k8s.io"])
    assert not channels.asks_for_tunnel(["v4.channel.k8s.io"])


@pytest.mark.parametrize(
    ("protocol", "message"), [(V4, b"\x01hi\n"), (V5, b"\x01hi\n"), (TEXT, "1aGkK")]
)
def test_a_message_names_its_channel(protocol: Protocol, message: bytes | str) -> None:
    assert channels.encode(protocol, 1, b"hi\n") == message
    assert channels.decode(protocol, message) == (1, b"hi\n")


# fmt: off
RECEIVED = {  #                              protocol, message,      meaning
    "a stream ends":                        (V5,       b"\xff\x00",  (0, None)),
    "v4 cannot end one":                    (V4,       b"\xff\x00",  (255, b"\x00")),
    "an end of nothing":                    (V5,       b"\xff",      None),
    "an empty message":                     (V4,       b"",          None),
    "an empty piece":                       (V4,       b"\x00",      (0, b"")),
    "text that is not base64":              (TEXT,     "0:::",       None),
}
# fmt: on


@pytest.mark.parametrize(("protocol", "message", "meaning"), RECEIVED.values(), ids=RECEIVED.keys())
def test_messages_are_understood(
    protocol: Protocol, message: bytes | str, meaning: tuple[int, bytes | None] | None
) -> None:
    assert channels.decode(protocol, message) == meaning
