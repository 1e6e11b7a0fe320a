"""The parameters of operations: which there are, their types, and what a path's share."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

WRITE = ("dryRun", "fieldManager", "fieldValidation")
LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
    "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
DELETE = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents", "propagationPolicy",
)  # fmt: skip
DELETE_COLLECTION = tuple(sorted({*DELETE, *LIST} - {"allowWatchBookmarks", "watch"}))
STREAMS = ("container", "stderr", "stdin", "stdout", "tty")
CONNECT = {
    "attach": STREAMS,
    "exec": ("command", *STREAMS),
    "portforward": ("ports",),
    "proxy": ("path",),
}
LOG = (
    "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous",
    "sinceSeconds", "stream", "tailLines", "timestamps",
)  # fmt: skip
_TYPES = {
    "boolean": (
        "allowWatchBookmarks", "follow", "force", "insecureSkipTLSVerifyBackend",
        "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents", "previous",
        "sendInitialEvents", "stderr", "stdin", "stdout", "timestamps", "tty", "watch",
    ),
    "integer": (
        "gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines",
        "timeoutSeconds",
    ),
}  # fmt: skip
TYPES = {name: kind for kind, names in _TYPES.items() for name in names}


def query(name: str) -> Object:
    return {
        "in": "query",
        "name": name,
        "schema": {"type": TYPES.get(name, "string"), "uniqueItems": True},
    }


def in_path(name: str) -> Object:
    return {
        "in": "path",
        "name": name,
        "required": True,
        "schema": {"type": "string", "uniqueItems": True},
    }


def queries(names: Iterable[str]) -> list[Object]:
    return [query(name) for name in names]


def shared(operations: dict[str, Object]) -> Object:
    """A path's item: parameters that all its operations have are said once, for the path."""
    count = Counter(_key(one) for operation in operations.values() for one in _of(operation))
    common = {key for key, times in count.items() if times == len(operations)}
    item: Object = {}
    found: dict[tuple[str, str], Object] = {}
    for method, operation in operations.items():
        found |= {_key(one): one for one in _of(operation) if _key(one) in common}
        own = [one for one in _of(operation) if _key(one) not in common]
        rest = {key: value for key, value in operation.items() if key != "parameters"}
        item[method] = {**rest, "parameters": sorted(own, key=_key)} if own else rest
    if found:
        item["parameters"] = [found[key] for key in sorted(found)]
    return item


def _of(operation: Object) -> list[Object]:
    return operation.get("parameters") or []


def _key(parameter: Object) -> tuple[str, str]:
    return parameter["name"], parameter["in"]
