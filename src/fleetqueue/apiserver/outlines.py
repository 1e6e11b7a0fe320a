"""CustomResourceDefinitions read without their schemas, which are nearly all of them: a schema is
decoded when the first object of its kind is.
"""

from hashlib import blake2b
from typing import Any

import msgspec

from fleetqueue.base import codec

Object = dict[str, Any]


class _Schema(msgspec.Struct):
    openAPIV3Schema: msgspec.Raw = msgspec.Raw()


class _Version(msgspec.Struct, omit_defaults=True):
    """All that a version may say."""

    name: str
    served: Any = None
    storage: Any = None
    deprecated: Any = None
    deprecationWarning: Any = None
    subresources: Any = None
    additionalPrinterColumns: Any = None
    selectableFields: Any = None
    schema: _Schema | None = None


class _Spec(msgspec.Struct, omit_defaults=True):
    group: str
    names: Object
    scope: str
    versions: list[_Version]
    preserveUnknownFields: Any = None
    conversion: Any = None


class _Definition(msgspec.Struct):
    metadata: Object
    spec: msgspec.Raw
    status: Any = None


_definitions = msgspec.json.Decoder(_Definition)
_specs = msgspec.json.Decoder(_Spec)


class Definition:
    """The spec of a CRD, as the bytes that the store holds anyway."""

    __slots__ = ("_data", "_schemas")

    def __init__(self, data: msgspec.Raw, schemas: dict[str, msgspec.Raw]) -> None:
        self._data = data
        self._schemas = schemas

    def is_like(self, other: "Definition | None") -> bool:
        """Whether they say the same, in whichever order."""
        if other is None:
            return False
        return bytes(self._data) == bytes(other._data) or self.spec() == other.spec()

    def spec(self) -> Object:
        """All of it; the caller owns the result."""
        found: Object = codec.decode(bytes(self._data))
        return found

    def schema(self, version: str) -> Object | None:
        """Of one version, where there is one; the caller owns the result."""
        found = bytes(self._schemas.get(version, b""))
        return codec.decode(found) if found else None

    def schema_digest(self, version: str) -> bytes:
        """The same for schemas that are the same, byte by byte."""
        return blake2b(self._schemas.get(version, b""), digest_size=20).digest()


def read(data: bytes) -> tuple[Object, Definition]:
    """The CRD without the schemas of its versions, and what has them."""
    read = _definitions.decode(data)
    spec = _specs.decode(read.spec)
    schemas = {v.name: v.schema.openAPIV3Schema for v in spec.versions if v.schema is not None}
    for version in spec.versions:
        version.schema = None
    outline: Object = {"metadata": read.metadata, "spec": msgspec.to_builtins(spec)}
    if read.status is not None:
        outline["status"] = read.status
    return outline, Definition(read.spec, schemas)
