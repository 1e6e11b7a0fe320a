"""The protobuf wire format: varints, tags and lengths. Every read is checked against the end."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.errors import InvalidInput

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class ProtobufError(InvalidInput, ValueError):
    """The bytes are no protobuf body that the server knows."""


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The value, and where the next thing begins."""
    # Nearly all tags, lengths and numbers have one byte.
    if position < end and data[position] < 0x80:
        return data[position], position + 1
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift >= 70:
            raise ProtobufError("proto: integer overflow")
    raise ProtobufError("unexpected EOF")


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def signed32(value: int) -> int:
    value &= 0xFFFF_FFFF
    return value - 2**32 if value >= 2**31 else value


def fields_of(
    data: bytes, position: int, end: int, as_bytes: bool = False
) -> Iterator[tuple[int, Any]]:
    """Number and value of every field: an int for a varint, bytes for fixed ones, and for the rest
    the span `(start, end)`, or its bytes where they are asked for."""
    while position < end:
        tag, position = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {wire_type})")
        if wire_type == VARINT:
            value, position = read_varint(data, position, end)
            yield number, value
            continue
        if wire_type == BYTES:
            size, position = read_varint(data, position, end)
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        start, position = position, position + size
        if position > end:
            raise ProtobufError("unexpected EOF")
        is_span = wire_type == BYTES and not as_bytes
        yield number, (start, position) if is_span else data[start:position]
