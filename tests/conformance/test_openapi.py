"""OpenAPI documents have the structure of kube-apiserver's; only the words in them are our own."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.normal import difference
from conformance.play import Player

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "pieces.openapi.example.com"
DOCUMENT = "apis/openapi.example.com/v1"
PARAMETERS = "#/parameters/"

SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
        "replicas": {"type": "integer", "format": "int32", "minimum": 0},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}},
            },
        },
        "one": {
            "type": "object",
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        },
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
    "x-kubernetes-validations": [{"rule": "self.replicas < 10"}],
}
STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "openapi.example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "pieces",
            "singular": "piece",
            "kind": "Piece",
            "listKind": "PieceList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": SPEC, "status": STATUS},
                    }
                },
            },
            {
                "name": "v2",
                "served": True,
                "storage": False,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            },
        ],
    },
}


@pytest.fixture(scope="module")
def both(reference: Player, ours: Player) -> Iterator[tuple[Player, Player]]:
    players = (reference, ours)
    for player in players:
        assert player.send("POST", DEFINITIONS, CRD).status == 201
    for player in players:
        _wait_for(player)
    yield players
    for player in players:
        player.send("DELETE", f"{DEFINITIONS}/{NAME}")


def test_there_are_the_same_documents(both: tuple[Player, Player]) -> None:
    expected, found = (_names(player) for player in both)
    assert found == expected


def test_every_document_of_version_3_has_the_same_structure(both: tuple[Player, Player]) -> None:
    for name in _names(both[0]):
        path = f"/openapi/v3/{name}"
        expected, found = (_wordless(player.send("GET", path).json) for player in both)
        assert found == expected, f"{path}\n{difference(expected, found)}"


def test_the_document_of_version_2_has_the_same_structure(both: tuple[Player, Player]) -> None:
    expected, found = (_wordless(player.send("GET", "/openapi/v2").json) for player in both)
    for part in ("definitions", "paths"):
        theirs, own = _resolved(expected, expected[part]), _resolved(found, found[part])
        assert own == theirs, difference(theirs, own)


def _names(player: Player) -> list[str]:
    index = player.send("GET", "/openapi/v3").json["paths"]
    return sorted(name for name in index if not _is_foreign(name))


def _is_foreign(name: str) -> bool:
    """What other cases define at this moment."""
    return "example" in name and "openapi" not in name


def _wait_for(player: Player) -> None:
    """Both servers describe a new kind a little later than they serve it."""
    for _ in range(300):
        paths = player.send("GET", "/openapi/v2").json["paths"]
        if DOCUMENT in _names(player) and f"/{DOCUMENT}/pieces" in paths:
            return
        time.sleep(0.1)
    raise AssertionError(f"{player.server.name} does not describe {DOCUMENT}")


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _wordless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _wordless(below)
            for key, below in value.items()
            if not (key == "description" and isinstance(below, str))
        }
    return [_wordless(item) for item in value] if isinstance(value, list) else value


def _resolved(document: dict[str, Any], value: Any) -> Any:
    """Version 2 may name a parameter elsewhere, and its lists have no order."""
    if isinstance(value, list):
        return [_resolved(document, item) for item in value]
    if not isinstance(value, dict):
        return value
    target = value.get("$ref", "")
    if isinstance(target, str) and target.startswith(PARAMETERS):
        return _resolved(document, document["parameters"][target.removeprefix(PARAMETERS)])
    made = {key: _resolved(document, below) for key, below in value.items() if not _is_foreign(key)}
    for key in ("parameters", "consumes", "produces"):
        if isinstance(made.get(key), list):
            made[key] = sorted(made[key], key=_written)
    return made
