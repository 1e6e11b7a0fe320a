"""What tests of CRDs share: the served kinds as a server would treat them, and a check that a
schema is structural."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fleetqueue.api.crds import all_crds
from fleetqueue.apiserver.schema.compiled import CompiledSchema
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.base import codec

Json = dict[str, Any]


@dataclass(frozen=True)
class Admitted:
    """What a server would make of an object."""

    obj: Json
    dropped: list[str]
    errors: list[str]


class Server:
    """Prunes, defaults and validates objects by the CRDs, as a server does on a write."""

    def __init__(self, crds: list[Json]) -> None:
        self.crds = {crd["metadata"]["name"]: crd for crd in crds}
        self._compiled: dict[tuple[str, str], CompiledSchema] = {}

    def version(self, api_version: str, kind: str) -> Json:
        group, version = api_version.split("/")
        for crd in self.crds.values():
            if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) == (group, kind):
                return next(one for one in crd["spec"]["versions"] if one["name"] == version)
        raise KeyError(f"{api_version} {kind}")

    def schema(self, api_version: str, kind: str) -> Node:
        return Node(self.version(api_version, kind)["schema"]["openAPIV3Schema"])

    def write(self, given: Json, old: Json | None = None) -> Admitted:
        who = given["apiVersion"], given["kind"]
        if who not in self._compiled:
            self._compiled[who] = CompiledSchema(self.schema(*who))
        compiled, obj = self._compiled[who], codec.copy(given)
        dropped = compiled.prune(obj)
        compiled.default(obj)
        return Admitted(obj, dropped, [str(error) for error in compiled.validate(obj, old)])


@pytest.fixture(scope="session")
def server() -> Server:
    return Server(all_crds())


@pytest.fixture(scope="session")
def structural_faults() -> Callable[[Json], list[str]]:
    """Why a server would not take a schema as structural."""
    return lambda schema: list(_faults(schema, "", is_root=True))


_VALUE_WORDS = {"type", "default", "description", "properties", "items", "additionalProperties"}


def _faults(schema: Json, path: str, is_root: bool = False) -> Iterator[str]:
    is_either = schema.get("x-kubernetes-int-or-string", False)
    is_open = schema.get("x-kubernetes-preserve-unknown-fields", False)
    if not schema.get("type") and not is_either and not is_open:
        yield f"{path}: no type"
    if is_root and schema.get("type") != "object":
        yield "the root is no object"
    if "$ref" in schema:
        yield f"{path}: a reference"
    for word in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(word, ()):
            if set(branch) & _VALUE_WORDS and not is_either:
                yield f"{path}: {word} says more than values"
    if schema.get("properties") and "additionalProperties" in schema:
        yield f"{path}: a map with named fields"
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield f"{path}: a list of anything"
    yield from _list_faults(schema, path)
    fields = schema.get("properties") or {}
    if unknown := set(schema.get("required", ())) - set(fields):
        yield f"{path}: requires {unknown}, which are no fields"
    if is_root and set(fields["metadata"]) - {"type", "description"}:
        yield "the root's metadata says more than its type"
    for name, field in fields.items():
        yield from _faults(field, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _faults(schema[word], f"{path}[]")


def _list_faults(schema: Json, path: str) -> Iterator[str]:
    items = schema.get("items") or {}
    match schema.get("x-kubernetes-list-type"):
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or []
            fields = items.get("properties") or {}
            if not keys or set(keys) - set(fields):
                yield f"{path}: keys {keys} are not all fields"
            for key in set(keys) & set(fields):
                if key not in items.get("required", ()) and "default" not in fields[key]:
                    yield f"{path}: key {key} may be missing"
        case "set":
            if items.get("type") in ("object", "array"):
                yield f"{path}: a set of {items['type']}s"
