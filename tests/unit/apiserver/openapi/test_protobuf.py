"""OpenAPI v2 as protobuf, read back field by field."""

from typing import Any

from fleetqueue.apiserver.openapi import protobuf

Message = dict[int, list[Any]]


def read(data: bytes) -> Message:
    """The fields of a message: numbers as they are, everything else as bytes."""
    found: Message = {}
    while data:
        tag, data = varint(data)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, data = varint(data)
        elif kind == 1:
            value, data = data[:8], data[8:]
        else:
            size, data = varint(data)
            value, data = data[:size], data[size:]
        found.setdefault(number, []).append(value)
    return found


def varint(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    for place, byte in enumerate(data):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data[place + 1 :]
    raise AssertionError("the message ends inside a number")


def schema_of(schema: dict[str, Any]) -> Message:
    document = read(protobuf.encode({"definitions": {"one": schema}}))
    named = read(read(document[9][0])[1][0])
    assert named[1] == [b"one"]
    return read(named[2][0])


def test_a_schema_keeps_its_types_bounds_and_extensions() -> None:
    found = schema_of(
        {
            "type": "object",
            "description": "words ✓",
            "required": ["a", "b"],
            "maxLength": 300,
            "minimum": 0.5,
            "enum": ["x", "y"],
            "default": [1],
            "x-kubernetes-list-type": "map",
        }
    )
    assert read(found[22][0])[1] == [b"object"]
    assert found[4] == ["words ✓".encode()]
    assert found[19] == [b"a", b"b"]
    assert found[11] == [300]
    assert found[9] == [b"\x00\x00\x00\x00\x00\x00\xe0\x3f"]
    assert [read(one)[2] for one in found[20]] == [[b'"x"\n'], [b'"y"\n']]
    assert read(found[5][0])[2] == [b"[1]\n"]
    extension = read(found[31][0])
    assert (extension[1], read(extension[2][0])[2]) == ([b"x-kubernetes-list-type"], [b'"map"\n'])


def test_schemas_nest() -> None:
    found = schema_of(
        {
            "properties": {"list": {"items": {"$ref": "#/definitions/two"}}},
            "additionalProperties": {"type": "string"},
        }
    )
    named = read(read(found[25][0])[1][0])
    items = read(read(named[2][0])[23][0])
    assert named[1] == [b"list"]
    assert read(items[1][0])[1] == [b"#/definitions/two"]
    inner = read(read(found[21][0])[1][0])
    assert read(inner[22][0])[1] == [b"string"]
    assert read(schema_of({"additionalProperties": True})[21][0]) == {2: [1]}


def test_an_operation_keeps_where_its_parameters_are() -> None:
    operation = {
        "operationId": "list",
        "parameters": [
            {"in": "query", "name": "limit", "type": "integer", "uniqueItems": True},
            {"in": "path", "name": "namespace", "type": "string", "required": True},
            {"in": "body", "name": "body", "schema": {"$ref": "#/definitions/one"}},
        ],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/one"}}},
    }
    document = read(protobuf.encode({"paths": {"/api": {"get": operation}}}))
    path = read(read(document[8][0])[2][0])
    found = read(read(path[2][0])[2][0])
    assert (path[1], found[5]) == ([b"/api"], [b"list"])
    query, placed, body = (read(read(one)[1][0]) for one in found[8])
    assert read(read(query[2][0])[3][0]) == {2: [b"query"], 4: [b"limit"], 6: [b"integer"], 20: [1]}
    assert read(read(placed[2][0])[4][0])[4] == [b"namespace"]
    assert read(read(body[1][0])[5][0])[1] == [b"#/definitions/one"]
    response = read(read(found[9][0])[1][0])
    assert response[1] == [b"200"]
    assert read(read(response[2][0])[1][0])[1] == [b"OK"]
