"""Whatever bytes come, a protobuf body is an object or a clean refusal."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as some

from fleetqueue.apiserver import protobuf

POD = bytes.fromhex("0a080a0276311203506f64")


@given(some.binary(max_size=80))
def test_any_bytes_in_a_pod_are_read_or_refused(raw: bytes) -> None:
    size = bytes([0x12, len(raw)])
    with suppress(protobuf.ProtobufError):
        assert protobuf.decode(b"k8s\0" + POD + size + raw)["kind"] == "Pod"


@given(some.binary(max_size=40))
def test_any_bytes_after_the_prefix_are_read_or_refused(raw: bytes) -> None:
    with suppress(protobuf.ProtobufError):
        assert isinstance(protobuf.decode(b"k8s\0" + raw), dict)
