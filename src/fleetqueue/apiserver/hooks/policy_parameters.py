"""The objects that parameterise an admission policy: of which kind, and which of them a binding
means for a write.
"""

from typing import Any, NamedTuple

from fleetqueue.api import selectors
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.registry import Resource

Object = dict[str, Any]
NONE_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


class Misconfigured(Exception):
    """A policy or a binding cannot be used as it is."""


class Kind(NamedTuple):
    """What parameters are, and the version in which expressions see them."""

    resource: Resource
    api_version: str


def kind_of(core: Core, named: Object | None) -> Kind | None:
    """None where a policy has no parameters."""
    if named is None:
        return None
    group, _, version = str(named["apiVersion"]).rpartition("/")
    found = core.registry.by_kind(group, str(named["kind"]))
    if found is None or all(each.name != version for each in found.served):
        shown = f"{group}/{version}, Kind={named['kind']}"
        text = f"failed to find resource referenced by paramKind: '{shown}'"
        raise Misconfigured(text)
    return Kind(found, str(named["apiVersion"]))


def collect(
    core: Core, kind: Kind | None, reference: Object | None, operation: Operation
) -> list[Object | None]:
    """The policy is asked once with each; with none at all where nothing is referred to."""
    if kind is None or reference is None:
        return [None]
    prefix = _prefix(kind.resource, reference, operation)
    table = kind.resource.table
    if reference.get("name"):
        keys = [f"{prefix}{reference['name']}"]
    else:
        keys = core.store.table(table).select(prefix)
    found = [obj for key in keys if (obj := core.get(table, key)) is not None]
    if reference.get("selector") is not None:
        matches = selectors.labels_from_object(reference["selector"]).matches
        found = [obj for obj in found if matches(obj["metadata"].get("labels") or {})]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(NONE_FOUND)
    return [core.convert_now(kind.resource, obj, kind.api_version) for obj in found]


def _prefix(resource: Resource, reference: Object, operation: Operation) -> str:
    """What the keys of the parameters begin with."""
    told = str(reference.get("namespace") or "")
    if not resource.namespaced:
        if told:
            text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            raise Misconfigured(text)
        return ""
    space = told or operation.namespace
    if not space and (operation.group, operation.resource) == ("", "namespaces"):
        space = operation.name
    if not space:
        raise Misconfigured(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return f"{space}/"
