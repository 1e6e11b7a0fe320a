"""Protobuf bodies decode to what Go's JSON of the same object says.

`go_objects.txt` was written by a Go program with the types of k8s.io/api v0.34.4: on each line the
JSON of an object, a space, and its protobuf body in hexadecimal.
"""

from pathlib import Path
from typing import Any

import pytest

from fleetqueue.apiserver import protobuf
from fleetqueue.apiserver.protobuf import ProtobufError
from fleetqueue.base import codec


def recorded() -> dict[str, tuple[Any, bytes]]:
    found = {}
    for line in Path(__file__).with_name("go_objects.txt").read_text().splitlines():
        text, _, data = line.rpartition(" ")
        wanted = codec.decode(text)
        found[f"{wanted['apiVersion']} {wanted['kind']}"] = wanted, bytes.fromhex(data)
    return found


OBJECTS = recorded()
SECRET = OBJECTS["v1 Secret"][1]


def without_nulls(value: Any) -> Any:
    """Go writes null for a list that is not there; on the wire nothing is written for it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, meta) + field(2, raw)


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    head = []
    while value > 0x7F:
        head.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*head, value])


@pytest.mark.parametrize("name", OBJECTS)
def test_a_body_says_what_gos_json_says(name: str) -> None:
    wanted, data = OBJECTS[name]
    kept = wanted.get("data", {}).get("spec")
    found = protobuf.decode(data)
    assert without_nulls(found) == without_nulls(wanted)
    assert kept is None or found["data"]["spec"] == kept


def test_apiversion_and_kind_come_first() -> None:
    assert list(protobuf.decode(SECRET))[:2] == ["apiVersion", "kind"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"",
            "to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b'{"kind":"Pod"}', "provided data does not appear to be a protobuf message"),
        (b"k8s\0", 'no kind "" is registered for version ""'),
        (b"k8s\0\x0a\x05", "unexpected EOF"),
        (b"k8s\0\x0f", "proto: illegal wireType 7"),
        (b"k8s\0\x0b", "proto: illegal wireType 3"),
        (b"k8s\0\x02\x00", "proto: illegal tag 0"),
        (b"k8s\0\x08" + b"\xff" * 11, "proto: integer overflow"),
        (body("v1", "Nothing", b""), 'no kind "Nothing" is registered for version "v1"'),
        (body("v1", "Pod", field(1, field(1, b"\xff"))), "a text is not UTF-8"),
        (body("v1", "Pod", b"\x08\x01"), "proto: wrong wireType"),
        (body("v1", "ConfigMap", b"\x10\x01"), "proto: wrong wireType for a map"),
        (body("apps/v1", "ControllerRevision", field(2, field(1, b"{"))), "is no JSON"),
        (body("v1", "Pod", b"") + field(3, b"gzip"), "carries a content encoding"),
    ],
)
def test_garbage_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        protobuf.decode(data)
    assert message in str(caught.value)


def test_endless_nesting_is_refused() -> None:
    schema = b""
    for _ in range(2000):
        schema = field(28, schema)
    data = body(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        field(2, field(7, field(4, field(1, schema)))),
    )
    with pytest.raises(ProtobufError, match="nested too deeply"):
        protobuf.decode(data)


def test_deep_schemas_of_real_definitions_are_read() -> None:
    schema = field(5, b"string")
    for _ in range(100):
        schema = field(28, schema)
    data = body(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        field(2, field(7, field(4, field(1, schema)))),
    )
    assert protobuf.decode(data)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["not"]


@pytest.mark.parametrize("name", ["v1 Pod", "v1 DeleteOptions", "v1 Event"])
def test_every_truncation_is_read_or_refused(name: str) -> None:
    data = OBJECTS[name][1]
    for size in range(len(data)):
        try:
            protobuf.decode(data[:size])
        except ProtobufError:
            continue


def test_unknown_fields_are_skipped() -> None:
    extra = field(900, b"x") + varint(901 << 3) + b"\x05" + varint(902 << 3 | 5) + b"\0" * 4
    assert protobuf.decode(body("v1", "Secret", extra)) == {"apiVersion": "v1", "kind": "Secret"}


def test_packed_numbers_are_read_like_single_ones() -> None:
    packed = field(2, field(14, field(4, b"\x01\x02" + varint(300))))
    context = protobuf.decode(body("v1", "Pod", packed))["spec"]["securityContext"]
    assert context == {"supplementalGroups": [1, 2, 300]}


def test_a_map_entry_without_value_is_empty() -> None:
    data = body("v1", "ConfigMap", field(2, field(1, b"key")))
    assert protobuf.decode(data)["data"] == {"key": ""}


def test_options_belong_to_every_group() -> None:
    data = body("kueue.x-k8s.io/v1beta1", "DeleteOptions", b"\x08\x05")
    assert protobuf.decode(data)["gracePeriodSeconds"] == 5


def test_the_first_second_of_the_epoch_is_a_time_and_no_time_is_null() -> None:
    epoch, never = field(8, b"\x08\x00\x10\x00"), field(8, b"")
    assert protobuf.decode(body("v1", "Pod", field(1, epoch)))["metadata"] == {
        "creationTimestamp": "1970-01-01T00:00:00Z"
    }
    assert protobuf.decode(body("v1", "Pod", field(1, never)))["metadata"] == {}
