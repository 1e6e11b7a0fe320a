"""Types → structural schemas → CustomResourceDefinitions.

How to declare a type, with the markers of `fleetqueue.api.markers` and the scalars of
`fleetqueue.api.scalars`; `fleetqueue.api.kinds` says how to declare a kind:

    @schema(Rule("!has(self.low) || self.low <= self.high", "low must not exceed high"))
    class Window(Model):
        \"\"\"A docstring is the description of the type.\"\"\"

        high: Annotated[Int32, Schema(minimum=1)]                    # no default: required
        low: Int32 | None = None                                     # a default: optional
        mode: Annotated[Mode, Schema(default="Fast")] = Mode.FAST    # a StrEnum gives the enum
        count: Annotated[Int32, Schema(required=False)] = sent(default_factory=int)  # 0 is sent
        names: Annotated[list[Annotated[str, Schema(max_length=63)]], Schema(list_type="set")] = []
        parts: Annotated[list[Part], Schema(list_type="map", list_keys=("name",))] = []
        limits: dict[str, Quantity] = {}                             # additionalProperties
        template: PodTemplate                                        # raw JSON, schema inlined

The default in the schema and the one in memory are separate: the first is the server's, the second
says what is left out on the wire. `required=` in a marker overrules the absence of a default.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, cast

from fleetqueue.api.kinds import Column, Kind, Resource, kind_of, kinds
from fleetqueue.api.structural import JsonSchema, object_schema
from fleetqueue.base import codec


def declared_crds(group: str | None = None) -> list[dict[str, Any]]:
    """The CRDs of all declared kinds, or those of one API group, in order of their names."""
    served = [cls for cls in kinds() if kind_of(cls).crd and group in (None, kind_of(cls).group)]
    return sorted(
        (crd(list(versions)) for _, versions in groupby(served, key=_resource)),
        key=lambda each: str(each["metadata"]["name"]),
    )


def crd(versions: Sequence[type[Resource]]) -> dict[str, Any]:
    """The CRD of one kind from the classes of its versions; the caller owns the result."""
    return manifest([(kind_of(cls), root_schema(cls)) for cls in versions])


def manifest(versions: Sequence[tuple[Kind, JsonSchema]]) -> dict[str, Any]:
    """The CRD of one kind from what its versions are called and how their objects look."""
    stored = [kind for kind, _ in versions if kind.storage]
    if len(stored) != 1:
        raise ValueError(f"{versions[0][0].plural}: one version must be the stored one")
    main = stored[0]
    metadata: dict[str, Any] = {"name": f"{main.plural}.{main.group}"}
    if main.annotations:
        metadata["annotations"] = dict(main.annotations)
    made: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": main.group,
            "names": _names(main),
            "scope": main.scope,
            "versions": [_version(kind, schema) for kind, schema in versions],
            **_conversion(main),
        },
    }
    # Parts of the schema are shared between kinds until here.
    return cast(dict[str, Any], codec.copy(made))


def root_schema(cls: type[Resource]) -> JsonSchema:
    """The schema of whole objects of a kind; metadata is the API server's own affair."""
    schema = object_schema(cls)
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    return schema


def _resource(cls: type[Resource]) -> tuple[str, str]:
    return kind_of(cls).group, kind_of(cls).plural


def _names(kind: Kind) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _version(kind: Kind, schema: JsonSchema) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": kind.version,
        "served": kind.served,
        "storage": kind.storage,
        "schema": {"openAPIV3Schema": schema},
    }
    optional = {
        "deprecated": kind.deprecated,
        "deprecationWarning": kind.deprecation_warning,
        "subresources": _subresources(kind),
        "additionalPrinterColumns": _columns(kind.columns),
        "selectableFields": [{"jsonPath": path} for path in kind.selectable],
    }
    return version | {name: value for name, value in optional.items() if value}


def _subresources(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = {"status": {}} if kind.status else {}
    if kind.scale:
        found["scale"] = {
            "specReplicasPath": kind.scale.spec_replicas,
            "statusReplicasPath": kind.scale.status_replicas,
        } | ({"labelSelectorPath": kind.scale.selector} if kind.scale.selector else {})
    return found


def _columns(columns: Iterable[Column]) -> list[dict[str, Any]]:
    return [
        {"name": column.name, "type": column.type, "jsonPath": column.json_path}
        | ({"description": column.description} if column.description else {})
        | ({"format": column.format} if column.format else {})
        | ({"priority": column.priority} if column.priority else {})
        for column in columns
    ]


def _conversion(kind: Kind) -> dict[str, Any]:
    if kind.conversion is None:
        return {}
    service = {
        "name": kind.conversion.service,
        "namespace": kind.conversion.namespace,
        "path": kind.conversion.path,
    }
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    return {"conversion": {"strategy": "Webhook", "webhook": webhook}}
