"""Custom resources: follows the CustomResourceDefinitions and keeps the registry in step with
them.
"""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from fleetqueue.apiserver import outlines
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.definition_status import Verdict, described, judge_names
from fleetqueue.apiserver.merge import managed
from fleetqueue.apiserver.outlines import Definition
from fleetqueue.apiserver.registry import Column, Resource, Scale, Subresource, Version
from fleetqueue.apiserver.reshaping import Reshaper, schemas
from fleetqueue.apiserver.schema import stray_fields
from fleetqueue.apiserver.shapes import CustomShape
from fleetqueue.apiserver.storage import Change, Stored
from fleetqueue.apiserver.strategy import STATUS

Object = dict[str, Any]
Converters = Callable[[Object], dict[str, Any]]
"""(CRD) -> the `convert` or `convert_later` of its resource."""

TABLE = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
READ_WRITE = ("get", "patch", "update")
_SHAPES: WeakValueDictionary[tuple[Any, ...], CustomShape] = WeakValueDictionary()
DEPRECATED = "{group}/{version} {kind} is deprecated"


class CustomKinds:
    """Turns each CRD into a registered resource, and tells the CRD how it fared."""

    def __init__(self, core: Core, converters: Converters) -> None:
        self._core = core
        self._converters = converters
        self._accepted: dict[str, Resource] = {}
        core.store.listen(self._on_changes)

    def start(self) -> None:
        """Register what the store holds already."""
        table = self._core.store.table(TABLE)
        for stored in list(table.live.values()):
            self._follow(stored)

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource != TABLE:
                continue
            if change.after is None:
                self._forget(change.stored.key)
                self._judge_again(outlines.read(change.stored.data)[0]["spec"]["group"])
            else:
                self._follow(change.after)

    def _follow(self, stored: Stored) -> None:
        crd, definition = outlines.read(stored.data)
        verdict = judge_names(crd, self._core.registry)
        if not verdict.is_clash:
            self._register(crd, definition)
        self._tell(crd, stored, verdict)

    def _judge_again(self, group: str) -> None:
        """Names of the group became free: others may have waited for them."""
        for key, stored in list(self._core.store.table(TABLE).live.items()):
            if key.endswith(f".{group}") and key not in self._accepted:
                self._follow(stored)

    def _register(self, crd: Object, definition: Definition) -> None:
        name = crd["metadata"]["name"]
        known = self._accepted.get(name)
        resource = build_resource(crd, definition, self._converters)
        if known is not None and definition.is_like(known.definition):
            if known.is_going != resource.is_going:
                known.is_going = resource.is_going
                self._core.registry.generation += 1
            return
        resource.reshaper = self._reshaper(crd, resource, known)
        if known is not None:
            self._core.registry.remove(known.group, known.plural)
            # Open views convert and print as the old definition says; clients resume with the new.
            self._core.feed.close_all(known.table)
        self._accepted[name] = resource
        self._core.registry.add(resource)

    def _reshaper(self, crd: Object, resource: Resource, known: Resource | None) -> Reshaper | None:
        store = self._core.store
        if known is None:
            # A restart does not tell when the schema changed, but it was not after this.
            since = int(crd["metadata"]["resourceVersion"])
        elif _have_same_schemas(known, resource):
            return known.reshaper
        else:
            # What is on its way to the log was still made under the old one.
            since = store.assigned + 1
        table = store.table(resource.table)
        is_needed = known is not None or any(s.revision < since for s in table.live.values())
        return Reshaper(store, resource.versions, since) if is_needed else None

    def _forget(self, name: str) -> None:
        known = self._accepted.pop(name, None)
        if known is not None:
            self._core.registry.remove(known.group, known.plural)
            self._core.feed.close_all(known.table)

    # Status

    def _tell(self, outline: Object, stored: Stored, verdict: Verdict) -> None:
        told = described(outline, verdict, self._core.now())
        if told.get("status") == outline.get("status"):
            return
        name = outline["metadata"]["name"]
        crd = self._core.store.decoded(stored)
        wanted = {**crd, "metadata": dict(crd["metadata"]), "status": told["status"]}
        latest = self._core.store.latest(TABLE, name)
        if latest is not None and str(latest.revision) == crd["metadata"]["resourceVersion"]:
            self._note_manager(crd, wanted)
            # A failed log is told to clients; this is judged again with the next change of the CRD.
            self._core.store.propose(TABLE, name, wanted)

    def _note_manager(self, crd: Object, wanted: Object) -> None:
        resource = self._core.registry.by_table(TABLE)
        assert resource is not None
        wanted["metadata"]["managedFields"] = managed.track_update(
            crd,
            wanted,
            resource.storage.shape.node,
            manager="kube-apiserver",
            api_version=crd["apiVersion"],
            subresource="status",
            now=self._core.now(),
            reset=STATUS.reset,
        )


