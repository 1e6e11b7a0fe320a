"""Custom resources: follows the CustomResourceDefinitions and keeps the registry in step with them."""

from collections.abc import Callable, Sequence
from typing import Any

from fleetqueue.apiserver.core import Core, private
from fleetqueue.apiserver.registry import Column, Resource, Scale, Subresource, Version
from fleetqueue.apiserver.shapes import CustomShape
from fleetqueue.apiserver.storage import Change

Object = dict[str, Any]
Converters = Callable[[Object], dict[str, Any]]
"""(CRD) -> the `convert` or `convert_later` of its resource."""

TABLE = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
READ_WRITE = ("get", "patch", "update")
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
            self._follow(self._core.store.decoded(stored))

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.resource != TABLE:
                continue
            if change.after is None:
                self._forget(change.stored.key)
            else:
                self._follow(self._core.store.decoded(change.after))

    def _follow(self, crd: Object) -> None:
        name = crd["metadata"]["name"]
        clash = self._clash(crd)
        if not clash:
            self._register(name, crd)
        self._tell(crd, clash)

    def _register(self, name: str, crd: Object) -> None:
        known = self._accepted.get(name)
        resource = build_resource(crd, self._converters)
        if known is not None and known.definition == resource.definition:
            return
        if known is not None:
            self._core.registry.remove(known.group, known.plural)
            if known.versions.keys() != resource.versions.keys():
                self._core.feed.close_all(known.table)
        self._accepted[name] = resource
        self._core.registry.add(resource)

    def _forget(self, name: str) -> None:
        known = self._accepted.pop(name, None)
        if known is not None:
            self._core.registry.remove(known.group, known.plural)
            self._core.feed.close_all(known.table)

    def _clash(self, crd: Object) -> str:
        """Why the names cannot be served: somebody else in the group has one of them."""
        spec = crd["spec"]
        names = spec["names"]
        for other in self._core.registry:
            if other.group != spec["group"] or other.uid == crd["metadata"]["uid"]:
                continue
            taken = {other.plural, other.singular, *other.short_names}
            for wanted in (
                names["plural"],
                names.get("singular"),
                *(names.get("shortNames") or ()),
            ):
                if wanted in taken:
                    return f'"{wanted}" is already in use'
            if names["kind"] in (other.kind, other.list_kind):
                return f'"{names["kind"]}" is already in use'
        return ""

    # Status

    def _tell(self, crd: Object, clash: str) -> None:
        if "deletionTimestamp" in crd["metadata"]:
            return
        wanted = described(crd, clash, self._core.now())
        if wanted.get("status") != crd.get("status"):
            latest = self._core.store.latest(TABLE, crd["metadata"]["name"])
            if latest is not None and str(latest.revision) == crd["metadata"]["resourceVersion"]:
                self._core.store.put(TABLE, crd["metadata"]["name"], wanted)


def described(crd: Object, clash: str, now: str) -> Object:
    """The CRD with the status that its names and versions deserve."""
    wanted = private(crd)
    status = wanted["status"] = wanted.get("status") or {}
    if not clash:
        status["acceptedNames"] = private(crd["spec"]["names"])
    accepted = (
        ("False", "NameConflict", clash) if clash else ("True", "NoConflicts", "no conflicts found")
    )
    _set_condition(status, "NamesAccepted", *accepted, now)
    if not clash:
        _set_condition(
            status, "Established", "True", "InitialNamesAccepted",
            "the initial names have been accepted", now,
        )  # fmt: skip
    elif not _has_condition(status, "Established"):
        _set_condition(
            status, "Established", "False", "NotAccepted", "not all names are accepted", now
        )
    storage = next(v["name"] for v in crd["spec"]["versions"] if v.get("storage"))
    stored = status.get("storedVersions") or []
    status["storedVersions"] = stored if storage in stored else [*stored, storage]
    return wanted


def _has_condition(status: Object, kind: str) -> bool:
    return any(c["type"] == kind for c in status.get("conditions") or [])


def _set_condition(
    status: Object, kind: str, value: str, reason: str, message: str, now: str
) -> None:
    conditions = status.get("conditions") or []
    status["conditions"] = conditions
    for condition in conditions:
        if condition["type"] == kind:
            if condition["status"] != value:
                condition["lastTransitionTime"] = now
            condition.update(status=value, reason=reason, message=message)
            return
    conditions.append(
        {
            "type": kind,
            "status": value,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
    )


# Building resources


def build_resource(crd: Object, converters: Converters) -> Resource:
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
        versions={v["name"]: _version(spec, v) for v in spec["versions"]},
        storage_version=storage,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        is_custom=True,
        uid=crd["metadata"]["uid"],
        definition=spec,
        **converters(crd),
    )


def _version(spec: Object, version: Object) -> Version:
    kind, name = spec["names"]["kind"], version["name"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    if spec.get("preserveUnknownFields"):
        schema = {**schema, "x-kubernetes-preserve-unknown-fields": True}
    parts = version.get("subresources") or {}
    scale = parts.get("scale")
    return Version(
        name,
        kind,
        CustomShape(schema, kind, name),
        served=bool(version.get("served")),
        subresources=_subresources(kind, parts),
        verbs=VERBS,
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
        scale=_scale(scale) if scale else None,
        selectable=tuple(f["jsonPath"] for f in version.get("selectableFields") or ()),
        warning=_warning(spec, version),
    )


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
