"""What API servers beside this one say of themselves, brought into our documents; pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from fleetqueue.apiserver.aggregation.services import RemoteService
from fleetqueue.base import codec

Object = dict[str, Any]

SENSELESS = (codec.DecodeError, AttributeError, KeyError, RecursionError, TypeError)
"""What is raised over a document that is not what it should be: others may send anything, and what
makes no sense says as little as no answer.
"""

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
AGGREGATED_TYPES = ",".join(_AGGREGATED.format(version) for version in ("v2", "v2beta1"))
DEFINITIONS, PARAMETERS = "#/definitions/", "#/parameters/"


def find_version(document: Any, service: RemoteService) -> Object | None:
    """A version's part of an APIGroupDiscoveryList; None where that is another document."""
    if not isinstance(document, dict) or document.get("kind") != "APIGroupDiscoveryList":
        return None
    for group in document.get("items") or ():
        if group["metadata"].get("name") == service.group:
            for version in group.get("versions") or ():
                if version["version"] == service.version:
                    return {**version, "freshness": "Current"}
    return {"version": service.version, "freshness": "Current"}


def from_resource_list(document: Any, service: RemoteService) -> Object | None:
    """The same from an APIResourceList, of a server that knows nothing newer."""
    if not isinstance(document, dict) or document.get("kind") != "APIResourceList":
        return None
    described: dict[str, Object] = {}
    for listed in document.get("resources") or ():
        name, _, subresource = listed["name"].partition("/")
        if not subresource:
            # A subresource may have come first.
            described[name] = {**_described(listed, service), **_below(described.get(name))}
            continue
        parent = described.setdefault(name, {"resource": name, "scope": _scope(listed)})
        below = {
            "subresource": subresource,
            "responseKind": _kind(listed, service),
            "verbs": list(listed.get("verbs") or ()),
        }
        parent.setdefault("subresources", []).append(below)
    return {
        "version": service.version,
        "resources": list(described.values()),
        "freshness": "Current",
    }


def _described(listed: Object, service: RemoteService) -> Object:
    described: Object = {
        "resource": listed["name"],
        "responseKind": _kind(listed, service),
        "scope": _scope(listed),
        "singularResource": listed.get("singularName") or "",
        "verbs": list(listed.get("verbs") or ()),
    }
    for name in ("shortNames", "categories"):
        if listed.get(name):
            described[name] = list(listed[name])
    return described


def _below(known: Object | None) -> Object:
    return {"subresources": known["subresources"]} if known else {}


def _kind(listed: Object, service: RemoteService) -> Object:
    return {
        "group": listed.get("group") or service.group,
        "version": listed.get("version") or service.version,
        "kind": listed["kind"],
    }


def _scope(listed: Object) -> str:
    return "Namespaced" if listed.get("namespaced") else "Cluster"


def stale(service: RemoteService) -> Object:
    """Of a version whose server says nothing."""
    return {"version": service.version, "freshness": "Stale"}


def placed(own: Sequence[tuple[str, int]], others: Sequence[tuple[str, int]]) -> list[str]:
    """Names of groups: our own in their order, others among them by priority, then by name."""
    names = list(own)
    for name, priority in others:
        at = next(
            (
                place
                for place, (known, rank) in enumerate(names)
                if (-rank, known) > (-priority, name)
            ),
            len(names),
        )
        names.insert(at, (name, priority))
    return [name for name, _ in names]


# OpenAPI v2


def merge(whole: Object, other: Object, prefix: str) -> Object:
    """The document with the paths of another below a prefix, and what those refer to.

    A definition that means something else than ours of that name gets a name of its own;
    parameters that operations share are written out.
    """
    parameters = other.get("parameters") or {}
    paths = {
        path: _written_out(item, parameters)
        for path, item in (other.get("paths") or {}).items()
        if path.startswith(prefix) and path not in whole["paths"]
    }
    needed = _needed(paths, other.get("definitions") or {})
    names = _renamed(needed, whole["definitions"])
    added = {names[name]: _pointed(schema, names) for name, schema in needed.items()}
    return {
        **whole,
        "paths": dict(sorted({**whole["paths"], **_pointed(paths, names)}.items())),
        "definitions": {**added, **whole["definitions"]},
    }


def _written_out(part: Any, parameters: Object) -> Any:
    if isinstance(part, list):
        return [_written_out(each, parameters) for each in part]
    if not isinstance(part, dict):
        return part
    named = str(part.get("$ref") or "")
    if named.startswith(PARAMETERS):
        return parameters.get(named.removeprefix(PARAMETERS), part)
    return {name: _written_out(value, parameters) for name, value in part.items()}


def _needed(paths: Object, definitions: Object) -> Object:
    found: Object = {}
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in found and name in definitions:
            found[name] = definitions[name]
            waiting += _references(definitions[name])
    return found


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for each in part:
            yield from _references(each)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name == "$ref" and isinstance(value, str):
                yield value.removeprefix(DEFINITIONS)
            else:
                yield from _references(value)


def _renamed(needed: Object, known: Object) -> dict[str, str]:
    names = {}
    for name, schema in needed.items():
        chosen, number = name, 1
        while chosen in known and not _is_same(known[chosen], schema):
            number += 1
            chosen = f"{name}_v{number}"
        names[name] = chosen
    return names


def _is_same(one: Object, other: Object) -> bool:
    """Of which kinds a schema is besides does not matter."""
    kinds = "x-kubernetes-group-version-kind"
    return {k: v for k, v in one.items() if k != kinds} == {
        k: v for k, v in other.items() if k != kinds
    }


def _pointed(part: Any, names: dict[str, str]) -> Any:
    """With references that lead to the new names."""
    if isinstance(part, list):
        return [_pointed(each, names) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _reference(value, names)
        if name == "$ref" and isinstance(value, str)
        else _pointed(value, names)
        for name, value in part.items()
    }


def _reference(value: str, names: dict[str, str]) -> str:
    name = value.removeprefix(DEFINITIONS)
    return f"{DEFINITIONS}{names.get(name, name)}"
