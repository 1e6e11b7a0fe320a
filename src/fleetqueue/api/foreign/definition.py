"""Foreign kinds as data: what a kind is called, and one schema per version that it is served in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleetqueue.api.crd import manifest
from fleetqueue.api.foreign.schema import Schema, string
from fleetqueue.api.kinds import Kind


@dataclass(frozen=True, kw_only=True)
class Version:
    """One served version: its names, and the schemas of spec and status.

    A version that has a status serves it as a subresource.
    """

    kind: Kind
    about: str
    spec: Schema
    spec_is_required: bool = False
    status: Schema | None = None
    rules: Sequence[Schema] = ()


def crd(versions: Sequence[Version]) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind; all versions say the same group and plural."""
    return manifest([(_complete(version), root_schema(version)) for version in versions])


def root_schema(version: Version) -> Schema:
    """The schema of whole objects."""
    fields: Schema = {
        "apiVersion": string(),
        "kind": string(),
        "metadata": {"type": "object"},
        "spec": version.spec,
    }
    if version.status is not None:
        fields["status"] = version.status
    root: Schema = {"type": "object", "description": version.about, "properties": fields}
    if version.spec_is_required:
        root["required"] = ["spec"]
    if version.rules:
        root["x-kubernetes-validations"] = list(version.rules)
    return root


def _complete(version: Version) -> Kind:
    kind = version.kind
    return replace(
        kind,
        singular=kind.singular or kind.name.lower(),
        status=version.status is not None,
    )
