"""The paths of a resource and what may be done on each, as OpenAPI operations."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.apiserver.openapi import naming, parameters
from fleetqueue.apiserver.openapi.naming import meta, reference
from fleetqueue.apiserver.registry import Resource, Subresource, Version

Object = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
STRATEGIC = "application/strategic-merge-patch+json"
PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
)
METHODS = {
    "get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch",
    "delete": "delete", "deletecollection": "delete",
}  # fmt: skip
ACTIONS = {"create": "post", "update": "put"}
WORDS = {"get": "read", "update": "replace", "deletecollection": "delete"}
STATUSES = {
    "create": (200, 201, 202),
    "update": (200, 201),
    "patch": (200, 201),
    "delete": (200, 202),
}
REASONS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
TEXT: Object = {"type": "string"}
CONNECT_METHODS = ("delete", "get", "head", "options", "patch", "post", "put")
SHOWN_WHEN_DELETED = frozenset(
    (
        "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "ServiceAccount",
        "Service", "PersistentVolume", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate",
        "ResourceSlice", "CSIDriver", "CSINode", "StorageClass", "VolumeAttachment",
        "VolumeAttributesClass",
    )
)  # fmt: skip
"""Kinds whose deletion is answered with the object; that of others with a Status."""


def paths_of(resource: Resource, version: Version) -> dict[str, Object]:
    """Path -> path item, for a resource and its subresources."""
    return _Paths(resource, version).all()


class _Paths:
    """The paths of one version of a resource."""

    def __init__(self, resource: Resource, version: Version) -> None:
        self._resource = resource
        self._version = version
        self._base = naming.base_path(resource.group, version.name)
        self._scope = ("namespace",) if resource.namespaced else ()
        self._where = "/namespaces/{namespace}" if resource.namespaced else ""

    def all(self) -> dict[str, Object]:
        plural, verbs = self._resource.plural, self._version.verbs
        collection = f"{self._base}{self._where}/{plural}"
        one = f"{collection}/{{name}}"
        found: dict[str, dict[str, Object]] = {
            collection: self._operations(("list", "create", "deletecollection"), self._scope),
            one: self._operations(("get", "update", "patch", "delete"), (*self._scope, "name")),
        }
        if self._scope and "list" in verbs:
            found[f"{self._base}/{plural}"] = {"get": self._list((), everywhere=True)}
        for sub in self._version.subresources.values():
            found |= self._subresource(f"{one}/{sub.name}", sub)
        if "watch" in verbs and not self._resource.is_custom:
            found |= self._watches()
        return {path: parameters.shared(item) for path, item in found.items() if item}

    def _operations(self, verbs: Sequence[str], names: tuple[str, ...]) -> dict[str, Object]:
        return {
            METHODS[verb]: self._list(names) if verb == "list" else self._operation(verb, names)
            for verb in verbs
            if verb in self._version.verbs
        }

    def _list(self, names: tuple[str, ...], *, everywhere: bool = False) -> Object:
        schema = reference(naming.list_name_of(self._resource, self._version))
        kinds = self._produced() if self._resource.is_custom else (*self._produced(), *STREAMS)
        operation = self._base_operation("list", names, parameters.LIST, schema, kinds)
        rest = f"{self._version.kind}ForAllNamespaces" if everywhere else self._kind()
        return operation | {"operationId": self._id("list", rest)}

    def _operation(
        self, verb: str, names: tuple[str, ...], sub: Subresource | None = None
    ) -> Object:
        schema = self._answer(verb, sub)
        queries = self._queries(verb)
        operation = self._base_operation(verb, names, queries, schema, self._produced(), sub)
        body = self._body(verb, schema)
        return operation | ({"requestBody": body} if body else {})

    def _base_operation(
        self,
        verb: str,
        names: Iterable[str],
        queries: Iterable[str],
        schema: Object,
        kinds: Iterable[str],
        sub: Subresource | None = None,
    ) -> Object:
        statuses: tuple[int, ...] = STATUSES.get(verb, (200,))
        if verb == "patch" and self._resource.is_custom:
            statuses = (200,)
        rest = self._kind(sub) if verb != "deletecollection" else f"Collection{self._kind()}"
        return {
            "tags": [naming.tag(self._resource.group, self._version.name)],
            "operationId": self._id(WORDS.get(verb, verb), rest),
            "parameters": [
                *(parameters.in_path(name) for name in names),
                *parameters.queries((*queries, "pretty")),
            ],
            "responses": responses(statuses, schema, kinds),
            "x-kubernetes-action": ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": self._gvk(sub),
        }

    # What depends on the verb

    def _queries(self, verb: str) -> tuple[str, ...]:
        is_custom = self._resource.is_custom
        if verb == "deletecollection":
            return parameters.LIST if is_custom else parameters.DELETE_COLLECTION
        if verb == "get":
            return ("resourceVersion",) if is_custom else ()
        by_verb = {
            "create": parameters.WRITE,
            "update": parameters.WRITE,
            "patch": (*parameters.WRITE, "force"),
            "delete": parameters.DELETE,
        }
        return by_verb[verb]

    def _body(self, verb: str, schema: Object) -> Object | None:
        kinds = (JSON, YAML) if self._resource.is_custom else ("*/*",)
        if verb in ("create", "update"):
            return {"content": content(kinds, schema), "required": True}
        if verb == "patch":
            patches = [
                kind for kind in PATCHES if not self._resource.is_custom or "strat" not in kind
            ]
            return {"content": content(patches, meta("Patch")), "required": True}
        if verb == "delete" or (verb == "deletecollection" and not self._resource.is_custom):
            return {"content": content(kinds, meta("DeleteOptions"))}
        return None

    def _answer(self, verb: str, sub: Subresource | None) -> Object:
        if sub is not None:
            return reference(naming.subresource_name(self._resource, self._version, sub))
        is_shown = not self._resource.is_custom and self._version.kind in SHOWN_WHEN_DELETED
        if verb == "deletecollection" or (verb == "delete" and not is_shown):
            return meta("Status")
        return reference(naming.name_of(self._resource, self._version))

    def _produced(self) -> tuple[str, ...]:
        return (JSON, YAML) if self._resource.is_custom else (JSON, YAML, PROTOBUF)

    # Subresources and watches

    def _subresource(self, path: str, sub: Subresource) -> dict[str, dict[str, Object]]:
        names = (*self._scope, "name")
        if not self._resource.is_custom and sub.name in parameters.CONNECT:
            return self._connect(path, sub)
        if not self._resource.is_custom and sub.name == "log":
            kinds = ("text/plain", *self._produced())
            queries = parameters.LOG
            return {path: {"get": self._base_operation("get", names, queries, TEXT, kinds, sub)}}
        verbs = (verb for verb in sub.verbs if verb in METHODS)
        return {path: {METHODS[verb]: self._operation(verb, names, sub) for verb in verbs}}

    def _connect(self, path: str, sub: Subresource) -> dict[str, dict[str, Object]]:
        methods = CONNECT_METHODS if sub.name == "proxy" else ("get", "post")
        found = {path: {method: self._connection(method, sub, "") for method in methods}}
        if sub.name == "proxy":
            longer = {method: self._connection(method, sub, "WithPath") for method in methods}
            found[f"{path}/{{path}}"] = longer
        return found

    def _connection(self, method: str, sub: Subresource, suffix: str) -> Object:
        names = (*self._scope, "name", *(("path",) if suffix else ()))
        queries = parameters.CONNECT[sub.name]
        operation = self._base_operation("connect", names, queries, TEXT, ("*/*",), sub)
        shown = [one for one in operation["parameters"] if one["name"] != "pretty"]
        rest = f"{method.capitalize()}{self._kind(sub)}{suffix}"
        return operation | {"parameters": shown, "operationId": self._id("connect", rest)}

    def _watches(self) -> dict[str, dict[str, Object]]:
        """The old way to watch, still described though nobody should use it."""
        plural, base = self._resource.plural, f"{self._base}/watch"
        kind, own = self._version.kind, self._kind()
        many = f"{base}{self._where}/{plural}"
        found = {
            many: {"get": self._watch("watchlist", self._scope, f"{own}List")},
            f"{many}/{{name}}": {"get": self._watch("watch", (*self._scope, "name"), own)},
        }
        if self._scope:
            rest = f"{kind}ListForAllNamespaces"
            found[f"{base}/{plural}"] = {"get": self._watch("watchlist", (), rest)}
        return found

    def _watch(self, action: str, names: tuple[str, ...], rest: str) -> Object:
        kinds = (*self._produced(), *STREAMS)
        schema = meta("WatchEvent")
        operation = self._base_operation(action, names, parameters.LIST, schema, kinds)
        return operation | {"operationId": self._id("watch", rest)}

    # Names

    def _kind(self, sub: Subresource | None = None) -> str:
        scope = "Namespaced" if self._resource.namespaced else ""
        return f"{scope}{self._version.kind}{sub.name.capitalize() if sub else ''}"

    def _id(self, prefix: str, rest: str) -> str:
        return naming.operation_id(prefix, self._resource.group, self._version.name, rest)

    def _gvk(self, sub: Subresource | None) -> Object:
        if sub is None or self._resource.is_custom:
            return naming.gvk(self._resource, self._version)
        if sub.version:
            return {"group": sub.group, "kind": sub.kind, "version": sub.version}
        return naming.gvk(self._resource, self._version, sub.kind)


def content(kinds: Iterable[str], schema: Object) -> Object:
    return {kind: {"schema": schema} for kind in kinds}


def responses(statuses: Iterable[int], schema: Object, kinds: Iterable[str]) -> Object:
    kinds = tuple(kinds)
    found: Object = {
        str(status): {"description": REASONS[status], "content": content(kinds, schema)}
        for status in statuses
    }
    return found | {"401": {"description": REASONS[401]}}
