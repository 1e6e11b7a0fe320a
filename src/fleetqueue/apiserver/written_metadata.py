"""The metadata of what is written: what clients may not change, and what they are told of it."""

from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call

Object = dict[str, Any]

KEPT_ON_UPDATE = ("creationTimestamp", "generation")
DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
    "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
    "duplicate UID(s) observed: {uids}"
)
DUPLICATE_OWNERS_LATER = DUPLICATE_OWNERS.replace("{when}", " after mutating admission happens")


def check_version(version: Any) -> None:
    """A resourceVersion means nothing to clients, but it is a number."""
    if version and not str(version).isdecimal():
        quoted = fields.show(str(version))
        raise problems.ApiError(500, "", f"strconv.ParseUint: parsing {quoted}: invalid syntax")


def drop_repeated_owners(call: Call, obj: Object, warning: str) -> None:
    """An owner that is named twice is kept once, and the client is told."""
    kept: list[Object] = []
    repeated: list[str] = []
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference in kept:
            repeated.append(reference.get("uid", ""))
        else:
            kept.append(reference)
    if repeated:
        obj["metadata"]["ownerReferences"] = kept
        call.warn(warning.format(when="", uids=", ".join(repeated)))


def finalizer_warnings(call: Call, obj: Object, old: Object | None) -> list[str]:
    """Built-in kinds refuse finalizers without a domain; custom ones are only warned of."""
    if not call.resource.is_custom:
        return []
    known = (old or {"metadata": {}})["metadata"].get("finalizers") or ()
    return [
        f"metadata.finalizers: {fields.show(name)}: prefer a domain-qualified finalizer name to "
        "avoid accidental conflicts with other finalizer writers"
        for name in obj["metadata"].get("finalizers") or ()
        if "/" not in name and name not in known
    ]


def keep_system_fields(metadata: Object, old: Object) -> None:
    """What no client may change by an update."""
    metadata.setdefault("name", old["name"])
    if "namespace" in old:
        metadata.setdefault("namespace", old["namespace"])
    metadata.setdefault("uid", old["uid"])
    metadata.pop("selfLink", None)
    for name in KEPT_ON_UPDATE:
        copy_field(metadata, old, name)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])


def copy_field(obj: Object, old: Object, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)
