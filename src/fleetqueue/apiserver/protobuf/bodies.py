"""The envelope of a protobuf body: a magic prefix, what the object is, and its bytes."""

from typing import Any

from fleetqueue.apiserver.protobuf import messages
from fleetqueue.apiserver.protobuf.wire import ProtobufError, fields_of

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

_META = "meta.k8s.io/v1"


def decode(data: bytes) -> dict[str, Any]:
    """The object as Go would write it in JSON, with apiVersion and kind first."""
    api_version, kind, raw = _envelope(data)
    message = _message_of(api_version, kind)
    if message is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **messages.decode(message, raw)}


def _envelope(data: bytes) -> tuple[str, str, bytes]:
    if not data.startswith(MAGIC):
        shown = " ".join(str(byte) for byte in MAGIC)
        raise ProtobufError(
            f"provided data does not appear to be a protobuf message, expected prefix [{shown}]"
        )
    envelope = _strings(data[len(MAGIC) :])
    if envelope.get(3):
        raise ProtobufError("the body carries a content encoding, which is not supported")
    type_meta = _strings(envelope.get(1, b""))
    try:
        return type_meta.get(1, b"").decode(), type_meta.get(2, b"").decode(), envelope.get(2, b"")
    except UnicodeDecodeError:
        raise ProtobufError("apiVersion or kind is not UTF-8") from None


def _strings(data: bytes) -> dict[int, bytes]:
    return {
        number: value
        for number, value in fields_of(data, 0, len(data), as_bytes=True)
        if isinstance(value, bytes)
    }


def _message_of(api_version: str, kind: str) -> str | None:
    """Options and the like belong to every group and version."""
    kinds = messages.table().kinds
    return kinds.get(f"{api_version}/{kind}") or kinds.get(f"{_META}/{kind}")
