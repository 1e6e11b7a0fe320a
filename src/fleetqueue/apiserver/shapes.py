"""The shapes of the registry: built-in kinds read as Go structs would be, custom ones by their
schema.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from fleetqueue.api import kubernetes
from fleetqueue.api.field_errors import FieldError
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.schema import decoding, embedded, stray_fields
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.pruning import unknown_field

if TYPE_CHECKING:
    from fleetqueue.apiserver.schema.compiled import CompiledSchema

Object = dict[str, Any]

KEPT_AS_JSON = ("apiextensions", "aggregator")
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class BuiltinShape:
    """A kind whose schema Kubernetes publishes; its strategy defaults and validates it."""

    cleans_in_place = False

    def __init__(self, definition: str, kind: str, version: str) -> None:
        self._definition = definition
        self._is_kept_as_json = any(group in definition for group in KEPT_AS_JSON)
        self._kind = kind
        self._version = version

    @cached_property
    def node(self) -> Node:
        return decoding.node_of(self._definition)

    def clean(self, obj: Object) -> tuple[Object, list[str]]:
        value, unknown, error = decoding.decode(obj, self.node)
        if error:
            raise problems.bad_request(
                f'{self._kind} in version "{self._version}" cannot be handled as a '
                f"{self._kind}: {error}"
            )
        return value, [unknown_field(path) for path in unknown]

    def default(self, obj: Object) -> None:
        pass

    def normalise(self, obj: Object) -> Object:
        normal: Object = decoding.normalise(obj, self.node)
        return normal

    def settle(self, obj: Object) -> None:
        if not self._is_kept_as_json:
            decoding.settle(obj, self.node)

    def validate(self, obj: Object, old: Object | None, *, status_only: bool) -> list[FieldError]:
        return []


@cache
def _metadata_node() -> Node:
    return decoding.node_of(METADATA)


class CustomShape:
    """A version of a custom resource, by the schema its CRD gives."""

    cleans_in_place = True

    def __init__(
        self,
        schema: Callable[[], Mapping[str, Any]],
        kind: str,
        version: str,
        retired: Mapping[str, Any] | None = None,
    ) -> None:
        self._read_schema = schema
        self._kind = kind
        self._version = version
        self._retired = retired

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        return self._read_schema()

    @cached_property
    def node(self) -> Node:
        """The schema with the type and metadata that every object has."""
        known = kubernetes.definitions()
        properties = {
            **(self._schema.get("properties") or {}),
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"#/components/schemas/{METADATA}"},
        }
        return Node({**self._schema, "type": "object", "properties": properties}, known)

    @cached_property
    def compiled(self) -> "CompiledSchema":
        # The rules language is loaded with the first custom resource, not with the server.
        from fleetqueue.apiserver.schema.compiled import CompiledSchema

        return CompiledSchema(Node(self._schema))

    def clean(self, obj: Object) -> tuple[Object, list[str]]:
        metadata, unknown, error = decoding.decode(obj["metadata"], _metadata_node())
        if error:
            raise self._unfit(error)
        obj = {**obj, "metadata": metadata}
        if self._retired:
            stray_fields.drop_retired(obj, self._retired)
        try:
            found = [f"metadata.{path}" for path in unknown] + self.compiled.prune(obj)
        except embedded.Unreadable as problem:
            raise self._unfit(str(problem)) from problem
        return obj, [
            f"{unknown_field(path)}{stray_fields.hint(self._schema, path)}" for path in found
        ]

    def _unfit(self, why: str) -> problems.ApiError:
        kind = self._kind
        return problems.bad_request(
            f'{kind} in version "{self._version}" cannot be handled as a {kind}: {why}'
        )

    def normalise(self, obj: Object) -> Object:
        metadata = decoding.normalise(obj["metadata"], _metadata_node())
        return {**obj, "metadata": metadata}

    def settle(self, obj: Object) -> None:
        pass

    def default(self, obj: Object) -> None:
        self.compiled.default(obj)

    def validate(self, obj: Object, old: Object | None, *, status_only: bool) -> list[FieldError]:
        return self.compiled.validate(obj, old, status_only=status_only)
