"""What a fresh Kubernetes 1.34 serves: its resources, and the OpenAPI schemas of its kinds.

`scripts/record-kubernetes` writes the data; it is read when somebody first asks for it.
"""

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_FOLDER = Path(__file__).parent


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a resource with a path of its own, such as `status` or `scale`."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    """The kind it takes and answers; it belongs to `group` and `version` where those are given."""
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    """The plural, as in paths: "pods"."""
    kind: str
    verbs: tuple[str, ...]
    singular: str
    namespaced: bool = False
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""
    """Empty for what is never stored, such as reviews and bindings."""
    subresources: tuple[Subresource, ...] = ()


class Version(msgspec.Struct, frozen=True):
    name: str
    resources: tuple[Resource, ...]


class Group(msgspec.Struct, frozen=True):
    """An API group; the preferred version comes first. The core group has an empty name."""

    name: str
    versions: tuple[Version, ...]


class _Resources(msgspec.Struct):
    groups: tuple[Group, ...]


@cache
def resources() -> tuple[Group, ...]:
    """Every group, in the order in which discovery lists them."""
    return msgspec.json.decode(_read("resources"), type=_Resources).groups


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Schemas by name, such as "io.k8s.api.core.v1.PodSpec"; descriptions are left out."""
    return msgspec.json.decode(_read("definitions"), type=dict[str, dict[str, Any]])


@cache
def definition_names() -> dict[tuple[str, str, str], str]:
    """(group, version, kind) -> the name of its schema, for kinds with one home."""
    homes: dict[tuple[str, str, str], str] = {}
    for name, schema in definitions().items():
        match schema.get("x-kubernetes-group-version-kind"):
            case [{"group": group, "version": version, "kind": kind}]:
                homes[group, version, kind] = name
    return homes


@cache
def go_fields() -> dict[str, dict[str, str]]:
    """How Go declares each field, by the schema's name and the field's.

    `scripts/record-go-fields` writes it. "?" in front means that an empty value is left out, "!"
    that a zero struct is as well; then comes the type, such as `*int32` or `v1.UID=string`.
    """
    return msgspec.json.decode(_read("go_fields"), type=dict[str, dict[str, str]])


def _read(name: str) -> bytes:
    return gzip.decompress((_FOLDER / f"{name}.json.gz").read_bytes())