# Building resources


def build_resource(crd: Object, definition: Definition, converters: Converters) -> Resource:
    """From the outline of a CRD."""
    spec = crd["spec"]
    names = spec["names"]
    storage = next(v["name"] for v in spec["versions"] if v.get("storage"))
    return Resource(
        group=spec["group"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        list_kind=names.get("listKind") or f"{names['kind']}List",
        namespaced=spec["scope"] == "Namespaced",
        versions={v["name"]: _version(crd, v, definition) for v in spec["versions"]},
        storage_version=storage,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        is_custom=True,
        uid=crd["metadata"]["uid"],
        definition=definition,
        is_going="deletionTimestamp" in crd["metadata"],
        **converters(crd),
    )


def _version(crd: Object, version: Object, definition: Definition) -> Version:
    spec = crd["spec"]
    kind, name = spec["names"]["kind"], version["name"]
    parts = version.get("subresources") or {}
    scale = parts.get("scale")
    return Version(
        name,
        kind,
        _shape(crd, definition, kind, name),
        served=bool(version.get("served")),
        subresources=_subresources(kind, parts),
        verbs=VERBS,
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
        scale=_scale(scale) if scale else None,
        selectable=tuple(f["jsonPath"] for f in version.get("selectableFields") or ()),
        warning=_warning(spec, version),
    )


def _shape(crd: Object, definition: Definition, kind: str, version: str) -> CustomShape:
    """One for all definitions that say the same of a version, in all servers of this process: to
    compile a schema takes long.
    """
    is_open = bool(crd["spec"].get("preserveUnknownFields"))
    annotations = crd["metadata"].get("annotations") or {}
    retired = annotations.get(stray_fields.RETIRED_KEY) or ""
    identity = (definition.schema_digest(version), kind, version, is_open, retired)
    found = _SHAPES.get(identity)
    if found is None:

        def schema() -> Object:
            read = definition.schema(version) or {"type": "object"}
            if is_open:
                read["x-kubernetes-preserve-unknown-fields"] = True
            return read

        found = CustomShape(schema, kind, version, stray_fields.retired(annotations))
        _SHAPES[identity] = found
    return found


def _have_same_schemas(one: Resource, other: Resource) -> bool:
    if one.definition is None or other.definition is None:
        return False
    return bool(schemas(one.definition.spec()) == schemas(other.definition.spec()))


def _subresources(kind: str, parts: Object) -> dict[str, Subresource]:
    found = {}
    if "status" in parts:
        found["status"] = Subresource("status", kind, READ_WRITE)
    if "scale" in parts:
        found["scale"] = Subresource("scale", "Scale", READ_WRITE, "autoscaling", "v1")
    return found


def _scale(scale: Object) -> Scale:
    return Scale(
        scale["specReplicasPath"],
        scale["statusReplicasPath"],
        scale.get("labelSelectorPath") or "",
    )


def _column(column: Object) -> Column:
    return Column(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("format") or "",
        column.get("description") or "",
        column.get("priority") or 0,
    )


def _warning(spec: Object, version: Object) -> str:
    if not version.get("deprecated"):
        return ""
    own = version.get("deprecationWarning")
    if own is not None:
        return str(own)
    return DEPRECATED.format(
        group=spec["group"], version=version["name"], kind=spec["names"]["kind"]
    )
